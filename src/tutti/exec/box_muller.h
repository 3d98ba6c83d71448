// Two normal numbers from two random integers (Box and Muller 1958), by the same operations in the same order on every
// backend, each of them rounded once: the same bits everywhere.
//
// From words a and b of 32 bits (f32) or 64 bits (f64):
//   u = ((a >> 1) + 1/2) * 2^-31, in f64 ((a >> 11) + 1/2) * 2^-53: in (0, 1], rounded to the dtype;
//   t = b in turns
//   the numbers are sqrt(-2 ln u) * cos(2 pi t) and sqrt(-2 ln u) * sin(2 pi t)
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace tutti {

// Before the square root, which every backend has an instruction for.
template <class T>
struct PolarNormal {
  T square;  // of the radius
  T cosine;
  T sine;
};

// Math: mul, add, div, each rounded once, and mul_add, rounded once as a whole.
template <class T, class Math>
struct BoxMuller {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  using Signed = std::make_signed_t<Word>;
  static constexpr int bits = 8 * sizeof(T);
  static constexpr int mantissa_bits = sizeof(T) == 4 ? 23 : 52;

  static constexpr PolarNormal<T> of(Word a, Word b) noexcept {
    PolarNormal<T> out{};
    out.square = Math::mul(T(-2), logarithm(unit(a)));
    // The nearest quarter turn and what is left of it: at most an eighth of a turn, as y * pi / 4 with |y| <= 1.
    constexpr Word eighth = Word{1} << (bits - 3);
    const Word quarter = static_cast<Word>(b + eighth) >> (bits - 2);
    const auto left = static_cast<Signed>(b - (quarter << (bits - 2)));
    const T y = Math::mul(static_cast<T>(left), T(1) / static_cast<T>(eighth));
    const T square = Math::mul(y, y);
    const T sine = sine_of(y, square);
    const T cosine = cosine_of(square);
    const bool is_odd = (quarter & 1U) != 0;
    const T first = is_odd ? sine : cosine;
    const T second = is_odd ? cosine : sine;
    out.cosine = (static_cast<Word>(quarter + 1) & 2U) != 0 ? -first : first;
    out.sine = (quarter & 2U) != 0 ? -second : second;
    return out;
  }

 private:
  static constexpr T unit(Word a) noexcept {
    if constexpr (sizeof(T) == 4) {
      return Math::mul_add(static_cast<T>(static_cast<Signed>(a >> 1U)), T(0x1p-31), T(0x1p-32));
    } else {
      return Math::mul_add(static_cast<T>(static_cast<Signed>(a >> 11U)), T(0x1p-53), T(0x1p-54));
    }
  }

  // u = m * 2^e with m from sqrt(1/2) to sqrt(2). With f = m - 1, which is exact, and s = f / (2 + f):
  // ln m = 2 artanh s = f - s * (f - r), r = 2 (s^2 / 3 + s^4 / 5 + ...). What is added to f is small, so little is lost.
  static constexpr T logarithm(T u) noexcept {
    constexpr Word root = std::bit_cast<Word>(T(0.70710678118654752440));
    const Word given = std::bit_cast<Word>(u);
    const Signed exponent = static_cast<Signed>(given - root) >> mantissa_bits;
    const T f = Math::add(std::bit_cast<T>(static_cast<Word>(given - (static_cast<Word>(exponent) << mantissa_bits))), T(-1));
    const T s = Math::div(f, Math::add(f, T(2)));
    const T z = Math::mul(s, s);
    T r = 0;
    if constexpr (sizeof(T) == 4) {
      r = series(z, T(2) / 11, T(2) / 9, T(2) / 7, T(2) / 5, T(2) / 3);
    } else {
      r = series(z, T(2) / 23, T(2) / 21, T(2) / 19, T(2) / 17, T(2) / 15, T(2) / 13, T(2) / 11, T(2) / 9, T(2) / 7, T(2) / 5,
                 T(2) / 3);
    }
    r = Math::mul(z, r);
    // ln 2 in two parts; the first, of few bits, gives an exact product.
    constexpr T ln2_first = sizeof(T) == 4 ? T(0x1.62ep-1) : T(0x1.62e42fefap-1);
    constexpr T ln2_rest = sizeof(T) == 4 ? T(0x1.0bfbe8e7bcd5ep-15) : T(0x1.cf79abc9e3b3ap-40);
    const T e = static_cast<T>(exponent);
    const T small = Math::mul_add(s, Math::add(r, -f), Math::mul(e, ln2_rest));
    return Math::mul_add(e, ln2_first, Math::add(f, small));
  }

  static constexpr double quarter_pi = 0.78539816339744830962;

  // The series of sin(y pi / 4): its first coefficient in two parts, for it carries most of the sum.
  static constexpr T sine_of(T y, T square) noexcept {
    constexpr T first = static_cast<T>(quarter_pi);
    constexpr T rest = sizeof(T) == 4 ? static_cast<T>(quarter_pi - static_cast<double>(static_cast<float>(quarter_pi)))
                                      : T(3.06161699786838294307e-17);
    T p = 0;
    if constexpr (sizeof(T) == 4) {
      p = series(square, power<9>, power<7>, power<5>, power<3>);
    } else {
      p = series(square, power<17>, power<15>, power<13>, power<11>, power<9>, power<7>, power<5>, power<3>);
    }
    return Math::mul_add(y, first, Math::mul(y, Math::mul_add(square, p, rest)));
  }
  static constexpr T cosine_of(T square) noexcept {
    if constexpr (sizeof(T) == 4) {
      return Math::mul_add(square, series(square, power<10>, power<8>, power<6>, power<4>, power<2>), T(1));
    } else {
      return Math::mul_add(
          square, series(square, power<18>, power<16>, power<14>, power<12>, power<10>, power<8>, power<6>, power<4>, power<2>),
          T(1));
    }
  }

  // (pi / 4)^n / n!, with the sign it has in sine and cosine.
  static constexpr T power_of(int n) noexcept {
    double p = 1;
    for (int i = 1; i <= n; ++i) p *= quarter_pi / i;
    return static_cast<T>(n % 4 < 2 ? p : -p);
  }
  template <int n>
  static constexpr T power = power_of(n);
  // Horner; the highest coefficient first. Not a loop, which would keep the caller's from being vectorised.
  template <class... Lower>
  static constexpr T series(T x, T highest, Lower... lower) noexcept {
    T sum = highest;
    ((sum = Math::mul_add(sum, x, lower)), ...);
    return sum;
  }
};

}  // namespace tutti
