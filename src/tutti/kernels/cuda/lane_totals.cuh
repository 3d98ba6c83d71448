// The shares that neighbouring threads of a warp have in a reduction, joined.
#pragma once

namespace tutti::kernels::cuda {

// What the thread `distance` lanes away has.
template <class T>
__device__ __forceinline__ T exchanged(const T& value, int distance) {
  static_assert(sizeof(T) % 4 == 0);
  unsigned words[sizeof(T) / 4];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (unsigned& word : words) word = __shfl_xor_sync(0xffffffffU, word, distance);
  T other;
  memcpy(&other, words, sizeof(T));
  return other;
}

// Of `lanes` neighbouring threads, a power of two, for the first of them.
template <class R>
__device__ __forceinline__ typename R::Total lanes_total(const R& r, typename R::Total total, int lanes) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) total = r.merge(total, exchanged(total, distance));
  return total;
}

}  // namespace tutti::kernels::cuda
