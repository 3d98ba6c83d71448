#include <algorithm>

#include "tutti/exec/index_message.h"
#include "tutti/exec/sort_key.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/trap.cuh"

namespace tutti::kernels::cuda {

namespace {

using tutti::cuda::Trap;

constexpr int threads = 256;

template <class U>
struct SearchTask {
  const U* among;
  const std::int64_t* sorter;  // null: `among` is sorted
  const U* values;
  std::int64_t* out;
  std::int64_t n;
  std::int64_t count;
  bool right;
  SortOrder<U> order;
  Trap* trap;
};

// A thread per value.
template <class U>
__global__ void __launch_bounds__(threads) search(const __grid_constant__ SearchTask<U> task) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < task.count; i += step) {
    const U key = task.order.key(task.values[i]);
    std::int64_t first = 0;
    std::int64_t left = task.n;
    while (left > 0) {
      const std::int64_t half = left / 2;
      std::int64_t at = first + half;
      if (task.sorter != nullptr) {
        at = task.sorter[at];
        if (at < 0 || at >= task.n) {
          note(task.trap, 1, at, task.n);
          break;
        }
      }
      const U middle = task.order.key(task.among[at]);
      if (task.right ? !(key < middle) : middle < key) {
        first += half + 1;
        left -= half + 1;
      } else {
        left = half;
      }
    }
    task.out[i] = first;
  }
}

std::string describe_index(const Trap& trap) { return index_out_of_range(trap.first, 0, trap.second); }

}  // namespace

static void search_sorted(const KernelCall& call, KernelContext& context) {
  const Operand& among = device_input(call, 0);
  const Operand& values = device_input(call, 1);
  Queue& queue = queue_of(context);
  const std::int64_t count = values.count();
  if (count == 0) return;
  Trap* const trap = call.inputs == 3 ? queue.arm_trap(describe_index) : nullptr;
  visit_sort_width(among.dtype, [&](auto width) {
    using U = decltype(width);
    SearchTask<U> task{};
    task.among = among.as<U>();
    task.sorter = call.inputs == 3 ? device_input(call, 2).as<std::int64_t>() : nullptr;
    task.values = values.as<U>();
    task.out = call.out().as<std::int64_t>();
    task.n = among.axes[0].size;
    task.count = count;
    task.right = call.attributes->as<SearchSortedAttributes>().right;
    task.order = SortOrder<U>(among.dtype, false, Zeros::equal);
    task.trap = trap;
    const std::int64_t blocks = std::min<std::int64_t>((count + threads - 1) / threads, 1 << 30);
    launch<search<U>>(queue, call, {dim3(static_cast<unsigned>(blocks)), dim3(threads)}, task);
  });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("SearchSorted", search_sorted);

}  // namespace tutti::kernels::cuda
