#include "tutti/tensor/decimal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace tutti {

namespace {

// Long enough for every double in scientific notation with the digits asked for here.
using Text = std::array<char, 64>;

template <class... How>
std::string_view write(Text& text, How... how) {
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), how...).ptr};
}

void drop_trailing_zeros(std::string& digits) { digits.erase(std::max<std::size_t>(digits.find_last_not_of('0') + 1, 1)); }

// From "d.ddde-05", as the standard library writes it.
Decimal parse(std::string_view scientific) {
  const std::size_t mark = scientific.find('e');
  Decimal out{std::string(1, scientific.front()), 0};
  if (mark > 2) out.digits += scientific.substr(2, mark - 2);
  const std::string_view exponent = scientific.substr(mark + 1);
  std::from_chars(exponent.data() + 1, exponent.data() + exponent.size(), out.exponent);
  if (exponent.front() == '-') out.exponent = -out.exponent;
  return out;
}

// The exact value rounded, ties to even.
Decimal rounded(double magnitude, int count) {
  Text text;
  return parse(write(text, magnitude, std::chars_format::scientific, count - 1));
}

double value_of(const Decimal& decimal) {
  std::string scientific = decimal.digits;
  scientific.insert(1, 1, '.');
  scientific += 'e' + std::to_string(decimal.exponent);
  double out = 0;
  std::from_chars(scientific.data(), scientific.data() + scientific.size(), out);
  return out;
}

double half_from_bits(unsigned bits) { return static_cast<float>(std::bit_cast<f16>(static_cast<std::uint16_t>(bits))); }

// Whether a reader of halves would get `magnitude` from these digits. Halfway to a neighbour is exact in double, and few
// digits are never nearer to it than a double can tell.
bool names_half(const Decimal& decimal, double magnitude) {
  const std::uint16_t bits = f16(static_cast<float>(magnitude)).bits;
  const double above = bits == 0x7bffU ? 65536.0 : half_from_bits(bits + 1U);
  const double low = (magnitude + half_from_bits(bits - 1U)) / 2;
  const double high = (magnitude + above) / 2;
  const double found = value_of(decimal);
  return (low < found && found < high) || (bits % 2 == 0 && (found == low || found == high));
}

Decimal shortest_half(double magnitude) {
  static constexpr int always_enough = 5;
  for (int count = 1; count < always_enough; ++count) {
    Decimal nearest = rounded(magnitude, count);
    if (names_half(nearest, magnitude)) return nearest;
    // Above a power of two, values are twice as far apart as below: the next decimal up may do where the nearest does not.
    const std::string next = std::to_string(std::atoi(nearest.digits.c_str()) + 1);
    nearest.exponent += static_cast<int>(next.size() - nearest.digits.size());
    nearest.digits = next;
    if (names_half(nearest, magnitude)) return nearest;
  }
  return rounded(magnitude, always_enough);
}

}  // namespace

Decimal shortest_decimal(double magnitude, DType dtype) {
  if (magnitude == 0) return {"0", 0};
  Text text;
  Decimal out = dtype == DType::f16   ? shortest_half(magnitude)
                : dtype == DType::f64 ? parse(write(text, magnitude, std::chars_format::scientific))
                                      : parse(write(text, static_cast<float>(magnitude), std::chars_format::scientific));
  drop_trailing_zeros(out.digits);
  return out;
}

Decimal decimal_of(double magnitude, DType dtype, int count) {
  Decimal shortest = shortest_decimal(magnitude, dtype);
  return shortest.digits.size() == static_cast<std::size_t>(count) ? shortest : rounded(magnitude, count);
}

Decimal decimal_to_places(double magnitude, DType dtype, int places) {
  Decimal out = shortest_decimal(magnitude, dtype);
  const int before_point = out.exponent + 1;
  const int count = static_cast<int>(out.digits.size());
  if (count < before_point) return decimal_of(magnitude, dtype, before_point);
  if (count > before_point + places) {
    out = decimal_of(magnitude, dtype, before_point + places);
    drop_trailing_zeros(out.digits);
  }
  return out;
}

std::string positional(const Decimal& decimal) {
  std::string out = decimal.digits;
  if (decimal.exponent < 0) {
    out.insert(0, static_cast<std::size_t>(-decimal.exponent), '0');
    out.insert(1, 1, '.');
  } else {
    const auto before_point = static_cast<std::size_t>(decimal.exponent) + 1;
    if (out.size() < before_point) out.resize(before_point, '0');
    out.insert(before_point, 1, '.');
  }
  return out;
}

}  // namespace tutti
