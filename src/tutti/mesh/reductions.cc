#include "tutti/mesh/reductions.h"

#include <array>

#include "tutti/ops/comparison.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/manipulation.h"

namespace tutti::detail {

namespace {

Tensor sum_of(const std::vector<Tensor>& parts, Site site) { return add_n(parts, site); }

// Half precision is summed and divided in f32.
Tensor mean_of(const std::vector<Tensor>& parts, Site site) {
  const DType dtype = parts.front().dtype();
  const bool is_half = dtype == DType::f16 || dtype == DType::bf16;
  std::vector<Tensor> wide;
  for (const Tensor& part : parts) wide.push_back(is_half ? cast(part, DType::f32, site) : part);
  return cast(divide(add_n(wide, site), static_cast<double>(parts.size()), site), dtype, site);
}

// Two at a time.
struct Fold {
  Tensor (*of_numbers)(TensorArg a, TensorArg b, Site site);
  Tensor (*of_bools)(TensorArg a, TensorArg b, Site site);
};

template <const Fold& fold>
Tensor folded(const std::vector<Tensor>& parts, Site site) {
  Tensor out = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i)
    out = (out.dtype() == DType::boolean ? fold.of_bools : fold.of_numbers)(std::move(out), parts[i], site);
  return out;
}

constexpr Fold least{minimum, logical_and};
constexpr Fold most{maximum, logical_or};
constexpr Fold product{multiply, multiply};

// By Reduction; the parts are in order of coordinates and on the device the result is made on.
constexpr std::array<Tensor (*)(const std::vector<Tensor>&, Site), 5> reductions{sum_of, mean_of, folded<least>, folded<most>,
                                                                                 folded<product>};

}  // namespace

Tensor reduced(const std::vector<Tensor>& parts, Reduction reduction, Site site) {
  if (parts.size() == 1) return parts.front();  // an op would only wake another thread
  return reductions[static_cast<std::size_t>(reduction)](parts, site);
}

}  // namespace tutti::detail
