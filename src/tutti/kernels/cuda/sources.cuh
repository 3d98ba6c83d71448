// Where the elements of a reduction are loaded from. A source has
//   Loaded, load(i)                 what one load brings
//   Element, width, unpack(loaded, elements)
//   index_of(i)                     of the first of them, among those reduced
#pragma once

#include <cstring>

#include "tutti/kernels/cuda/row_axes.cuh"
#include "tutti/kernels/cuda/tagged.cuh"

namespace tutti::kernels::cuda {

// One axis.
template <class T>
struct SteppedElements {
  using Element = T;
  using Loaded = T;
  static constexpr int width = 1;
  const T* first;
  std::int64_t stride;
  __device__ __forceinline__ T load(std::int64_t i) const { return first[i * stride]; }
  __device__ __forceinline__ void unpack(const T& loaded, T (&elements)[1]) const { elements[0] = loaded; }
  __device__ __forceinline__ std::int64_t index_of(std::int64_t i) const { return i; }
};

template <class T>
struct ScatteredElements {
  using Element = T;
  using Loaded = T;
  static constexpr int width = 1;
  const T* first;
  const RowAxes& axes;
  __device__ __forceinline__ T load(std::int64_t i) const { return first[offset_of(axes, i)]; }
  __device__ __forceinline__ void unpack(const T& loaded, T (&elements)[1]) const { elements[0] = loaded; }
  __device__ __forceinline__ std::int64_t index_of(std::int64_t i) const { return i; }
};

// Elements of any dtype that V holds exactly.
template <class V>
struct TaggedElements {
  using Element = V;
  using Loaded = V;
  static constexpr int width = 1;
  const void* data;
  std::int64_t first;
  const RowAxes& axes;
  TagOf<V> dtype;
  __device__ __forceinline__ V load(std::int64_t i) const { return load_as<V>(data, dtype, first + offset_of(axes, i)); }
  __device__ __forceinline__ void unpack(V loaded, V (&elements)[1]) const { elements[0] = loaded; }
  __device__ __forceinline__ std::int64_t index_of(std::int64_t i) const { return i; }
};

// Elements that are contiguous, 16 bytes at a time.
template <class T>
struct VectorSource {
  using Element = T;
  using Loaded = uint4;
  static constexpr int width = 16 / sizeof(T);

  const uint4* vectors;
  std::int64_t before;  // elements before the first vector

  __device__ __forceinline__ Loaded load(std::int64_t i) const { return __ldg(vectors + i); }
  __device__ __forceinline__ void unpack(const Loaded& loaded, T (&elements)[width]) const {
    memcpy(elements, &loaded, sizeof loaded);
  }
  __device__ __forceinline__ std::int64_t index_of(std::int64_t i) const { return before + i * width; }
};

// Elements before the first 16-byte boundary.
template <class T>
__device__ __forceinline__ std::int64_t to_boundary(const T* elements) {
  return static_cast<std::int64_t>((16 - (reinterpret_cast<std::uintptr_t>(elements) & 15U)) % 16U / sizeof(T));
}

}  // namespace tutti::kernels::cuda
