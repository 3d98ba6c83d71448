#include <bit>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>

#include "tutti/base/error.h"
#include "tutti/exec/sort_key.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/device_radix_sort.h"
#include "tutti/kernels/cuda/layout.h"
#include "tutti/kernels/cuda/sort_plan.h"

namespace tutti::kernels::cuda {

namespace {

template <class U>
struct SortTask {
  const U* x;
  U* values;              // null: not wanted
  std::int64_t* indices;  // the same
  std::int64_t lines;
  std::int64_t length;
  std::int64_t keep;
  SortOrder<U> order;
};

// Up to 32 elements: `width` lanes (a power of two) have one line, each counts the elements that come before its own.
template <class U>
__global__ void __launch_bounds__(256) sort_in_warps(const __grid_constant__ SortTask<U> task, int width) {
  const int lane = static_cast<int>(threadIdx.x) & 31;
  const int place = lane & (width - 1);
  const std::int64_t per_warp = 32 / width;
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / 32);
  const std::int64_t first_warp = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  for (std::int64_t first = first_warp * per_warp; first < task.lines; first += warps * per_warp) {
    const std::int64_t line = first + lane / width;
    const bool is_element = place < task.length && line < task.lines;
    const U element = is_element ? task.x[line * task.length + place] : U{0};
    using Wide = std::conditional_t<sizeof(U) == 8, unsigned long long, unsigned>;
    const Wide key = is_element ? static_cast<Wide>(task.order.key(element)) : ~Wide{0};
    int rank = 0;
    for (int other = 0; other < width; ++other) {
      const Wide its = __shfl_sync(0xffffffffU, key, other, width);
      rank += its < key || (its == key && other < place) ? 1 : 0;
    }
    if (!is_element || rank >= task.keep) continue;
    if (task.values != nullptr) task.values[line * task.keep + rank] = element;
    if (task.indices != nullptr) task.indices[line * task.keep + rank] = place;
  }
}

// Up to threads x items elements: a block has one line. What fills it up has the largest key and comes last, being stable.
template <class U, int threads, int items>
__global__ void __launch_bounds__(threads) sort_in_block(const __grid_constant__ SortTask<U> task) {
  using Load = cub::BlockLoad<U, threads, items, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<U, threads, items, std::uint16_t>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Sort::TempStorage sort;
  } storage;
  for (std::int64_t line = blockIdx.x; line < task.lines; line += gridDim.x) {
    const U* const from = task.x + line * task.length;
    U keys[items];
    std::uint16_t numbers[items];
    Load(storage.load).Load(from, keys, static_cast<int>(task.length), U{0});
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const int number = static_cast<int>(threadIdx.x) * items + i;
      keys[i] = number < task.length ? task.order.key(keys[i]) : static_cast<U>(~U{0});
      numbers[i] = static_cast<std::uint16_t>(number);
    }
    __syncthreads();
    Sort(storage.sort).SortBlockedToStriped(keys, numbers);
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const int place = i * threads + static_cast<int>(threadIdx.x);
      if (place >= task.keep) break;
      if (task.values != nullptr) task.values[line * task.keep + place] = from[numbers[i]];
      if (task.indices != nullptr) task.indices[line * task.keep + place] = numbers[i];
    }
    __syncthreads();  // the storage is used again
  }
}

// Sorted all at once, keys have four bytes or eight; of smaller ones only the bits they have are looked at.
template <class U>
using WideKey = std::conditional_t<sizeof(U) == 8, std::uint64_t, std::uint32_t>;

template <class U>
__global__ void __launch_bounds__(256)
    make_keys(const U* x, WideKey<U>* keys, std::uint32_t* numbers, std::int64_t n, SortOrder<U> order) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    keys[i] = order.key(x[i]);
    if (numbers != nullptr) numbers[i] = static_cast<std::uint32_t>(i);
  }
}

template <class U>
__global__ void __launch_bounds__(256) elements_of_keys(const U* keys, U* out, std::int64_t n, SortOrder<U> order) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    out[i] = order.bits(keys[i]);
}

// Of items numbered within lines of that length: n + step fits, n being below 2^31.
__global__ void __launch_bounds__(256)
    lines_of_numbers(const std::uint32_t* numbers, std::uint32_t* lines, std::uint32_t n, Divisor<std::uint32_t> length) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) lines[i] = length.quotient(numbers[i]);
}

// The first `keep` of every line, by their numbers among all lines.
template <class U>
__global__ void __launch_bounds__(256) write_sorted(const __grid_constant__ SortTask<U> task, const std::uint32_t* numbers) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t n = task.lines * task.keep;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const std::int64_t line = task.lines == 1 ? 0 : i / task.keep;
    const std::int64_t number = numbers[line * task.length + (i - line * task.keep)];
    if (task.values != nullptr) task.values[i] = task.x[number];
    if (task.indices != nullptr) task.indices[i] = number - line * task.length;
  }
}

// Enough threads for all items, or to fill the GPU a few times over.
Grid grid_over(std::int64_t items, const Queue& queue) {
  const std::int64_t most = std::int64_t{32} * queue.properties().multiprocessors;
  return {dim3(static_cast<unsigned>(std::clamp<std::int64_t>((items + 255) / 256, 1, most))), dim3(256)};
}

template <class U>
void sort_short_lines(const SortTask<U>& task, const KernelCall& call, Queue& queue) {
  const std::int64_t most_blocks = std::int64_t{1} << 30U;
  if (task.length <= most_in_warp) {
    const auto width = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(task.length)));
    return launch<sort_in_warps<U>>(queue, call, grid_over(task.lines * width, queue), task, width);
  }
  const auto blocks = static_cast<unsigned>(std::min(task.lines, most_blocks));
  if constexpr (sizeof(U) == 4) {
    if (task.length <= 256) return launch<sort_in_block<U, 64, 4>>(queue, call, {dim3(blocks), dim3(64)}, task);
    if (task.length <= 1024) return launch<sort_in_block<U, 128, 8>>(queue, call, {dim3(blocks), dim3(128)}, task);
  }
  launch<sort_in_block<U, 256, 16>>(queue, call, {dim3(blocks), dim3(256)}, task);
}

// Lines of `task` that are sorted at once.
template <class U>
void sort_long_lines(const SortPlan& plan, const SortTask<U>& task, const KernelCall& call, Queue& queue) {
  std::byte* room = call.scratch().data;
  const auto take = [&room](std::int64_t bytes) { return std::exchange(room, room + bytes); };
  const auto n = static_cast<std::uint32_t>(task.lines * task.length);
  constexpr int bits = 8 * sizeof(U);
  using Key = WideKey<U>;
  if constexpr (sizeof(U) >= 4) {
    if (plan.is_keys_only()) {
      U* const other = reinterpret_cast<U*>(take(plan.keys_bytes()));
      launch<make_keys<U>>(queue, call, grid_over(n, queue), task.x, task.values, nullptr, n, task.order);
      const U* const keys = radix_sort<U>(task.values, other, n, bits, room, plan.cub_bytes(), call, queue);
      return launch<elements_of_keys<U>>(queue, call, grid_over(n, queue), keys, task.values, n, task.order);
    }
  }
  auto* const keys = reinterpret_cast<Key*>(take(plan.keys_bytes()));
  auto* const other_keys = reinterpret_cast<Key*>(take(plan.keys_bytes()));
  auto* const numbers = reinterpret_cast<std::uint32_t*>(take(plan.numbers_bytes()));
  auto* const other_numbers = reinterpret_cast<std::uint32_t*>(take(plan.numbers_bytes()));
  launch<make_keys<U>>(queue, call, grid_over(n, queue), task.x, keys, numbers, n, task.order);
  std::uint32_t* sorted =
      radix_sort_pairs(keys, other_keys, numbers, other_numbers, n, bits, room, plan.cub_bytes(), call, queue).numbers;
  if (task.lines > 1) {
    auto* const lines = reinterpret_cast<std::uint32_t*>(keys);
    launch<lines_of_numbers>(queue, call, grid_over(n, queue), sorted, lines, n, Divisor<std::uint32_t>(task.length));
    const auto last = static_cast<std::uint32_t>((n - 1) / task.length);
    sorted =
        radix_sort_pairs(lines, reinterpret_cast<std::uint32_t*>(other_keys), sorted, sorted == numbers ? other_numbers : numbers,
                         n, std::bit_width(last), room, plan.cub_bytes(), call, queue)
            .numbers;
  }
  launch<write_sorted<U>>(queue, call, grid_over(task.lines * task.keep, queue), task, sorted);
}

template <class U>
void sort_lines(const SortPlan& plan, const KernelCall& call, Queue& queue) {
  const SortAttributes& wanted = plan.attributes;
  const Operand& x = device_input(call, 0);
  SortTask<U> task{};
  task.x = x.as<U>();
  task.values = wanted.wants_values ? call.out(0).as<U>() : nullptr;
  task.indices = wanted.wants_indices ? call.out(wanted.wants_values ? 1 : 0).as<std::int64_t>() : nullptr;
  task.lines = plan.lines;
  task.length = plan.length;
  task.keep = wanted.keep;
  task.order = SortOrder<U>(x.dtype, wanted.is_descending, wanted.wants_indices ? Zeros::equal : Zeros::by_sign);
  if (!plan.is_long()) return sort_short_lines(task, call, queue);
  if (plan.length > longest_line) throw KernelFailed("lines of 2^32 elements and more cannot be sorted on a GPU", call.site);
  for (std::int64_t line = 0; line < plan.lines; line += plan.together()) {
    SortTask<U> some = task;
    some.lines = std::min(plan.together(), plan.lines - line);
    some.x += line * task.length;
    if (some.values != nullptr) some.values += line * task.keep;
    if (some.indices != nullptr) some.indices += line * task.keep;
    sort_long_lines(plan, some, call, queue);
  }
}

}  // namespace

void sort_lines(const SortPlan& plan, const KernelCall& call, Queue& queue) {
  visit_sort_width(call.in(0).dtype, [&](auto width) { sort_lines<decltype(width)>(plan, call, queue); });
}

}  // namespace tutti::kernels::cuda
