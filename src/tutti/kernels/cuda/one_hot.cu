#include "tutti/exec/index_message.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/trap.cuh"
#include "tutti/kernels/cuda/window.cuh"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

using tutti::cuda::Trap;

template <class U>
struct OneHotTask {
  const void* indices;
  U* out;
  Trap* trap;
  std::int64_t depth;
  U on;
  U off;
  unsigned axis;
  bool has_wide_indices;
};

// The cells of the output; where the depth is 0, one for each index, which is only judged.
template <class U, class Index>
__global__ void one_hot_cells(OneHotTask<U> task, Index cells, Divisor<Index> depth) {
  for_each_item(cells, [&](Index cell) {
    const Index line = depth.quotient(cell);
    const Index at = cell - line * depth.divisor();
    const std::int64_t index = task.has_wide_indices ? static_cast<const std::int64_t*>(task.indices)[line]
                                                     : static_cast<const std::int32_t*>(task.indices)[line];
    if (at == 0 && (index < 0 || index >= task.depth)) note(task.trap, task.axis + 1, index, task.depth);
    if (static_cast<std::int64_t>(at) < task.depth) task.out[cell] = static_cast<std::int64_t>(at) == index ? task.on : task.off;
  });
}

std::string describe_index(const Trap& trap) {
  return index_out_of_range(trap.first, static_cast<std::int64_t>(trap.code) - 1, trap.second);
}

template <class U>
void run_one_hot(const KernelCall& call, Queue& queue) {
  const auto attributes = call.attributes->as<OneHotAttributes>();
  const Operand& indices = device_input(call, 0);
  const std::int64_t depth = std::max<std::int64_t>(1, attributes.depth);
  const std::int64_t cells = indices.count() * depth;
  if (cells == 0) return;
  OneHotTask<U> task{indices.data,
                     call.out().as<U>(),
                     queue.arm_trap(describe_index),
                     attributes.depth,
                     {},
                     {},
                     static_cast<unsigned>(call.out().rank) - 1,
                     is_wide_index(indices.dtype)};
  std::memcpy(&task.on, attributes.on.data(), sizeof(U));
  std::memcpy(&task.off, attributes.off.data(), sizeof(U));
  const Grid grid = grid_for(cells, window_items, queue);
  if (cells < std::int64_t{1} << 31U) {
    launch<one_hot_cells<U, std::uint32_t>>(queue, call, grid, task, cells, Divisor<std::uint32_t>(depth));
  } else {
    launch<one_hot_cells<U, std::uint64_t>>(queue, call, grid, task, cells, Divisor<std::uint64_t>(depth));
  }
}

}  // namespace

static void one_hot(const KernelCall& call, KernelContext& context) {
  Queue& queue = queue_of(context);
  visit_size(size_of(call.out().dtype), [&]<class U>(U) { run_one_hot<U>(call, queue); });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("OneHot", one_hot, nullptr, index_dtypes);

}  // namespace tutti::kernels::cuda
