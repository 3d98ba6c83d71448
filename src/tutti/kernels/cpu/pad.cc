#include <algorithm>

#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cpu/filler.h"
#include "tutti/kernels/cpu/kernels.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/row_order.h"

namespace tutti::kernels {

namespace {

// One line with many elements: its three parts one after the other, each on as many cores as pay.
void pad_line(const Operand& x, const Operand& value, const Operand& out, std::size_t axis, std::int64_t before,
              Parallel& parallel) {
  const std::int64_t step = out.axes[axis].stride * static_cast<std::int64_t>(size_of(out.dtype));
  const std::int64_t after = out.axes[axis].size - before - x.axes[axis].size;
  Operand filled = value;
  filled.rank = out.rank;
  Operand part = out;
  const auto put = [&](const Operand& from, std::int64_t n) {
    part.axes[axis].size = n;
    copy(from, part, parallel);
    part.data += n * step;
  };
  const auto fill = [&](std::int64_t n) {
    for (std::size_t i = 0; i < out.rank; ++i) filled.axes[i] = {i == axis ? n : out.axes[i].size, 0};
    put(filled, n);
  };
  fill(before);
  put(x, x.axes[axis].size);
  fill(after);
}

}  // namespace

// Lines run along the last axis that is padded and all axes behind it: what x has of one lies in one piece of its row-major
// order.
static void pad(const KernelCall& call, KernelContext& context) {
  const Operand& x = call.in(0);
  const Operand& value = call.in(1);
  const Operand& out = call.out();
  const auto widths = call.attributes->as<PadAttributes>();
  if (out.count() == 0) return;
  std::size_t last = out.rank;
  while (last > 0 && out.axes[last - 1].size == x.axes[last - 1].size) --last;
  if (last == 0) return copy(x, out, context.parallel);
  const std::size_t along = last - 1;
  std::int64_t inner = 1;
  for (std::size_t i = last; i < out.rank; ++i) inner *= out.axes[i].size;
  const std::int64_t line = out.axes[along].size * inner;
  const std::int64_t lines = out.count() / line;
  const std::int64_t n = x.axes[along].size * inner;
  const std::int64_t before = widths.before[along] * inner;
  bool is_one = true;  // no axis in front
  for (std::size_t i = 0; i < along; ++i) is_one = is_one && out.axes[i].size == 1 && x.axes[i].size == 1;
  if (is_one) return pad_line(x, value, out, along, widths.before[along], context.parallel);
  const RowOrder near(x, context.parallel);
  const Layout from(near.operand());
  const std::size_t size = size_of(out.dtype);
  const Filler filler(value.data, size);
  for_each_lines(context.parallel, lines, out.count(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      std::byte* to = out.data + at * line * static_cast<std::int64_t>(size);
      // The number of the line within x, if it has one there.
      std::int64_t rest = at;
      std::int64_t source = 0;
      std::int64_t scale = 1;
      bool is_inside = true;
      for (std::size_t i = along; i-- > 0;) {
        const std::int64_t index = rest % out.axes[i].size - widths.before[i];
        rest /= out.axes[i].size;
        is_inside = is_inside && index >= 0 && index < x.axes[i].size;
        source += index * scale;
        scale *= x.axes[i].size;
      }
      if (is_inside) {
        filler.frame(to, before, from, source * n, n, line - before - n);
      } else {
        filler.fill(to, line);
      }
    }
  });
}

[[maybe_unused]] static const bool pad_is_registered = register_host_kernel("PadV2", pad);

}  // namespace tutti::kernels
