#include <algorithm>
#include <numeric>

#include "conformance/random_calls.h"

namespace tutti::conformance {

std::int64_t Draw::between(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
}

Shape Draw::shape(std::size_t fewest_axes, std::size_t most_axes, std::int64_t smallest) {
  Shape out;
  const std::int64_t rank = between(static_cast<std::int64_t>(fewest_axes), static_cast<std::int64_t>(most_axes));
  for (std::int64_t i = 0; i < rank; ++i) out.push_back(between(smallest, smallest + 3));
  return out;
}

Shape Draw::narrower(const Shape& shape) {
  Shape out;
  bool has_begun = coin();
  for (const std::int64_t size : shape) {
    has_begun = has_begun || coin();
    if (has_begun) out.push_back(between(0, 2) == 0 ? 1 : size);
  }
  return out;
}

std::int64_t Draw::axis(const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  return between(-rank, rank - 1);
}

Dims Draw::some_axes(const Shape& shape) {
  Dims out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (coin()) out.push_back(static_cast<std::int64_t>(i));
  }
  return out;
}

Dims Draw::order(std::size_t rank) {
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::shuffle(axes.begin(), axes.end(), random_);
  return Dims(std::span<const std::int64_t>(axes));
}

Tensor Draw::leaf(const Shape& shape, double low, double high, bool of_either_sign) {
  Tensor value = uniform(shape, {.key = key(), .low = low, .high = high, .dtype = DType::f64});
  if (of_either_sign) value = where(bernoulli(shape, 0.5, {.key = key()}), value, negative(value));
  const Tensor direction = uniform(shape, {.key = key(), .low = -1, .high = 1, .dtype = DType::f64});
  if (by_ != 0) value = value + direction * by_;
  if (along_.is_defined()) value = value + direction * along_;
  for (Tape* tape : tapes_) tape->watch(value);
  leaves_.push_back({value, direction});
  return value;
}

Tensor Draw::viewed(const Shape& shape, double low, double high, bool of_either_sign) {
  const auto made = [&](const Shape& from) { return leaf(from, low, high, of_either_sign); };
  const std::size_t rank = shape.size();
  if (rank == 0) return made(shape);
  const auto axis = static_cast<std::size_t>(between(0, static_cast<std::int64_t>(rank) - 1));
  Shape from = shape;
  switch (between(0, 5)) {
    case 0: {  // transposed
      const Dims axes = order(rank);
      for (std::size_t i = 0; i < rank; ++i) from[static_cast<std::size_t>(axes[i])] = shape[i];
      return permute_dims(made(from), axes);
    }
    case 1: {  // with a gap behind every element
      from[axis] = 2 * shape[axis] + 1;
      return slice(made(from), static_cast<std::int64_t>(axis), {1, {}, 2});
    }
    case 2: return flip(made(shape), static_cast<std::int64_t>(axis));
    case 3: from[axis] = 1; return broadcast_to(made(from), shape);
    case 4: {  // a part of a transposed matrix, or of what stands for it
      std::reverse(&from[0], &from[0] + rank);
      from[0] += 1;
      return slice(transpose(made(from)), static_cast<std::int64_t>(rank) - 1, {0, shape[rank - 1]});
    }
    default: return made(shape);
  }
}

Tensor Draw::within(const Shape& shape, double low, double high) { return viewed(shape, low, high, false); }

Tensor Draw::any(const Shape& shape) { return viewed(shape, 0.1, 0.9, true); }

Tensor Draw::invertible(const Shape& batch, std::int64_t size) {
  Shape shape = batch;
  shape.push_back(size);
  shape.push_back(size);
  return any(shape) + eye(size, {.dtype = DType::f64}) * static_cast<double>(size + 1);
}

Tensor Draw::whole(const Shape& shape, std::int64_t low, std::int64_t high) { return randint(shape, low, high, {.key = key()}); }

Tensor Draw::mask(const Shape& shape) { return bernoulli(shape, 0.5, {.key = key()}); }

Tensor Draw::places(std::int64_t count, std::int64_t below) { return slice(permutation(below, {.key = key()}), 0, {0, count}); }

}  // namespace tutti::conformance
