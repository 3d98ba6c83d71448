// The loops that run a scalar function over a row of elements, one vector at a time.
// Included once per instruction set, like vector_math.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_ROW_LOOPS) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_ROW_LOOPS
#undef TUTTI_KERNELS_CPU_ROW_LOOPS
#else
#define TUTTI_KERNELS_CPU_ROW_LOOPS
#endif

#include <cstddef>

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
