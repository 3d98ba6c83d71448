#include "tutti/kernels/cuda/copy.h"

#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/runs.cuh"

namespace tutti::kernels::cuda {

namespace {

// Whether elements are contiguous in the output, and in the input too or backwards, but cannot be had in packs of both: lines
// long enough for their ends not to count.
bool are_lines_apart(const Axes& axes) noexcept {
  constexpr std::int64_t shortest = 512;  // bytes
  if (axes.rank == 0 || axes.stride[0][0] != 1 || std::abs(axes.stride[0][1]) != 1) return false;
  if (axes.size[0] * axes.element_bytes[0] < shortest) return false;
  Axes packs = axes;
  return !into_packs(packs, pack_bytes / axes.element_bytes[0], false);
}

template <class U, int step>
void copy_lines(const Axes& axes, Queue& queue, const KernelCall& call) {
  const auto* from = reinterpret_cast<const U*>(axes.data[1]);
  const std::int64_t packs = (axes.size[0] + pack_width<U> - 1) / pack_width<U> + 1;
  const std::int64_t count = axes.count() / axes.size[0] * packs;
  const Grid grid{dim3(static_cast<unsigned>((count + run_threads - 1) / run_threads)), dim3(run_threads)};
  launch<copy_lines_kernel<U, step>>(queue, call, grid, reinterpret_cast<U*>(axes.data[0]), from, span_of<U>(axes, 1),
                                     Layout<std::uint32_t, 2>(axes), Divisor<std::uint32_t>(packs),
                                     static_cast<std::uint32_t>(count));
}

template <class U>
void copy_lines(const Axes& axes, Queue& queue, const KernelCall& call) {
  for_each_32_bit_part(axes, [&](const Axes& part) {
    part.stride[0][1] > 0 ? copy_lines<U, 1>(part, queue, call) : copy_lines<U, -1>(part, queue, call);
  });
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
  if (!is_fill && axes.is_dense(0) && axes.is_dense(1)) {  // both in the same order, only not in row-major order
    check(cudaMemcpyAsync(to.data, from.data, static_cast<std::size_t>(count * size), cudaMemcpyDefault, queue.stream()), "copy",
          call);
    return;
  }
  if (!is_fill && are_lines_apart(axes)) {
    revisit_soon(axes);
    return visit_size(size_of(to.dtype), [&]<class U>(U) { copy_lines<U>(axes, queue, call); });
  }
  if (!is_fill) {
    enlarge_elements(axes);
    revisit_soon(axes);
  }
  visit_size(static_cast<std::size_t>(axes.element_bytes[0]), [&]<class U>(U) {
    const Source<U> source = source_of<U>(from, is_fill);
    constexpr int width = pack_width<U>;
    if (is_fill && axes.is_dense(0) && is_aligned(to, pack_bytes)) {
      launch<dense_kernel<Same, U, U>>(queue, call, grid_for((count + width - 1) / width, dense_unroll<Same, U>, queue), Same{},
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
