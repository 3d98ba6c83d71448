#include <algorithm>
#include <cstring>

#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cpu/kernels.h"
#include "tutti/kernels/cpu/filler.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

// The output is a number of lines; each input has one piece of every line.
struct Lines {
  std::int64_t count = 1;
  std::int64_t bytes = 0;  // of one
};

// Pieces of one element each, from `begin` to `end` of the lines.
template <class U>
void spread(const std::byte* from, std::byte* to, std::int64_t step, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i)
    std::memcpy(to + i * step, from + i * static_cast<std::int64_t>(sizeof(U)), sizeof(U));
}

void copy_pieces(const std::byte* from, std::int64_t bytes, std::byte* to, std::int64_t step, std::int64_t begin,
                 std::int64_t end) {
  switch (bytes) {
    case 1: return spread<std::uint8_t>(from, to, step, begin, end);
    case 2: return spread<std::uint16_t>(from, to, step, begin, end);
    case 4: return spread<std::uint32_t>(from, to, step, begin, end);
    case 8: return spread<std::uint64_t>(from, to, step, begin, end);
    default: break;
  }
  for (std::int64_t i = begin; i < end; ++i) std::memcpy(to + i * step, from + i * bytes, static_cast<std::size_t>(bytes));
}

// Inputs that lie dense: some lines at a time, so that the output is written from front to back.
void join_dense(const KernelCall& call, const Lines& lines, std::size_t axis, Parallel& parallel) {
  constexpr std::int64_t block_bytes = 32 * 1024;
  const std::int64_t at_once = std::max<std::int64_t>(1, block_bytes / std::max<std::int64_t>(lines.bytes, 1));
  for_each_lines(parallel, lines.count, call.out().count(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; at += at_once) {
      std::byte* to = call.out().data;
      for (std::size_t i = 0; i < call.inputs; ++i) {
        const std::int64_t bytes =
            lines.bytes / std::max<std::int64_t>(call.out().axes[axis].size, 1) * call.in(i).axes[axis].size;
        copy_pieces(call.in(i).data, bytes, to, lines.bytes, at, std::min(at + at_once, end));
        to += bytes;
      }
    }
  });
}

}  // namespace

static void concat(const KernelCall& call, KernelContext& context) {
  const Operand& out = call.out();
  const auto axis = static_cast<std::size_t>(call.attributes->as<ConcatAttributes>().axis);
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  if (out.count() == 0) return;
  Lines lines;
  for (std::size_t i = 0; i < axis; ++i) lines.count *= out.axes[i].size;
  lines.bytes = out.count() / lines.count * size;
  bool are_dense = true;
  for (std::size_t i = 0; i < call.inputs; ++i) are_dense = are_dense && call.in(i).is_dense();
  if (are_dense && lines.count > 1) return join_dense(call, lines, axis, context.parallel);
  Operand part = out;
  for (std::size_t i = 0; i < call.inputs; ++i) {
    part.axes[axis].size = call.in(i).axes[axis].size;
    copy(call.in(i), part, context.parallel);
    part.data += part.axes[axis].size * part.axes[axis].stride * size;
  }
}

[[maybe_unused]] static const bool is_registered = register_host_kernel("ConcatV2", concat);

}  // namespace tutti::kernels
