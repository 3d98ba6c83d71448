#include "tutti/mesh/engines/fold.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti {

namespace {

constexpr std::size_t block = 1024;

template <class T>
inline constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

// What sums and products are made in: halves in float, integers without their sign, so that they wrap.
template <class T>
using Wrapping = std::conditional_t<
    is_half<T>, float,
    std::conditional_t<std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>, T>>;
template <class T>
using Plain = std::conditional_t<is_half<T>, float, T>;

// Only the lowest bits of what wraps are kept in the end, so the sign may be dropped on the way in.
template <class A, class T>
A widened(T element) noexcept {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<A, T>)
    return static_cast<A>(static_cast<std::make_unsigned_t<T>>(element));
  else
    return static_cast<A>(element);
}

struct Add {
  template <class T>
  using In = Wrapping<T>;
  template <class A>
  static A combine(A a, A b) noexcept {
    return a + b;
  }
};
struct Multiply {
  template <class T>
  using In = Wrapping<T>;
  template <class A>
  static A combine(A a, A b) noexcept {
    return a * b;
  }
};
// A NaN stays where it is, and is taken where it comes.
struct Least {
  template <class T>
  using In = Plain<T>;
  template <class A>
  static A combine(A a, A b) noexcept {
    if constexpr (std::is_floating_point_v<A>) return b < a || b != b ? b : a;
    return b < a ? b : a;
  }
};
struct Greatest {
  template <class T>
  using In = Plain<T>;
  template <class A>
  static A combine(A a, A b) noexcept {
    if constexpr (std::is_floating_point_v<A>) return a < b || b != b ? b : a;
    return a < b ? b : a;
  }
};

// By blocks that stay in the first cache; each element is rounded once, at the end.
template <class How, class T>
void fold_as(std::span<const void* const> parts, void* out, std::size_t count, bool is_mean) {
  using A = typename How::template In<T>;
  const auto members = static_cast<double>(parts.size());
  A made[block];
  for (std::size_t from = 0; from < count; from += block) {
    const std::size_t length = std::min(block, count - from);
    const T* const first = static_cast<const T*>(parts[0]) + from;
    if (parts.size() == 1) {
      for (std::size_t i = 0; i < length; ++i) made[i] = widened<A>(first[i]);
    } else {
      const T* const second = static_cast<const T*>(parts[1]) + from;
      for (std::size_t i = 0; i < length; ++i) made[i] = How::combine(widened<A>(first[i]), widened<A>(second[i]));
    }
    for (std::size_t part = 2; part < parts.size(); ++part) {
      const T* const next = static_cast<const T*>(parts[part]) + from;
      for (std::size_t i = 0; i < length; ++i) made[i] = How::combine(made[i], widened<A>(next[i]));
    }
    if constexpr (std::is_floating_point_v<A>) {
      if (is_mean) {
        const A divisor = static_cast<A>(members);
        for (std::size_t i = 0; i < length; ++i) made[i] /= divisor;
      }
    }
    T* const to = static_cast<T*>(out) + from;
    for (std::size_t i = 0; i < length; ++i) to[i] = static_cast<T>(made[i]);
  }
}

}  // namespace

const char* to_string(Reduction reduction) noexcept {
  switch (reduction) {
    case Reduction::sum: return "sum";
    case Reduction::mean: return "mean";
    case Reduction::min: return "min";
    case Reduction::max: return "max";
    case Reduction::prod: break;
  }
  return "prod";
}

void check_reduction(DType dtype, Reduction reduction) {
  if (reduction == Reduction::min || reduction == Reduction::max) return;
  if (dtype == DType::boolean) {
    throw DTypeError(text(to_string(reduction), " of bool over processes: only min (all are true) and max (any is) are defined."),
                     Site());
  }
  if (reduction == Reduction::mean && !is_floating(dtype)) {
    throw DTypeError(text("mean of ", to_string(dtype), " over processes: floating dtypes only; cast first, or take the sum."),
                     Site());
  }
}

void fold(std::span<const void* const> parts, void* out, std::size_t count, DType dtype, Reduction reduction) {
  visit_dtype(dtype, [&](auto element) {
    // A bool that another process wrote is a byte.
    using T = std::conditional_t<std::is_same_v<decltype(element), bool>, std::uint8_t, decltype(element)>;
    switch (reduction) {
      case Reduction::sum: return fold_as<Add, T>(parts, out, count, false);
      case Reduction::mean: return fold_as<Add, T>(parts, out, count, true);
      case Reduction::min: return fold_as<Least, T>(parts, out, count, false);
      case Reduction::max: return fold_as<Greatest, T>(parts, out, count, false);
      case Reduction::prod: return fold_as<Multiply, T>(parts, out, count, false);
    }
  });
}

}  // namespace tutti
