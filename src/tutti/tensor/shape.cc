#include "tutti/tensor/shape.h"

#include <algorithm>
#include <ostream>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti {

Dims::Dims(std::span<const std::int64_t> values, Site site) {
  for (const std::int64_t value : values) push_back(value, site);
}

void Dims::raise_no_place(detail::Place asked) const {
  const auto count = static_cast<std::int64_t>(size_);
  const std::string number =
      asked.is_from_end() ? std::to_string(asked.number()) : std::to_string(static_cast<std::uint64_t>(asked.number()));
  const std::string places = count == 0 ? "which is empty" : text("which has ", count, "; use ", -count, " to ", count - 1);
  throw ShapeError(text("[", number, "] was asked of ", to_string(*this), ", ", places), asked.site());
}

void Dims::raise_too_many(Site site) {
  throw ShapeError(text("a tensor has at most ", most_axes, " axes; more were given"), site);
}

std::string to_string(const Dims& dims) {
  std::string out = "(";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(dims[i]);
  }
  return out + (dims.size() == 1 ? ",)" : ")");
}

std::ostream& operator<<(std::ostream& out, const Dims& dims) { return out << to_string(dims); }

std::optional<std::int64_t> element_count(const Shape& shape) noexcept {
  std::int64_t count = 1;
  bool is_zero = false;
  for (const std::int64_t size : shape) {
    is_zero = is_zero || size == 0;
    if (size < 0 || __builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count)) return std::nullopt;
  }
  return is_zero ? 0 : count;
}

Dims dense_strides(const Shape& shape) noexcept {
  Dims strides = shape;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape.view()[i], 1);
  }
  return strides;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) noexcept {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const std::int64_t x = longer.view()[lead + i];
    const std::int64_t y = shorter.view()[i];
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[lead + i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace tutti
