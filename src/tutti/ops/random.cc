#include "tutti/ops/random.h"

#include <cmath>
#include <limits>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/attributes.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/random_attributes.h"
#include "tutti/exec/transfer.h"
#include "tutti/ops/draw.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/sorted_pair.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti {

namespace {

void infer_draw(Inference& in) { in.output(in.wanted().dtype, in.wanted().shape); }

const OpRow& uniform_row = register_op({.name = "RandomUniform", .function = "uniform", .infer = infer_draw});
const OpRow& normal_row = register_op({.name = "RandomStandardNormal", .function = "normal", .infer = infer_draw});
const OpRow& integer_row = register_op({.name = "RandomUniformInt", .function = "randint", .infer = infer_draw});
const OpRow& bernoulli_row = register_op({.name = "RandomBernoulli", .function = "bernoulli", .infer = infer_draw});

// The attributes' key and counter are those of the source.
template <class Draw>
Tensor drawn(const OpRow& row, DType dtype, const Shape& shape, const detail::DrawSource& source, std::int64_t per_block,
             Draw attributes, Site site) {
  const OutputSpec spec{dtype, shape};
  checked_bytes(source.function, dtype, shape, site);
  OpCall call(row, site);
  detail::set_numbers(call, attributes, source, *element_count(shape), per_block);
  call.wanted = &spec;
  return dispatch_one(call);
}

// The bounds as the dtype has them: whole numbers for integers. The interval must lie within what the dtype holds.
UniformAttributes checked_draw(const UniformOptions& options, Site site) {
  UniformAttributes draw{.low = options.low, .high = options.high};
  if (!(draw.low <= draw.high))
    throw InvalidArgument(text("uniform: low (", draw.low, ") must not be above high (", draw.high, ")"), site);
  const bool fits = visit_dtype(options.dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, bool>) {
      return true;
    } else if constexpr (std::is_integral_v<T>) {
      draw.low = std::ceil(draw.low);
      draw.high = std::ceil(draw.high);
      constexpr double end = 2.0 * static_cast<double>((static_cast<std::uint64_t>(std::numeric_limits<T>::max()) >> 1U) +
                                                       1);  // one past the largest, exactly
      return draw.low >= static_cast<double>(std::numeric_limits<T>::min()) && draw.high <= end;
    } else {
      const double most = std::is_same_v<T, f16>      ? 65504.0
                          : std::is_same_v<T, double> ? std::numeric_limits<double>::max()
                                                      : std::numeric_limits<float>::max();
      return draw.low >= -most && draw.high <= most && draw.high - draw.low <= most;
    }
  });
  if (fits) return draw;
  throw InvalidArgument(text("uniform: the interval from ", options.low, " to ", options.high, " does not lie within what ",
                             to_string(options.dtype), " holds"),
                        site);
}

}  // namespace

Tensor uniform(const Shape& shape, const UniformOptions& options, Site site) {
  return drawn(uniform_row, options.dtype, shape, {"uniform", options}, detail::elements_of_block(options.dtype),
               checked_draw(options, site), site);
}

namespace {

void check_integer_range(std::int64_t low, std::int64_t high, DType dtype, Site site) {
  if (low >= high) throw InvalidArgument(text("randint: low (", low, ") must be below high (", high, ")"), site);
  const bool fits = visit_dtype(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return low >= std::int64_t{std::numeric_limits<T>::min()} && high - 1 <= std::int64_t{std::numeric_limits<T>::max()};
    } else {
      throw DTypeError(text("randint draws integers, not ", to_string(dtype)), site);
      return false;
    }
  });
  if (fits) return;
  throw InvalidArgument(
      text("randint: the integers from ", low, " to below ", high, " do not lie within what ", to_string(dtype), " holds"), site);
}

}  // namespace

Tensor normal(const Shape& shape, const NormalOptions& options, Site site) {
  if (!is_floating(options.dtype)) throw DTypeError(text("normal draws floats, not ", to_string(options.dtype)), site);
  if (!(options.stddev >= 0) || !std::isfinite(options.stddev) || !std::isfinite(options.mean)) {
    throw InvalidArgument(text("normal: the mean (", options.mean, ") must be finite and the standard deviation (",
                               options.stddev, ") finite and not negative"),
                          site);
  }
  return drawn(normal_row, options.dtype, shape, {"normal", options}, detail::elements_of_block(options.dtype),
               NormalAttributes{.mean = options.mean, .stddev = options.stddev}, site);
}

Tensor randint(const Shape& shape, std::int64_t low, std::int64_t high, const RandintOptions& options, Site site) {
  check_integer_range(low, high, options.dtype, site);
  const auto first = static_cast<std::uint64_t>(low);
  return drawn(integer_row, options.dtype, shape, {"randint", options}, detail::elements_of_block(options.dtype),
               RandomIntegerAttributes{.low = first, .range = static_cast<std::uint64_t>(high) - first}, site);
}

Tensor bernoulli(const Shape& shape, double probability, const BernoulliOptions& options, Site site) {
  if (!(probability >= 0 && probability <= 1))
    throw InvalidArgument(text("bernoulli: the probability (", probability, ") must lie between 0 and 1"), site);
  const auto threshold = static_cast<std::uint64_t>(std::nearbyint(probability * 0x1p32));
  return drawn(bernoulli_row, options.dtype, shape, {"bernoulli", options}, detail::words_of_block,
               BernoulliAttributes{.threshold = threshold}, site);
}

Tensor permutation(std::int64_t n, const PermutationOptions& options, Site site) {
  if (n < 0) throw InvalidArgument(text("permutation: ", n, " elements were asked for"), site);
  // Of 64 bits: two of them are the same, and then keep their order, so rarely that it cannot be noticed.
  const Tensor keys = drawn(integer_row, DType::i64, {n}, {"permutation", options}, detail::elements_of_block(DType::i64),
                            RandomIntegerAttributes{.low = 0, .range = 0}, site);
  return detail::order_of_random_keys(keys, site);
}

Tensor permutation(const Tensor& x, const PermutationOptions& options, Site site) {
  if (x.rank(site) == 0) throw ShapeError("permutation: a tensor without axes has nothing to permute", site);
  const Tensor order = permutation(x.shape()[0], options, site);
  return detail::take_as("permutation", x, order, 0, site);
}

}  // namespace tutti
