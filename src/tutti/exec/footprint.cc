#include "tutti/exec/footprint.h"

#include <algorithm>

#include "tutti/base/inline_vector.h"

namespace tutti {

namespace {

struct Step {
  std::size_t bytes;  // from one element of the axis to the next
  std::size_t count;
};

}  // namespace

MemoryUse footprint(const Operand& operand, const Buffer& buffer, bool is_write) {
  MemoryUse out{.begin = buffer.address() + (operand.data - buffer.kernel_address()),
                .is_write = is_write,
                .allocation = buffer.address(),
                .allocated_bytes = buffer.bytes(),
                .allocated = buffer.site()};
  const std::size_t element = size_of(operand.dtype);
  InlineVector<Step, most_axes> steps;
  out.bytes = element;
  for (std::size_t i = 0; i < operand.rank; ++i) {
    const Axis& axis = operand.axes[i];
    if (axis.size == 0) {
      out.bytes = 0;
      return out;
    }
    if (axis.size == 1 || axis.stride == 0) continue;
    const std::int64_t reach = (axis.size - 1) * axis.stride * static_cast<std::int64_t>(element);
    if (reach < 0) out.begin += reach;
    out.bytes += static_cast<std::size_t>(std::abs(reach));
    steps.push_back({static_cast<std::size_t>(std::abs(axis.stride)) * element, static_cast<std::size_t>(axis.size)});
  }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.bytes < b.bytes; });
  out.run = element;
  std::size_t next = 0;
  for (; next < steps.size() && steps[next].bytes == out.run; ++next) out.run *= steps[next].count;
  if (next == steps.size()) return out;
  out.period = steps[next].bytes;
  for (std::size_t end = out.period * steps[next].count; ++next < steps.size(); end *= steps[next].count) {
    if (steps[next].bytes != end) out.period = 0;
  }
  if (out.period < out.run) out.period = 0;
  if (out.period == 0) out.run = 0;
  return out;
}

}  // namespace tutti
