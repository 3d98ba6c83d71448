// Numbers, and nothing of what is tested: compiled for speed, without sanitizers.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <tutti/tensor/dtype_visit.h>
#include "oracle/oracle.h"

namespace tutti::oracle {

std::int64_t Random::from(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
}
double Random::real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine_); }

namespace {

template <class T>
T random_element(Random& random, Values values) {
  if constexpr (std::is_same_v<T, bool>) {
    return random.one_in(2);
  } else if constexpr (std::is_integral_v<T>) {
    if (values != Values::any) return static_cast<T>(random.from(std::is_signed_v<T> ? -3 : 0, 4));
    if (random.one_in(8)) return random.one_in(2) ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    if (random.one_in(4)) return static_cast<T>(0);
    return static_cast<T>(random.from(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else {
    const auto make = [](double x) {
      if constexpr (std::is_same_v<T, double>) {
        return x;
      } else {
        return T(static_cast<float>(x));
      }
    };
    if (values == Values::small_range) return make(random.real(-8, 8));
    if (values == Values::moderate) return make(std::ldexp(random.real(-1, 1), static_cast<int>(random.from(-3, 3))));
    if (random.one_in(4)) {
      constexpr double inf = std::numeric_limits<double>::infinity();
      const std::array special{0.0,    -0.0,  inf,  -inf,         std::nan(""),  1.0,    -1.0,    0.5,   65504.0, 65520.0,
                               3.4e38, 1e-40, 6e-8, 2147483647.0, -2147483648.0, 9.3e18, -9.3e18, 255.5, -0.75};
      return make(special[static_cast<std::size_t>(random.from(0, special.size() - 1))]);
    }
    return make(std::ldexp(random.real(-1, 1), static_cast<int>(random.from(-20, 20))));
  }
}

}  // namespace

std::vector<std::byte> random_bytes(Random& random, DType dtype, std::int64_t count, Values values) {
  std::vector<std::byte> out(static_cast<std::size_t>(count) * size_of(dtype));
  visit_dtype(dtype, [&](auto element) {
    using T = decltype(element);
    for (std::int64_t i = 0; i < count; ++i) {
      const T value = random_element<T>(random, values);
      std::memcpy(out.data() + static_cast<std::size_t>(i) * sizeof(T), &value, sizeof(T));
    }
  });
  return out;
}

}  // namespace tutti::oracle
