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
template <ScatterMode mode, class T, class U>
__device__ __forceinline__ void exchange(T* element, T value) {
  static_assert(sizeof(T) == sizeof(U));
  U* const bits = reinterpret_cast<U*>(element);
  U seen = *reinterpret_cast<volatile U*>(bits);
  for (;;) {
    T old;
    memcpy(&old, &seen, sizeof old);
    const U wanted = as_bits<T, U>(narrow<T>(combined<mode>(widen(old), widen(value))));
    if (wanted == seen) return;
    const U found = atomicCAS(bits, seen, wanted);
    if (found == seen) return;
    seen = found;
  }
}

// A byte is exchanged with the three beside it, which an aligned word of the same memory holds.
template <ScatterMode mode, class T>
__device__ __forceinline__ void exchange_byte(T* element, T value) {
  const auto address = reinterpret_cast<std::uintptr_t>(element);
  auto* const word = reinterpret_cast<unsigned*>(address & ~std::uintptr_t{3});
  const unsigned shift = static_cast<unsigned>(address & 3U) * 8U;
  unsigned seen = *reinterpret_cast<volatile unsigned*>(word);
  for (;;) {
    const auto old = static_cast<T>(seen >> shift & 0xffU);
    const unsigned changed = static_cast<std::uint8_t>(combined<mode>(old, value));
    const unsigned wanted = (seen & ~(0xffU << shift)) | changed << shift;
    if (wanted == seen) return;
    const unsigned found = atomicCAS(word, seen, wanted);
    if (found == seen) return;
    seen = found;
  }
}

template <ScatterMode mode, class T>
__device__ __forceinline__ void update(T* element, T value) {
  if constexpr (sizeof(T) == 1) {
    exchange_byte<mode>(element, value);
  } else if constexpr (sizeof(T) == 2) {
    exchange<mode, T, unsigned short>(element, value);
  } else if constexpr (mode == ScatterMode::add && std::is_same_v<T, std::uint32_t>) {
    atomicAdd(element, value);
  } else if constexpr (mode == ScatterMode::add && std::is_same_v<T, std::uint64_t>) {
    atomicAdd(reinterpret_cast<unsigned long long*>(element), static_cast<unsigned long long>(value));
  } else if constexpr (mode == ScatterMode::minimum && std::is_same_v<T, std::int32_t>) {
    atomicMin(element, value);
  } else if constexpr (mode == ScatterMode::maximum && std::is_same_v<T, std::int32_t>) {
    atomicMax(element, value);
  } else if constexpr (mode == ScatterMode::minimum && std::is_same_v<T, std::int64_t>) {
    atomicMin(reinterpret_cast<long long*>(element), static_cast<long long>(value));
  } else if constexpr (mode == ScatterMode::maximum && std::is_same_v<T, std::int64_t>) {
    atomicMax(reinterpret_cast<long long*>(element), static_cast<long long>(value));
  } else if constexpr (sizeof(T) == 4) {
    exchange<mode, T, unsigned>(element, value);
  } else {
    exchange<mode, T, unsigned long long>(element, value);
  }
}

template <ScatterMode mode, class T>
__global__ void __launch_bounds__(index_threads) update_slices(const __grid_constant__ ScatterTask task) {
  const IndexTask& space = task.space;
  const Share share = share_of(space);
  for (std::int64_t position = share.first; position < space.count; position += share.step) {
    Located at;
    if (!locate(space, position, share.lane == 0, at)) continue;
    T* to = static_cast<T*>(task.region) + at.place;
    for (std::int64_t i = share.begin + share.lane; i < share.end; i += space.lanes)
      update<mode>(to + offset_of(space.inner_place, i), value_at<T>(task, at.value + offset_of(space.inner_value, i)));
  }
}

template <ScatterMode mode, class T>
void launch_update(ScatterTask& task, Queue& queue, const KernelCall& call) {
  const Grid grid = deal_slices(task.space, queue);
  launch<update_slices<mode, T>>(queue, call, grid, task);
}

}  // namespace tutti::kernels::cuda
