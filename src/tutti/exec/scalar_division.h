// Divisions that give integers, and powers. A part of scalar_functions.h, which says how to include it.
//
// Integers have a function of their own, which may fail: it says so in `fails`, and the op then fails in the words of `fault`.
template <class T>
TUTTI_SCALAR_FUNCTION bool is_negative(T x) {
  if constexpr (static_cast<T>(-1) < T{0}) {
    return x < 0;
  } else {
    return false;
  }
}

struct FloorDivide {
  static constexpr ScalarOp op{.name = "FloorDiv", .function = "floor_divide", .takes = numeric_dtypes};
  static constexpr const char* fault = "integer division by zero";
  TUTTI_OF_TWO(m.floor_divide(a, b))

  // The smallest integer by -1 wraps.
  template <class T>
  static TUTTI_SCALAR_FUNCTION T of_integers(T a, T b, bool& fails) {
    if (b == 0) {
      fails = true;
      return 0;
    }
    if constexpr (static_cast<T>(-1) < T{0}) {
      if (b == -1) return static_cast<T>(0 - static_cast<unsigned long long>(a));
    }
    const T quotient = static_cast<T>(a / b);
    return static_cast<T>(quotient - (static_cast<T>(a % b) != 0 && is_negative(a) != is_negative(b) ? 1 : 0));
  }
};

// The sign is that of the divisor.
struct Remainder {
  static constexpr ScalarOp op{.name = "FloorMod", .function = "remainder", .takes = numeric_dtypes};
  static constexpr const char* fault = "integer division by zero";
  TUTTI_OF_TWO(m.remainder(a, b))

  template <class T>
  static TUTTI_SCALAR_FUNCTION T of_integers(T a, T b, bool& fails) {
    if (b == 0) {
      fails = true;
      return 0;
    }
    if constexpr (static_cast<T>(-1) < T{0}) {
      if (b == -1) return 0;
    }
    const T left = static_cast<T>(a % b);
    return static_cast<T>(left != 0 && is_negative(left) != is_negative(b) ? left + b : left);
  }
};

// Of integers: the low bits of the exact power.
struct Power {
  static constexpr ScalarOp op{.name = "Pow", .function = "pow", .takes = numeric_dtypes};
  static constexpr const char* fault = "an integer to a negative power";
  static constexpr bool is_heavy = true;
  TUTTI_OF_TWO(m.pow(a, b))

  template <class T>
  static TUTTI_SCALAR_FUNCTION T of_integers(T base, T exponent, bool& fails) {
    if (is_negative(exponent)) {
      fails = true;
      return 0;
    }
    using Unsigned = std::make_unsigned_t<T>;  // the low bits of a product follow from those of its factors
    unsigned long long factor = static_cast<Unsigned>(base);
    unsigned long long product = 1;
    for (unsigned long long left = static_cast<Unsigned>(exponent); left != 0; left >>= 1U) {
      if ((left & 1U) != 0) product *= factor;
      factor *= factor;
    }
    return static_cast<T>(product);
  }
};
