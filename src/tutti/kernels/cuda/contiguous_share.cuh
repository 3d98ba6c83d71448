// A thread's share of elements that are contiguous in memory, loaded 16 bytes at a time.
#pragma once

#include "tutti/kernels/cuda/accumulate.cuh"
#include "tutti/kernels/cuda/sources.cuh"

namespace tutti::kernels::cuda {

template <class R>
struct PackedElements {
  using Type = typename R::Element;
};
template <class R>
  requires requires { typename R::Packed; }
struct PackedElements<R> {
  using Type = typename R::Packed;
};

template <int in_flight = 4, class R, class T>
__device__ __forceinline__ typename R::Total contiguous_share(const R& r, const T* elements, std::int64_t n, std::int64_t thread,
                                                              std::int64_t threads) {
  return share_from_boundary<in_flight, 16 / sizeof(T)>(
      r, to_boundary(elements), n, thread, threads,
      [&](std::int64_t head) {
        return VectorSource<typename PackedElements<R>::Type>{reinterpret_cast<const uint4*>(elements + head), head};
      },
      [&](std::int64_t i) { return elements[i]; });
}

}  // namespace tutti::kernels::cuda
