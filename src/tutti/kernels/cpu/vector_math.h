// The primitives of scalar_functions.h over Highway vectors, and the loop that runs a scalar function over a row.
// Included once per instruction set from a file that foreach_target.h includes again and again: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_VECTOR_MATH) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_VECTOR_MATH
#undef TUTTI_KERNELS_CPU_VECTOR_MATH
#else
#define TUTTI_KERNELS_CPU_VECTOR_MATH
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#undef TUTTI_SCALAR_FUNCTION
#define TUTTI_SCALAR_FUNCTION HWY_INLINE
#include "tutti/exec/scalar_functions.h"

// As wide as the machine has them: for functions that compute a lot.
template <class T>
using WideTag = hn::ScalableTag<T>;
// Vectors of 32 bytes at most. Measured on a machine with AVX-512: loops that mostly load and store are no slower with half
// the width in the caches, and 10 to 25 percent faster out of memory.
template <class T>
using Tag = hn::CappedTag<T, 32 / sizeof(T)>;

template <class D>
struct VectorMath {
  using T = hn::TFromD<D>;
  using Lane = T;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;

  HWY_INLINE V value(T x) const { return hn::Set(D(), x); }
  HWY_INLINE V add(V a, V b) const { return hn::Add(a, b); }
  HWY_INLINE V sub(V a, V b) const { return hn::Sub(a, b); }
  HWY_INLINE V mul(V a, V b) const {
    if constexpr (sizeof(T) == 1) {
      return multiply_bytes(a, b);
    } else {
      return hn::Mul(a, b);
    }
  }
  HWY_INLINE V mul_add(V a, V b, V c) const { return hn::MulAdd(a, b, c); }
  HWY_INLINE V both(V a, V b) const { return hn::And(a, b); }
  HWY_INLINE V either(V a, V b) const { return hn::Or(a, b); }
  HWY_INLINE M less(V a, V b) const { return hn::Lt(a, b); }
  HWY_INLINE V select(M mask, V a, V b) const { return hn::IfThenElse(mask, a, b); }
  HWY_INLINE V at_least(V x, V low) const { return hn::IfThenElse(hn::Lt(x, low), low, x); }
  HWY_INLINE V at_most(V x, V high) const { return hn::IfThenElse(hn::Lt(high, x), high, x); }
  HWY_INLINE V into_exponent(V v) const {
    constexpr int mantissa_bits = sizeof(T) == 4 ? 23 : 52;
    const hn::RebindToUnsigned<D> bits;
    return hn::BitCast(D(), hn::ShiftLeft<mantissa_bits>(hn::BitCast(bits, v)));
  }

 private:
  // No instruction set multiplies bytes: the even ones and the odd ones are multiplied as 16-bit numbers.
  static HWY_INLINE V multiply_bytes(V a, V b) {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(D(), static_cast<T>(hn::GetLane(a) * hn::GetLane(b)));
#else
    const hn::Repartition<std::uint16_t, D> wide;
    const auto a16 = hn::BitCast(wide, a);
    const auto b16 = hn::BitCast(wide, b);
    const auto even = hn::And(hn::Mul(a16, b16), hn::Set(wide, 0x00ff));
    const auto odd = hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16));
    return hn::BitCast(D(), hn::Or(even, hn::ShiftLeft<8>(odd)));
#endif
  }
};

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

template <class Function, class D, bool streaming>
void unary_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  using T = hn::TFromD<D>;
  const D d;
  const VectorMath<D> m;
  const std::size_t lanes = hn::Lanes(d);
  T* output = static_cast<T*>(out);
  Repeated<D> repeated;
  Source<D> a(inputs[0], (singles & 1U) != 0, repeated);
  std::size_t i = 0;
  if constexpr (streaming) {
    i = before_aligned(d, output, count);
    if (i != 0) store<D>(Function::apply(m, a.load(i)), output, i);
    a.advance(i);
    for (; i + lanes <= count; i += lanes) {
      hn::Stream(Function::apply(m, a.load()), d, output + i);
      a.advance();
    }
    hwy::FlushStream();
  } else {
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(Function::apply(m, a.load()), d, output + i);
      a.advance();
    }
  }
  if (i < count) store<D>(Function::apply(m, a.load(count - i)), output + i, count - i);
}

template <class Function, class D, bool streaming>
void binary_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  using T = hn::TFromD<D>;
  const D d;
  const VectorMath<D> m;
  const std::size_t lanes = hn::Lanes(d);
  T* output = static_cast<T*>(out);
  Repeated<D> repeated[2];
  Source<D> a(inputs[0], (singles & 1U) != 0, repeated[0]);
  Source<D> b(inputs[1], (singles & 2U) != 0, repeated[1]);
  std::size_t i = 0;
  if constexpr (streaming) {
    i = before_aligned(d, output, count);
    if (i != 0) store<D>(Function::apply(m, a.load(i), b.load(i)), output, i);
    a.advance(i);
    b.advance(i);
    for (; i + lanes <= count; i += lanes) {
      hn::Stream(Function::apply(m, a.load(), b.load()), d, output + i);
      a.advance();
      b.advance();
    }
    hwy::FlushStream();
  } else {
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(Function::apply(m, a.load(), b.load()), d, output + i);
      a.advance();
      b.advance();
    }
  }
  if (i < count) store<D>(Function::apply(m, a.load(count - i), b.load(count - i)), output + i, count - i);
}

template <class Function, class D>
RowPair unary() {
  return {unary_row<Function, D, false>, unary_row<Function, D, true>};
}
template <class Function, class D>
RowPair binary() {
  return {binary_row<Function, D, false>, binary_row<Function, D, true>};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
