#include "tutti/tensor/format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/base/text.h"
#include "tutti/tensor/decimal.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti {

namespace {

// NumPy's default print options.
constexpr std::size_t line_width = 75;
constexpr std::int64_t most_elements_in_full = 1000;
constexpr std::int64_t edge_items = 3;
constexpr int most_places = 8;

using Words = std::vector<std::string>;

template <class T>
T load(const std::byte* data, std::int64_t index) {
  T out;
  std::memcpy(&out, data + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return out;
}

void pad_left(std::string& word, std::size_t width) {
  if (word.size() < width) word.insert(0, width - word.size(), ' ');
}

std::size_t longest(const Words& words) {
  std::size_t out = 0;
  for (const std::string& word : words) out = std::max(out, word.size());
  return out;
}

// Which elements are shown: all, or the corners of a large array.
class Excerpt {
 public:
  explicit Excerpt(const Shape& shape)
      : shape_(shape), strides_(dense_strides(shape)), is_cut_(*element_count(shape) > most_elements_in_full) {}

  [[nodiscard]] std::size_t rank() const noexcept { return shape_.size(); }
  [[nodiscard]] bool is_cut(std::size_t axis) const noexcept { return is_cut_ && shape_[axis] > 2 * edge_items; }
  [[nodiscard]] std::int64_t shown(std::size_t axis) const noexcept { return is_cut(axis) ? 2 * edge_items : shape_[axis]; }

  // Positions of the shown elements, in row-major order.
  [[nodiscard]] std::vector<std::int64_t> positions() const {
    std::vector<std::int64_t> out;
    collect(0, 0, out);
    return out;
  }

 private:
  void collect(std::size_t axis, std::int64_t at, std::vector<std::int64_t>& out) const {
    if (axis == rank()) {
      out.push_back(at);
      return;
    }
    for (std::int64_t i = 0; i < shown(axis); ++i) {
      const bool is_trailing = is_cut(axis) && i >= edge_items;
      collect(axis + 1, at + (is_trailing ? shape_[axis] - 2 * edge_items + i : i) * strides_[axis], out);
    }
  }

  const Shape& shape_;
  Dims strides_;
  bool is_cut_;
};

// Brackets, newlines and wrapped rows around words of one width.
class Layout {
 public:
  Layout(const Excerpt& excerpt, const Words& words) : excerpt_(excerpt), word_(words.begin()) {}

  std::string text() {
    block(0);
    return std::move(out_);
  }

 private:
  void block(std::size_t axis) {
    out_ += '[';
    if (axis + 1 == excerpt_.rank()) {
      row(axis);
    } else {
      for (std::int64_t i = 0; i < excerpt_.shown(axis); ++i) {
        if (i > 0) next_block(axis);
        if (i == edge_items && excerpt_.is_cut(axis)) {
          out_ += "...";
          next_block(axis);
        }
        block(axis + 1);
      }
    }
    out_ += ']';
  }

  void next_block(std::size_t axis) {
    out_.append(excerpt_.rank() - axis - 1, '\n');
    out_.append(axis + 1, ' ');
  }

  void row(std::size_t axis) {
    column_ = excerpt_.rank();
    for (std::int64_t i = 0; i < excerpt_.shown(axis); ++i) {
      if (i > 0) space();
      if (i == edge_items && excerpt_.is_cut(axis)) {
        extend("...");
        space();
      }
      extend(*word_++);
    }
  }

  void space() {
    out_ += ' ';
    ++column_;
  }

  void extend(std::string_view word) {
    const std::size_t indent = excerpt_.rank();  // where a row begins; as many brackets may have to fit behind it
    if (column_ + word.size() > line_width - indent && column_ > indent) {
      out_.erase(out_.find_last_not_of(' ') + 1);
      out_ += '\n';
      out_.append(indent, ' ');
      column_ = indent;
    }
    out_ += word;
    column_ += word.size();
  }

  const Excerpt& excerpt_;
  Words::const_iterator word_;
  std::string out_;
  std::size_t column_ = 0;
};

template <class T>
Words integer_words(const std::byte* data, const std::vector<std::int64_t>& positions) {
  Words out;
  for (const std::int64_t at : positions) out.push_back(std::to_string(load<T>(data, at)));
  const std::size_t width = longest(out);
  for (std::string& word : out) pad_left(word, width);
  return out;
}

Words boolean_words(const std::byte* data, const std::vector<std::int64_t>& positions) {
  Words out;
  for (const std::int64_t at : positions) out.emplace_back(load<std::uint8_t>(data, at) != 0 ? " True" : "False");
  return out;
}

std::string sign_of(double value) { return std::signbit(value) ? "-" : ""; }
std::string non_finite(double value) { return std::isnan(value) ? "nan" : sign_of(value) + "inf"; }

std::string exponent_text(int exponent, std::size_t width) {
  std::string out = std::to_string(std::abs(exponent));
  if (out.size() < width) out.insert(0, width - out.size(), '0');
  return text(exponent < 0 ? "e-" : "e+", out);
}

// All elements share one notation and their points stand in one column.
class FloatColumn {
 public:
  FloatColumn(std::vector<double> values, DType dtype) : values_(std::move(values)), dtype_(dtype) {}

  [[nodiscard]] Words words() const {
    Words out = is_scientific() ? scientific() : fixed();
    const std::size_t finite_width = longest(out);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!std::isfinite(values_[i])) out[i] = non_finite(values_[i]);
    }
    const std::size_t width = std::max(finite_width, longest(out));
    for (std::string& word : out) pad_left(word, width);
    return out;
  }

 private:
  // The ratio is taken in the elements' own precision, as NumPy does.
  [[nodiscard]] double ratio(double high, double low) const {
    if (dtype_ == DType::f64) return high / low;
    const float quotient = static_cast<float>(high) / static_cast<float>(low);
    return dtype_ == DType::f16 ? static_cast<float>(f16(quotient)) : quotient;
  }

  [[nodiscard]] bool is_scientific() const {
    double low = 0;
    double high = 0;
    for (const double value : values_) {
      if (!std::isfinite(value) || value == 0) continue;
      const double magnitude = std::abs(value);
      low = low == 0 ? magnitude : std::min(low, magnitude);
      high = std::max(high, magnitude);
    }
    return low != 0 && (high >= 1e8 || low < 1e-4 || ratio(high, low) > 1000);
  }

  // Words of the finite values, the others empty.
  [[nodiscard]] Words fixed() const {
    Words out(values_.size());
    std::size_t places = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!std::isfinite(values_[i])) continue;
      out[i] = sign_of(values_[i]) + positional(decimal_to_places(std::abs(values_[i]), dtype_, most_places));
      places = std::max(places, out[i].size() - out[i].find('.') - 1);
    }
    for (std::string& word : out) {
      if (!word.empty()) word.append(places - (word.size() - word.find('.') - 1), ' ');
    }
    return out;
  }

  [[nodiscard]] Words scientific() const {
    std::size_t count = 1;
    std::size_t exponent_width = 2;
    for (const double value : values_) {
      if (!std::isfinite(value)) continue;
      Decimal decimal = shortest_decimal(std::abs(value), dtype_);
      if (decimal.digits.size() > most_places + 1) decimal = decimal_of(std::abs(value), dtype_, most_places + 1);
      count = std::max(count, decimal.digits.find_last_not_of('0') + 1);
      exponent_width = std::max(exponent_width, std::to_string(std::abs(decimal.exponent)).size());
    }
    Words out(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!std::isfinite(values_[i])) continue;
      Decimal decimal = decimal_of(std::abs(values_[i]), dtype_, static_cast<int>(count));
      out[i] = sign_of(values_[i]) + decimal.digits.insert(1, 1, '.') + exponent_text(decimal.exponent, exponent_width);
    }
    return out;
  }

  std::vector<double> values_;
  DType dtype_;
};

// A scalar is printed whole, whatever the number of digits.
std::string scalar_text(double value, DType dtype) {
  if (!std::isfinite(value)) return non_finite(value);
  const double magnitude = std::abs(value);
  Decimal decimal = shortest_decimal(magnitude, dtype);
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16)) {
    if (decimal.digits.size() > 1) decimal.digits.insert(1, 1, '.');
    return sign_of(value) + decimal.digits + exponent_text(decimal.exponent, 2);
  }
  std::string out = sign_of(value) + positional(decimal);
  if (out.back() == '.') out += '0';
  return out;
}

}  // namespace

std::string format_elements(const std::byte* data, DType dtype, const Shape& shape) {
  if (*element_count(shape) == 0) return "[]";
  const Excerpt excerpt(shape);
  const std::vector<std::int64_t> positions = excerpt.positions();
  const bool is_scalar = shape.empty();
  const Words words = visit_dtype(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, bool>) {
      return is_scalar ? Words{load<std::uint8_t>(data, 0) != 0 ? "True" : "False"} : boolean_words(data, positions);
    } else if constexpr (std::is_integral_v<T>) {
      return integer_words<T>(data, positions);
    } else {
      std::vector<double> values;
      using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
      for (const std::int64_t at : positions) values.push_back(static_cast<double>(static_cast<Wide>(load<T>(data, at))));
      return is_scalar ? Words{scalar_text(values.front(), dtype)} : FloatColumn(std::move(values), dtype).words();
    }
  });
  return is_scalar ? words.front() : Layout(excerpt, words).text();
}

std::string tensor_repr(const std::byte* data, DType dtype, const Shape& shape) {
  const std::string elements = format_elements(data, dtype, shape);
  const char* const gap = elements.find('\n') == std::string::npos ? "" : "\n";
  return text("tutti.Tensor(", gap, elements, ", shape=", to_string(shape), ", dtype=", to_string(dtype), ")");
}

}  // namespace tutti
