// What a row reads and writes, a vector at a time: elements as they are worked on, halves as f32, truth as bools.
// Included once per instruction set, like vector_math.h: hence the odd guard.
#if defined(TUTTI_KERNELS_CPU_ROW_OPERANDS) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_KERNELS_CPU_ROW_OPERANDS
#undef TUTTI_KERNELS_CPU_ROW_OPERANDS
#else
#define TUTTI_KERNELS_CPU_ROW_OPERANDS
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "tutti/kernels/cpu/vector_halves.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// One vector of the same element. Not a part of Source, which must live in registers.
template <class D>
struct Repeated {
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
};

// How elements of a vector of D lie in memory: as they are, or in half precision.
template <class D, class Element>
using StoredTag = std::conditional_t<is_half<Element>, HalfTag<D>, D>;

// A row's input: a pointer that moves on by one vector at a time, or stays where it is when one element stands for all.
template <class D, class Element = hn::TFromD<D>>
struct Source {
  using Stored = StoredTag<D, Element>;
  using T = hn::TFromD<Stored>;
  const T* position;
  std::size_t step;

  HWY_INLINE explicit Source(const void* data) : position(static_cast<const T*>(data)), step(hn::Lanes(D())) {}
  HWY_INLINE Source(const void* data, bool is_single, Repeated<Stored>& repeated) : Source(data) {
    if (!is_single) return;
    hn::Store(hn::Set(Stored(), *position), Stored(), repeated.lanes);
    position = repeated.lanes;
    step = 0;
  }
  HWY_INLINE hn::Vec<D> load() const { return worked_on(hn::LoadU(Stored(), position)); }
  HWY_INLINE void advance() { position += step; }
  // Fewer than a vector's elements.
  HWY_INLINE hn::Vec<D> load(std::size_t count) const {
#if HWY_TARGET <= HWY_AVX3
    return worked_on(hn::MaskedLoad(hn::FirstN(Stored(), count), Stored(), position));
#else
    HWY_ALIGN T lanes[hn::MaxLanes(Stored())] = {};
    std::memcpy(lanes, position, count * sizeof(T));
    return worked_on(hn::Load(Stored(), lanes));
#endif
  }
  HWY_INLINE void advance(std::size_t count) {
    if (step != 0) position += count;
  }

 private:
  static HWY_INLINE hn::Vec<D> worked_on(hn::Vec<Stored> v) {
    if constexpr (is_half<Element>) {
      return widened<Element>(D(), v);
    } else {
      return v;
    }
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
template <class D, class Element = hn::TFromD<D>>
struct Sink {
  using Stored = StoredTag<D, Element>;
  hn::TFromD<Stored>* output;

  HWY_INLINE explicit Sink(void* out) : output(static_cast<hn::TFromD<Stored>*>(out)) {}
  HWY_INLINE void put(hn::Vec<D> v, std::size_t at) const { hn::StoreU(stored(v), Stored(), output + at); }
  HWY_INLINE void put(hn::Vec<D> v, std::size_t at, std::size_t count) const { store<Stored>(stored(v), output + at, count); }

 private:
  static HWY_INLINE hn::Vec<Stored> stored(hn::Vec<D> v) {
    if constexpr (is_half<Element>) {
      return narrowed<Element>(D(), v);
    } else {
      return v;
    }
  }
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

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
