#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

// Up to this, writing the middle twice costs less than a launch for every side: it stays in the cache.
constexpr std::int64_t small_bytes = std::int64_t{16} << 20;

// The elements [from, from + size) of one axis.
void narrow(Operand& operand, std::size_t axis, std::int64_t from, std::int64_t size) {
  operand.data += from * operand.axes[axis].stride * static_cast<std::int64_t>(size_of(operand.dtype));
  operand.axes[axis].size = size;
}

}  // namespace

static void pad(const KernelCall& call, KernelContext& context) {
  const Operand& x = device_input(call, 0);
  const Operand& out = call.out();
  const auto widths = call.attributes->as<PadAttributes>();
  Queue& queue = queue_of(context);
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
