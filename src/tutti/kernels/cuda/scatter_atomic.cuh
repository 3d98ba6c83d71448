// Updates whose outcome does not depend on the order in which values meet.
#pragma once

#include "tutti/kernels/cuda/scatter_combine.cuh"

namespace tutti::kernels::cuda {

template <class T, class U>
__device__ __forceinline__ U as_bits(T x) {
  U bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Tries again until nobody else has changed the element meanwhile.
template <class U, class T, class Combine>
__device__ __forceinline__ void exchange(T* element, T value, const Combine& combine) {
  static_assert(sizeof(T) == sizeof(U));
  U* const bits = reinterpret_cast<U*>(element);
  U seen = *reinterpret_cast<volatile U*>(bits);
  for (;;) {
    T old;
    memcpy(&old, &seen, sizeof old);
    const U wanted = as_bits<T, U>(narrow<T>(combine(widen(old), widen(value))));
    if (wanted == seen) return;
    const U found = atomicCAS(bits, seen, wanted);
    if (found == seen) return;
    seen = found;
  }
}

// A byte is exchanged with the three beside it, which an aligned word of the same memory holds.
template <class T, class Combine>
__device__ __forceinline__ void exchange_byte(T* element, T value, const Combine& combine) {
  const auto address = reinterpret_cast<std::uintptr_t>(element);
  auto* const word = reinterpret_cast<unsigned*>(address & ~std::uintptr_t{3});
  const unsigned shift = static_cast<unsigned>(address & 3U) * 8U;
  unsigned seen = *reinterpret_cast<volatile unsigned*>(word);
  for (;;) {
    const auto old = static_cast<T>(seen >> shift & 0xffU);
    const unsigned changed = static_cast<std::uint8_t>(combine(old, value));
    const unsigned wanted = (seen & ~(0xffU << shift)) | changed << shift;
    if (wanted == seen) return;
    const unsigned found = atomicCAS(word, seen, wanted);
    if (found == seen) return;
    seen = found;
  }
}

template <class T>
using AtomicNumber = std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int, unsigned>,
                                        std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>;

template <class T, class Combine>
__device__ __forceinline__ void update(T* element, T value, const Combine& combine) {
  if constexpr (sizeof(T) == 1) {
    return exchange_byte(element, value, combine);
  } else if constexpr (sizeof(T) == 2) {
    return exchange<unsigned short>(element, value, combine);
  } else if constexpr (std::is_integral_v<T> && std::is_same_v<Combine, Extreme>) {
    using Number = AtomicNumber<T>;
    auto* const number = reinterpret_cast<Number*>(element);
    combine.wants_least ? atomicMin(number, static_cast<Number>(value)) : atomicMax(number, static_cast<Number>(value));
  } else {
    if constexpr (std::is_integral_v<T>) {
      if (!combine.multiplies) {
        atomicAdd(reinterpret_cast<AtomicNumber<T>*>(element), static_cast<AtomicNumber<T>>(value));
        return;
      }
    }
    exchange<std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>(element, value, combine);
  }
}

template <class T, class Combine>
__global__ void __launch_bounds__(index_threads) update_slices(const __grid_constant__ ScatterTask task, Combine combine) {
  const IndexTask& space = task.space;
  const Share share = share_of(space);
  for (std::int64_t position = share.first; position < space.count; position += share.step) {
    Located at;
    if (!locate(space, position, share.lane == 0, at)) continue;
    T* to = static_cast<T*>(task.region) + at.place;
    for (std::int64_t i = share.begin + share.lane; i < share.end; i += space.lanes)
      update(to + offset_of(space.inner_place, i), value_at<T>(task, at.value + offset_of(space.inner_value, i)), combine);
  }
}

}  // namespace tutti::kernels::cuda
