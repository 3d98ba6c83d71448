#include "tutti/kernels/cuda/device_radix_sort.h"

#include <cub/device/device_radix_sort.cuh>

#include "tutti/base/error.h"

namespace tutti::kernels::cuda {

namespace {

// Calls sort(storage, bytes) for the size it needs and then to sort.
template <class Sort>
void run_cub(const Sort& sort, void* storage, std::int64_t room, const KernelCall& call) {
  std::size_t bytes = 0;
  check(sort(nullptr, bytes), "sort", call);
  if (bytes > static_cast<std::size_t>(room))
    throw KernelFailed("the GPU's sort asks for more memory than was expected", call.site);
  check(sort(storage, bytes), "sort", call);
}

}  // namespace

template <class Key>
Key* radix_sort(Key* keys, Key* other, std::uint32_t n, int bits, void* storage, std::int64_t room, const KernelCall& call,
                Queue& queue) {
  cub::DoubleBuffer<Key> buffers(keys, other);
  run_cub([&](void* memory,
              std::size_t& bytes) { return cub::DeviceRadixSort::SortKeys(memory, bytes, buffers, n, 0, bits, queue.stream()); },
          storage, room, call);
  return buffers.Current();
}
template std::uint32_t* radix_sort(std::uint32_t*, std::uint32_t*, std::uint32_t, int, void*, std::int64_t, const KernelCall&,
                                   Queue&);
template std::uint64_t* radix_sort(std::uint64_t*, std::uint64_t*, std::uint32_t, int, void*, std::int64_t, const KernelCall&,
                                   Queue&);

template <class Key, class Number>
SortedPairs<Key, Number> radix_sort_pairs(Key* keys, Key* other_keys, Number* numbers, Number* other_numbers, std::int64_t n,
                                          int bits, void* storage, std::int64_t room, const KernelCall& call, Queue& queue) {
  using Count = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::int64_t>;
  cub::DoubleBuffer<Key> key_buffers(keys, other_keys);
  cub::DoubleBuffer<Number> number_buffers(numbers, other_numbers);
  run_cub(
      [&](void* memory, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortPairs(memory, bytes, key_buffers, number_buffers, static_cast<Count>(n), 0, bits,
                                               queue.stream());
      },
      storage, room, call);
  return {key_buffers.Current(), number_buffers.Current()};
}
template SortedPairs<std::uint32_t, std::uint32_t> radix_sort_pairs(std::uint32_t*, std::uint32_t*, std::uint32_t*,
                                                                    std::uint32_t*, std::int64_t, int, void*, std::int64_t,
                                                                    const KernelCall&, Queue&);
template SortedPairs<std::uint64_t, std::uint32_t> radix_sort_pairs(std::uint64_t*, std::uint64_t*, std::uint32_t*,
                                                                    std::uint32_t*, std::int64_t, int, void*, std::int64_t,
                                                                    const KernelCall&, Queue&);
template SortedPairs<std::uint64_t, std::uint64_t> radix_sort_pairs(std::uint64_t*, std::uint64_t*, std::uint64_t*,
                                                                    std::uint64_t*, std::int64_t, int, void*, std::int64_t,
                                                                    const KernelCall&, Queue&);

}  // namespace tutti::kernels::cuda
