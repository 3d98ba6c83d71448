// What is joined by running sums and products.
#pragma once

#include "tutti/kernels/cuda/math.cuh"

namespace tutti::kernels::cuda {

// Elements are joined as Part within a tile, tiles as Carry. Integers are unsigned: they wrap.
template <class T, bool multiplies_>
struct Scanning {
  static constexpr bool multiplies = multiplies_;
  using Part = unsigned long long;
  using Carry = unsigned long long;
  using Out = long long;
  static __device__ __forceinline__ Part part(T x) { return static_cast<Part>(static_cast<long long>(x)); }
  static __device__ __forceinline__ Out finish(Carry before, Part here) {
    return static_cast<Out>(multiplies ? before * here : before + here);
  }
};
// Products are taken in double, so that those of a few factors stay in range.
template <class T, bool multiplies_>
  requires(is_half<T> || std::is_floating_point_v<T>)
struct Scanning<T, multiplies_> {
  static constexpr bool multiplies = multiplies_;
  using Part = std::conditional_t<multiplies, double, Working<T>>;
  using Carry = double;
  using Out = T;
  static __device__ __forceinline__ Part part(T x) { return static_cast<Part>(widen(x)); }
  static __device__ __forceinline__ Out finish(Carry before, Part here) {
    return narrow<T>(static_cast<Working<T>>(multiplies ? before * here : static_cast<Part>(before) + here));
  }
};

template <bool multiplies>
struct Joined {
  template <class V>
  __device__ __forceinline__ V operator()(const V& a, const V& b) const {
    return multiplies ? a * b : a + b;
  }
};

template <class S>
__device__ __forceinline__ typename S::Out value_of_nothing() {
  return S::finish(S::multiplies ? 1 : 0, S::multiplies ? 1 : 0);
}

}  // namespace tutti::kernels::cuda
