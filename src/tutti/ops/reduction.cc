#include "tutti/ops/reduction.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/attributes.h"
#include "tutti/exec/executor.h"
#include "tutti/tensor/view.h"

namespace tutti {

namespace {

void infer_sum(Inference& in) {
  in.expect_inputs(1);
  const std::uint32_t summed = in.attributes<SumAttributes>().axes;
  Shape kept;
  for (std::size_t i = 0; i < in.shape(0).size(); ++i) {
    if ((summed >> i & 1U) == 0) kept.push_back(in.shape(0)[i]);
  }
  in.output(is_floating(in.dtype(0)) ? in.dtype(0) : DType::i64, kept);
}

const OpRow& sum_row = register_op({.name = "Sum", .infer = infer_sum});

Tensor sum_over(const Tensor& x, std::uint32_t axes, Site site) {
  OpCall call(sum_row, site);
  call.add(x);
  call.attributes = Attributes(SumAttributes{axes});
  execute(call);
  return std::move(call.outputs[0]);
}

}  // namespace

Tensor sum(const Tensor& x, Site site) { return sum_over(x, (1U << x.rank(site)) - 1, site); }

Tensor sum(const Tensor& x, const Dims& axes, const SumOptions& options, Site site) {
  std::uint32_t mask = 0;
  for (const std::int64_t axis : axes) {
    const std::uint32_t bit = 1U << checked_axis(axis, x.rank(site), site);
    if ((mask & bit) != 0) throw ShapeError(text("sum: axis ", axis, " is given twice in ", to_string(axes)), site);
    mask |= bit;
  }
  Tensor out = sum_over(x, mask, site);
  if (!options.keep_dims) return out;
  Shape kept = x.shape();
  for (std::size_t i = 0; i < x.rank(); ++i) {
    if ((mask >> i & 1U) != 0) kept[i] = 1;
  }
  return *try_reshape(out, kept);
}

}  // namespace tutti
