#include "tutti/ops/gradient_rules.h"

#include <cstring>

#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/views.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::detail {

namespace {

template <class T>
T element_of(const OpInput& number) {
  T value;
  std::memcpy(&value, number.scalar.data(), sizeof value);
  return value;
}

}  // namespace

TensorArg operand(const GradientCall& call, std::size_t i) {
  const GradientInput& input = call.inputs[i];
  if (!input.is_number) return {input.tensor, call.site};
  return visit_dtype<any_dtype>(input.dtype,
                                [&](auto element) { return TensorArg(element_of<decltype(element)>(input.number), call.site); });
}

Tensor sum_to(const Tensor& x, const Shape& shape, Site site) {
  if (x.shape() == shape) return x;
  const std::size_t more = x.rank() - shape.size();
  Dims axes;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if (i < more || (shape[i - more] == 1 && x.shape()[i] != 1)) axes.push_back(static_cast<std::int64_t>(i));
  }
  return reshape(sum(x, axes, {}, site), shape, site);
}

Tensor spread(const Tensor& x, const Shape& shape, std::uint32_t reduced, Site site) {
  Shape kept = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if ((reduced >> i & 1U) != 0) kept[i] = 1;
  }
  return broadcast_to(reshape(x, kept, site), shape, site);
}

}  // namespace tutti::detail
