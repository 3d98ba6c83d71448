#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/pad.cuh"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

// Up to this, writing the middle twice costs less than a launch for every side: it stays in the cache.
constexpr std::int64_t small_bytes = std::int64_t{16} << 20;

// The elements [from, from + size) of one axis.
void narrow(Operand& operand, std::size_t axis, std::int64_t from, std::int64_t size) {
  operand.data += from * operand.axes[axis].stride * static_cast<std::int64_t>(size_of(operand.dtype));
  operand.axes[axis].size = size;
}

template <class U>
void launch_pad(const PaddedAxes& axes, const Span<U>& span, const KernelCall& call, Queue& queue) {
  const Operand& value = call.in(1);
  PadTask<U> task{};
  task.out = call.out().as<U>();
  task.from = call.in(0).as<U>();
  if (value.is_immediate) {
    std::memcpy(&task.number, value.data, sizeof(U));
  } else {
    task.value = value.as<U>();
  }
  task.span = span;
  task.count = static_cast<std::uint32_t>(call.out().count());
  task.rank = static_cast<std::uint32_t>(axes.rank);
  for (std::size_t i = 0; i < axes.rank; ++i) {
    task.size[i] = Divisor<std::uint32_t>(axes.axes[i].size);
    task.before[i] = static_cast<std::int32_t>(axes.axes[i].before);
    task.inside[i] = static_cast<std::uint32_t>(axes.axes[i].inside);
    task.stride[i] = static_cast<std::int32_t>(axes.axes[i].stride);
  }
  const auto run = [&]<int step>(std::integral_constant<int, step>) {
    constexpr std::int64_t at_a_time = std::int64_t{run_threads} * pack_width<U>;
    const Grid grid{dim3(static_cast<unsigned>((task.count + at_a_time - 1) / at_a_time)), dim3(run_threads)};
    launch<pad_kernel<U, step>>(queue, call, grid, task);
  };
  axes.axes[0].stride > 0 ? run(std::integral_constant<int, 1>{}) : run(std::integral_constant<int, -1>{});
}

// Whether it was launched: false where the elements of the input are not contiguous or there are too many.
bool pad_at_once(const KernelCall& call, const PadAttributes& widths, Queue& queue) {
  const Operand& x = call.in(0);
  const Operand& out = call.out();
  const PaddedAxes axes(x, widths);
  if (axes.rank == 0 || axes.axes[0].inside == 0 || std::abs(axes.axes[0].stride) != 1 || x.count() == 0) return false;
  if (!out.is_dense() || !is_aligned(out, pack_bytes)) return false;
  const std::array operands{&x};
  const Axes all = collapse(operands);
  if (!all.fits_32_bits() || out.count() >= std::int64_t{1} << 30) return false;
  visit_size(size_of(out.dtype), [&]<class U>(U) { launch_pad(axes, span_of<U>(all, 0), call, queue); });
  return true;
}

}  // namespace

static void pad(const KernelCall& call, KernelContext& context) {
  const Operand& x = device_input(call, 0);
  const Operand& out = call.out();
  const auto widths = call.attributes->as<PadAttributes>();
  Queue& queue = queue_of(context);
  if (pad_at_once(call, widths, queue)) return;
  const auto fill = [&](const Operand& part) {
    Operand value = call.in(1);
    value.rank = part.rank;
    for (std::size_t i = 0; i < part.rank; ++i) value.axes[i] = {part.axes[i].size, 0};
    copy_operand(value, part, queue, call);
  };
  const std::int64_t bytes = out.count() * static_cast<std::int64_t>(size_of(out.dtype));
  const bool is_small = bytes <= small_bytes;
  if (is_small && out.count() != x.count()) fill(out);
  // What lies before and behind along an axis, over all of the axes behind it and the middle of those in front.
  Operand middle = out;
  for (std::size_t i = 0; i < out.rank; ++i) {
    if (!is_small) {
      Operand before = middle;
      narrow(before, i, 0, widths.before[i]);
      fill(before);
      Operand after = middle;
      narrow(after, i, widths.before[i] + x.axes[i].size, widths.after[i]);
      fill(after);
    }
    narrow(middle, i, widths.before[i], x.axes[i].size);
  }
  copy_operand(x, middle, queue, call);
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("PadV2", pad);

}  // namespace tutti::kernels::cuda
