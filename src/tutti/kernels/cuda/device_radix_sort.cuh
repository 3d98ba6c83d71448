// CUB's sort of all items of a device, in working memory that was asked for beforehand.
#pragma once

#include <atomic>
#include <cub/device/device_radix_sort.cuh>
#include <optional>

#include "tutti/base/error.h"
#include "tutti/hal/door.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// Calls sort(storage, bytes) for the size it needs and then to sort. The first time, its code is loaded.
template <class Sort>
void run_cub(const Sort& sort, std::atomic<bool>& is_loaded, void* storage, std::int64_t room, const KernelCall& call) {
  std::optional<BlockingRegion> loading;
  if (!is_loaded.load(std::memory_order_acquire)) loading.emplace(SyncReason::module_load, call.site);
  std::size_t bytes = 0;
  check(sort(nullptr, bytes), "sort", call);
  if (bytes > static_cast<std::size_t>(room))
    throw KernelFailed("the GPU's sort asks for more memory than was expected", call.site);
  check(sort(storage, bytes), "sort", call);
  is_loaded.store(true, std::memory_order_release);
}

// By the lowest `bits` of the keys. Returns which of the two buffers holds the result.
template <class Key>
Key* radix_sort(Key* keys, Key* other, std::uint32_t n, int bits, void* storage, std::int64_t room, const KernelCall& call,
                Queue& queue) {
  static std::atomic<bool> is_loaded{false};
  cub::DoubleBuffer<Key> buffers(keys, other);
  run_cub([&](void* memory,
              std::size_t& bytes) { return cub::DeviceRadixSort::SortKeys(memory, bytes, buffers, n, 0, bits, queue.stream()); },
          is_loaded, storage, room, call);
  return buffers.Current();
}

template <class Key, class Number>
struct SortedPairs {
  Key* keys;
  Number* numbers;
};

// The same with a number to each key; those of equal keys stay in order.
template <class Key, class Number, class Count>
SortedPairs<Key, Number> radix_sort_pairs(Key* keys, Key* other_keys, Number* numbers, Number* other_numbers, Count n, int bits,
                                          void* storage, std::int64_t room, const KernelCall& call, Queue& queue) {
  static std::atomic<bool> is_loaded{false};
  cub::DoubleBuffer<Key> key_buffers(keys, other_keys);
  cub::DoubleBuffer<Number> number_buffers(numbers, other_numbers);
  run_cub(
      [&](void* memory, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(memory, bytes, key_buffers, number_buffers, n, 0, bits, queue.stream());
      },
      is_loaded, storage, room, call);
  return {key_buffers.Current(), number_buffers.Current()};
}

}  // namespace tutti::kernels::cuda
