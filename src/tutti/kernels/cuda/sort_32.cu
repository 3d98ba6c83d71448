#include "tutti/kernels/cuda/layout.h"
#include "tutti/kernels/cuda/sort_kernels.cuh"

namespace tutti::kernels::cuda {

namespace {

__global__ void __launch_bounds__(256)
    lines_of_numbers(const std::uint32_t* numbers, std::uint32_t* lines, std::uint32_t n, Divisor<std::uint32_t> length) {
  const std::uint32_t step = gridDim.x * blockDim.x;  // n + step fits: n is below 2^31
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) lines[i] = length.quotient(numbers[i]);
}

}  // namespace

std::uint32_t* sort_by_line(std::uint32_t* numbers, std::uint32_t* other, void* keys, void* other_keys, std::uint32_t items,
                            std::int64_t length, void* cub, std::int64_t cub_bytes, const KernelCall& call, Queue& queue) {
  auto* const lines = static_cast<std::uint32_t*>(keys);
  launch<lines_of_numbers>(queue, call, grid_over(items, queue), numbers, lines, items, Divisor<std::uint32_t>(length));
  const auto last = static_cast<std::uint32_t>((items - 1) / length);
  return radix_sort_pairs(lines, static_cast<std::uint32_t*>(other_keys), numbers, other, items, std::bit_width(last), cub,
                          cub_bytes, call, queue)
      .numbers;
}

template void sort_lines<std::uint32_t>(const SortPlan&, const KernelCall&, Queue&);

}  // namespace tutti::kernels::cuda
