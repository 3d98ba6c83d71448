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
#include <utility>

#include "tutti/kernels/cpu/rows.h"
#include "tutti/kernels/cpu/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// One vector of the same element. Not a part of Source, which must live in registers.
template <class D>
struct Repeated {
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
};

// A row's input: a pointer that moves on by one vector at a time, or stays where it is when one element stands for all.
template <class D>
struct Source {
  using T = hn::TFromD<D>;
  const T* position;
  std::size_t step;

  HWY_INLINE explicit Source(const void* data) : position(static_cast<const T*>(data)), step(hn::Lanes(D())) {}
  HWY_INLINE Source(const void* data, bool is_single, Repeated<D>& repeated) : Source(data) {
    if (!is_single) return;
    hn::Store(hn::Set(D(), *position), D(), repeated.lanes);
    position = repeated.lanes;
    step = 0;
  }
  HWY_INLINE hn::Vec<D> load() const { return hn::LoadU(D(), position); }
  HWY_INLINE void advance() { position += step; }
  // Fewer than a vector's elements.
  HWY_INLINE hn::Vec<D> load(std::size_t count) const {
#if HWY_TARGET <= HWY_AVX3
    return hn::MaskedLoad(hn::FirstN(D(), count), D(), position);
#else
    HWY_ALIGN T lanes[hn::MaxLanes(D())] = {};
    std::memcpy(lanes, position, count * sizeof(T));
    return hn::Load(D(), lanes);
#endif
  }
  HWY_INLINE void advance(std::size_t count) {
    if (step != 0) position += count;
  }
};

template <class D>
HWY_INLINE void store(hn::Vec<D> v, hn::TFromD<D>* output, std::size_t count) {
  const D d;
#if HWY_TARGET <= HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, count), d, output);
#else
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  std::memcpy(output, lanes, count * sizeof(lanes[0]));
#endif
}

// How many elements stand before the first one that a streaming store may start at.
template <class D>
HWY_INLINE std::size_t before_aligned(D d, const hn::TFromD<D>* output, std::size_t count) {
  using T = hn::TFromD<D>;
  const std::size_t vector = hn::Lanes(d) * sizeof(T);
  const std::size_t past = reinterpret_cast<std::uintptr_t>(output) % vector;
  const std::size_t head = past == 0 ? 0 : (vector - past) / sizeof(T);
  return head < count ? head : count;
}

// Writes what a scalar function gives: elements like those it was given, or a mask as bools.
template <class D>
struct Sink {
  hn::TFromD<D>* output;

  HWY_INLINE explicit Sink(void* out) : output(static_cast<hn::TFromD<D>*>(out)) {}
  HWY_INLINE void put(hn::Vec<D> v, std::size_t at) const { hn::StoreU(v, D(), output + at); }
  HWY_INLINE void put(hn::Vec<D> v, std::size_t at, std::size_t count) const { store<D>(v, output + at, count); }
};

template <class D>
struct BoolSink {
  std::uint8_t* output;

  HWY_INLINE explicit BoolSink(void* out) : output(static_cast<std::uint8_t*>(out)) {}
  HWY_INLINE void put(hn::Mask<D> mask, std::size_t at) const { put(mask, at, hn::Lanes(D())); }
  // A byte of the mask's bits becomes eight bools at a time.
  HWY_INLINE void put(hn::Mask<D> mask, std::size_t at, std::size_t count) const {
    std::uint8_t bits[8 + hn::MaxLanes(D()) / 8] = {};
    hn::StoreMaskBits(D(), mask, bits);
    for (std::size_t i = 0; i < count; i += 8) {
      const std::uint64_t one_bit_each = bits[i / 8] * 0x0101010101010101ULL & 0x8040201008040201ULL;
      const std::uint64_t bools = (one_bit_each + 0x7f7f7f7f7f7f7f7fULL) >> 7U & 0x0101010101010101ULL;
      std::memcpy(output + at + i, &bools, count - i < 8 ? count - i : 8);
    }
  }
};

// The inputs' elements, a vector of each at a time.
template <class Function, class D, class Output, std::size_t... k>
HWY_INLINE void apply_row(const void* const* inputs, unsigned singles, void* out, std::size_t count, std::index_sequence<k...>) {
  const D d;
  const VectorMath<D> m;
  const std::size_t lanes = hn::Lanes(d);
  const Output output(out);
  Repeated<D> repeated[sizeof...(k)];
  Source<D> in[]{Source<D>(inputs[k], (singles >> k & 1U) != 0, repeated[k])...};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    output.put(Function::apply(m, in[k].load()...), i);
    (in[k].advance(), ...);
  }
  if (i < count) output.put(Function::apply(m, in[k].load(count - i)...), i, count - i);
}

template <class Function, class D>
void unary_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  apply_row<Function, D, Sink<D>>(inputs, singles, out, count, std::make_index_sequence<1>{});
}

template <int inputs_each, class Function, class D>
void scalar_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  using Output = std::conditional_t<Function::op.gives_bool, BoolSink<D>, Sink<D>>;
  apply_row<Function, D, Output>(inputs, singles, out, count, std::make_index_sequence<static_cast<std::size_t>(inputs_each)>{});
}

template <class Function>
concept HasBoolForm = requires { typename Function::OfBools; };
// Functions that compute a lot, by the number of primitives they are made of.
template <class Function>
concept IsHeavy = requires { requires Function::is_heavy; };

// Integers have a function of their own that may fail, and so no row here.
template <class Function>
concept HasIntegerForm = requires { Function::fault; };

// The row of an op for elements of type T; null where it does not take them. Half precision is worked on as f32.
template <int inputs_each, class Function, class T>
Row row_for() {
  if constexpr (!Function::op.takes.contains(dtype_of<T>) || (std::is_integral_v<T> && HasIntegerForm<Function>)) {
    return nullptr;
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
                                       row_for<inputs_each, F, std::int32_t>(), row_for<inputs_each, F, std::int64_t>(), nullptr,
                                       nullptr, row_for<inputs_each, F, float>(), row_for<inputs_each, F, double>()}...};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
