// What is joined by running sums and products.
#pragma once

#include "tutti/kernels/cuda/math.cuh"
#include "tutti/kernels/cuda/tagged.cuh"

namespace tutti::kernels::cuda {

// Elements of a dtype that V holds, and their places: what a scan loads or stores instead of T by a T*.
template <class V>
struct TaggedValues {
  using Value = V;
  struct Place {
    const TaggedValues& values;
    std::int64_t at;
    __device__ __forceinline__ operator V() const { return load_as<V>(values.data, values.dtype, values.first + at); }
    __device__ __forceinline__ void operator=(V value) const { store_as<V>(values.data, values.dtype, values.first + at, value); }
  };
  void* data;
  TagOf<V> dtype;
  std::int64_t first = 0;
  __device__ __forceinline__ TaggedValues operator+(std::int64_t n) const { return {data, dtype, first + n}; }
  __device__ __forceinline__ Place operator[](std::int64_t i) const { return {*this, i}; }
  __device__ __forceinline__ Place operator*() const { return {*this, 0}; }
};

// Elements are joined as Part within a tile, tiles as Carry. In and Out are what is loaded and stored, by From and To.
template <class T>
struct SumsOfFloats {
  static constexpr bool multiplies = false;
  using In = T;
  using Out = T;
  using From = const T*;
  using To = T*;
  using Part = Working<T>;
  using Carry = double;
  static __device__ __forceinline__ Part part(T x) { return widen(x); }
  static __device__ __forceinline__ Out finish(Carry before, Part here) { return narrow<T>(static_cast<Part>(before) + here); }
};
// Of any dtype; unsigned, for they wrap.
template <bool multiplies_>
struct ScansOfIntegers {
  static constexpr bool multiplies = multiplies_;
  using In = std::int64_t;
  using Out = std::int64_t;
  using From = TaggedValues<std::int64_t>;
  using To = std::int64_t*;
  using Part = unsigned long long;
  using Carry = unsigned long long;
  static __device__ __forceinline__ Part part(In x) { return static_cast<Part>(x); }
  static __device__ __forceinline__ Out finish(Carry before, Part here) {
    return static_cast<Out>(multiplies ? before * here : before + here);
  }
};
// Of any dtype, in double, so that products of a few factors stay in range.
struct ProductsOfFloats {
  static constexpr bool multiplies = true;
  using In = double;
  using Out = double;
  using From = TaggedValues<double>;
  using To = TaggedValues<double>;
  using Part = double;
  using Carry = double;
  static __device__ __forceinline__ Part part(In x) { return x; }
  static __device__ __forceinline__ Out finish(Carry before, Part here) { return before * here; }
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
