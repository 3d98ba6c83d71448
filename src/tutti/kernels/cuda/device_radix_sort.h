// CUB's sort of all items of a device, in working memory that was asked for beforehand. Compiled once, for the few kinds of keys
// and numbers there are.
#pragma once

#include <cstdint>

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// By the lowest `bits` of the keys. Returns which of the two buffers holds the result. Key: std::uint32_t or std::uint64_t.
template <class Key>
Key* radix_sort(Key* keys, Key* other, std::uint32_t n, int bits, void* storage, std::int64_t room, const KernelCall& call,
                Queue& queue);

template <class Key, class Number>
struct SortedPairs {
  Key* keys;
  Number* numbers;
};

// The same with a number to each key; those of equal keys stay in order. Either key with a std::uint32_t, and both of 64 bits.
template <class Key, class Number>
SortedPairs<Key, Number> radix_sort_pairs(Key* keys, Key* other_keys, Number* numbers, Number* other_numbers, std::int64_t n,
                                          int bits, void* storage, std::int64_t room, const KernelCall& call, Queue& queue);

}  // namespace tutti::kernels::cuda
