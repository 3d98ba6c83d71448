#include "tutti/kernels/cuda/copy.h"

#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

// Calls use(U{}) with the unsigned integer as wide as an element.
template <class Use>
void with_size(std::int64_t bytes, Use&& use) {
  switch (bytes) {
    case 1: return use(std::uint8_t{});
    case 2: return use(std::uint16_t{});
    case 4: return use(std::uint32_t{});
    default: return use(std::uint64_t{});
  }
}

}  // namespace

void copy_operand(const Operand& from, const Operand& to, Queue& queue, const KernelCall& call) {
  const std::int64_t count = to.count();
  if (count == 0) return;
  const auto size = static_cast<std::int64_t>(size_of(to.dtype));
  const bool is_fill = from.is_immediate || (count > 1 && from.is_single());
  if (!is_fill && from.is_dense() && to.is_dense()) {
    if (from.data == to.data) return;
    check(cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(count * size), cudaMemcpyDefault, queue.stream()), "copy",
          call);
    return;
  }
  const std::array operands{&to, &from};
  Axes axes = collapse(operands);
  if (!is_fill && axes.is_dense(0) && axes.is_dense(1)) {  // both in the same order, only not in row order
    check(cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(count * size), cudaMemcpyDefault, queue.stream()), "copy",
          call);
    return;
  }
  if (!is_fill) {
    enlarge_elements(axes);
    revisit_soon(axes);
  }
  with_size(axes.element_bytes[0], [&]<class U>(U) {
    const Source<U> source = source_of<U>(from, is_fill);
    constexpr int width = pack_width<U>;
    if (is_fill && axes.is_dense(0) && is_aligned(to, pack_bytes)) {
      launch<dense_kernel<Same, U, U>>(queue, call, grid_for((count + width - 1) / width, dense_unroll<U>, queue), Same{},
                                       to.as<U>(), count, source);
      return;
    }
    run_over<Same, U, U>(axes, Same{}, queue, call, source);
  });
}

Operand copied_in_row_order(const Operand& from, std::byte* to, Queue& queue, const KernelCall& call) {
  Operand copy = from;
  copy.data = to;
  std::int64_t stride = 1;
  for (std::size_t i = copy.rank; i-- > 0;) {
    copy.axes[i].stride = stride;
    stride *= copy.axes[i].size;
  }
  copy_operand(from, copy, queue, call);
  return copy;
}

static void copy(const KernelCall& call, KernelContext& context) {
  copy_operand(call.in(0), call.out(), queue_of(context), call);
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("_Copy", copy) && register_cuda_kernel("_EagerConst", copy) && register_cuda_kernel("Fill", copy);

}  // namespace tutti::kernels::cuda
