// The loops that run a scalar function over a row of elements, one vector at a time.
// Included once per instruction set, like vector_math.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_ROW_LOOPS) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_ROW_LOOPS
#undef TUTTI_KERNELS_CPU_ROW_LOOPS
#else
#define TUTTI_KERNELS_CPU_ROW_LOOPS
#endif

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include "tutti/kernels/cpu/row_operands.h"
#include "tutti/kernels/cpu/rows.h"
#include "tutti/kernels/cpu/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// Functions that compute a lot, by the number of primitives they are made of.
template <class Function>
concept IsHeavy = requires { requires Function::is_heavy; };

// The inputs' elements, a vector of each at a time.
template <class Function, class D, class Element, class Output, std::size_t... k>
HWY_INLINE void apply_row(const void* const* inputs, unsigned singles, void* out, std::size_t count, std::index_sequence<k...>) {
  using Input = Source<D, Element>;
  const D d;
  const VectorMath<D> m;
  const std::size_t lanes = hn::Lanes(d);
  const Output output(out);
  Repeated<typename Input::Stored> repeated[sizeof...(k)];
  Input in[]{Input(inputs[k], (singles >> k & 1U) != 0, repeated[k])...};
  std::size_t i = 0;
  HWY_UNROLL(2)  // of a short loop, counting would be half
  for (; i + lanes <= count; i += lanes) {
    output.put(Function::apply(m, in[k].load()...), i);
    (in[k].advance(), ...);
  }
  if (i < count) output.put(Function::apply(m, in[k].load(count - i)...), i, count - i);
}

template <class Function, class D, class From = hn::TFromD<D>, class To = hn::TFromD<D>>
void unary_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  apply_row<Function, D, From, Sink<D, To>>(inputs, singles, out, count, std::make_index_sequence<1>{});
}

template <int inputs_each, class Function, class D, class Element = hn::TFromD<D>>
void scalar_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  using Output = std::conditional_t<Function::op.gives_bool, BoolSink<D>, Sink<D, Element>>;
  apply_row<Function, D, Element, Output>(inputs, singles, out, count,
                                          std::make_index_sequence<static_cast<std::size_t>(inputs_each)>{});
}

// As it is: for rows that move or convert.
struct Same {
  template <class Math, class V>
  static HWY_INLINE V apply(const Math&, V x) {
    return x;
  }
};

template <class Function>
concept HasBoolForm = requires { typename Function::OfBools; };
template <class Function>
concept HasFormOfHalfBits = requires { typename Function::OfHalfBits; };
// Integers have a function of their own that may fail, and so no row here.
template <class Function>
concept HasIntegerForm = requires { Function::fault; };

// The row of an op for elements of type T; null where it does not take them, and where they are worked on as blocks of another
// dtype by its row: integers of one or two bytes, which are rare, and half precision where the op computes a lot.
template <int inputs_each, class Function, class T>
Row row_for() {
  constexpr bool is_small = std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < 4;
  if constexpr (!Function::op.takes.contains(dtype_of<T>) || is_small || (std::is_integral_v<T> && HasIntegerForm<Function>) ||
                (is_half<T> && (IsHeavy<Function> || HasIntegerForm<Function>))) {
    return nullptr;
  } else if constexpr (is_half<T> && HasFormOfHalfBits<Function>) {
    return scalar_row<inputs_each, typename Function::OfHalfBits, Tag<std::uint16_t>>;
  } else if constexpr (is_half<T> && Function::op.gives_bool) {
    return scalar_row<inputs_each, Function, Tag<float>, T>;  // eight bools at a time
  } else if constexpr (is_half<T>) {
    return scalar_row<inputs_each, Function, WideTag<float>, T>;
  } else if constexpr (std::is_same_v<T, bool>) {
    if constexpr (HasBoolForm<Function>) {
      return scalar_row<inputs_each, typename Function::OfBools, Tag<std::uint8_t>>;
    } else {
      return scalar_row<inputs_each, Function, Tag<std::uint8_t>>;
    }
  } else if constexpr (std::is_integral_v<T>) {
    using Lane = std::conditional_t<Function::op.wraps, std::make_unsigned_t<T>, T>;
    return scalar_row<inputs_each, Function, Tag<Lane>>;
  } else if constexpr (IsHeavy<Function> || inputs_each > 2) {  // three loads for each store: not bound by memory either
    return scalar_row<inputs_each, Function, WideTag<T>>;
  } else {
    return scalar_row<inputs_each, Function, Tag<T>>;
  }
}

// [op][dtype]
template <int inputs_each, class... F>
std::array<std::array<Row, dtype_count>, sizeof...(F)> rows_of(ScalarOps<inputs_each, F...>) {
  return {std::array<Row, dtype_count>{row_for<inputs_each, F, bool>(), row_for<inputs_each, F, std::uint8_t>(),
                                       row_for<inputs_each, F, std::int8_t>(), row_for<inputs_each, F, std::int16_t>(),
                                       row_for<inputs_each, F, std::int32_t>(), row_for<inputs_each, F, std::int64_t>(),
                                       row_for<inputs_each, F, f16>(), row_for<inputs_each, F, bf16>(),
                                       row_for<inputs_each, F, float>(), row_for<inputs_each, F, double>()}...};
}
// Of several families.
template <class... Families>
auto rows_of(std::tuple<Families...>) {
  return std::tuple{rows_of(Families{})...};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
