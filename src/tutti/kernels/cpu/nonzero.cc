#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/row_order.h"
#include "tutti/kernels/cpu/truth.h"

namespace tutti::kernels {

static void count_nonzero(const KernelCall& call, KernelContext& context) {
  Operand in = call.in(0);  // in the order it lies in
  std::stable_sort(in.axes.begin(), in.axes.begin() + in.rank,
                   [](const Axis& a, const Axis& b) { return std::abs(a.stride) > std::abs(b.stride); });
  const std::vector<std::int64_t> counts = counts_by_range(TruthReader(in), context.parallel);
  *call.out().as<std::int64_t>() = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

static void nonzero(const KernelCall& call, KernelContext& context) {
  const Operand& in = call.in(0);
  const Operand& out = call.out();
  const auto attributes = call.attributes->as<NonzeroAttributes>();
  const std::int64_t room = out.axes[0].size;
  const Axis row_axis = out.axes[0];
  const Axis column = out.axes[1];
  const RowOrder near(in, context.parallel);
  const TruthReader reader(near.operand());
  std::vector<std::int64_t> starts = counts_by_range(reader, context.parallel);
  const std::int64_t total = starts_from_counts(starts);
  check_room(attributes.room, room, total, call.site);
  if (attributes.room == Room::padded) {
    *call.out(1).as<std::int64_t>() = total;
    for (std::int64_t row = total; row < room; ++row) {
      for (std::int64_t axis = 0; axis < column.size; ++axis)
        out.as<std::int64_t>()[row * row_axis.stride + axis * column.stride] = attributes.fill;
    }
  }
  if (total == 0 || room == 0 || in.rank == 0) return;
  const std::size_t last = in.rank - 1U;
  const std::int64_t length = in.axes[last].size;
  for_each_range_number(context.parallel, starts.size(), [&](std::size_t range) {
    Scratch scratch;
    std::array<std::uint8_t, block_elements> truth;
    const std::int64_t begin = static_cast<std::int64_t>(range) * range_elements;
    const std::int64_t end = std::min(begin + range_elements, reader.count());
    std::int64_t row = starts[range];
    std::array<std::int32_t, block_elements> found;
    std::array<std::int64_t, most_axes> outer{};  // indices of the line the last element was in
    std::int64_t line_end = begin;                // none yet
    for (std::int64_t at = begin; at < end && row < room; at += block_elements) {
      const std::int64_t n = std::min(block_elements, end - at);
      reader.read(at, n, scratch, truth.data());
      std::size_t count = 0;  // no branch on what cannot be foretold
      for (std::int64_t i = 0; i < n; ++i) {
        found[count] = static_cast<std::int32_t>(i);
        count += truth[static_cast<std::size_t>(i)];
      }
      count = std::min(count, static_cast<std::size_t>(room - row));
      std::int64_t* target = out.as<std::int64_t>() + row * row_axis.stride;
      row += static_cast<std::int64_t>(count);
      for (std::size_t i = 0; i < count; ++i, target += row_axis.stride) {
        const std::int64_t element = at + found[i];
        if (element >= line_end) {
          line_end = (element / length + 1) * length;
          std::int64_t rest = element / length;
          for (std::size_t axis = last; axis-- > 0;) {
            outer[axis] = rest % in.axes[axis].size;
            rest /= in.axes[axis].size;
          }
        }
        for (std::size_t axis = 0; axis < last; ++axis) target[static_cast<std::int64_t>(axis) * column.stride] = outer[axis];
        target[static_cast<std::int64_t>(last) * column.stride] = element + length - line_end;
      }
    }
  });
}

[[maybe_unused]] static const bool nonzero_is_registered =
    register_host_kernel("CountNonzero", count_nonzero) && register_host_kernel("NonZero", nonzero);

}  // namespace tutti::kernels
