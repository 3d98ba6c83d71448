#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cpu/filler.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/row_order.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// The output is a number of lines; each input has one piece of every line.
struct Lines {
  std::int64_t count = 1;
  std::int64_t bytes = 0;  // of one
};

// Where one input has its pieces: each is contiguous, and the next begins `step` bytes further on; or each is `layout`'s
// next.
struct Pieces {
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
  std::int64_t step = 0;
  const Layout* layout = nullptr;
};

// Pieces of one element each, those of lines begin ... end - 1.
template <class U>
void spread(const Pieces& from, std::byte* to, std::int64_t step, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) std::memcpy(to + i * step, from.data + i * from.step, sizeof(U));
}

void copy_pieces(const Pieces& from, std::byte* to, std::int64_t step, std::int64_t begin, std::int64_t end) {
  if (from.layout != nullptr) {
    const std::int64_t n = from.bytes / static_cast<std::int64_t>(from.layout->element_size());
    for (std::int64_t i = begin; i < end; ++i) from.layout->gather(i * n, n, to + i * step);
    return;
  }
  if (from.bytes <= 8 && std::has_single_bit(static_cast<std::uint64_t>(from.bytes))) {
    return visit_size(static_cast<std::size_t>(from.bytes), [&]<class U>(U) { spread<U>(from, to, step, begin, end); });
  }
  const Row row = copy_row(1, 1);
  for (std::int64_t i = begin; i < end; ++i) {
    const void* piece = from.data + i * from.step;
    row(&piece, 0, to + i * step, static_cast<std::size_t>(from.bytes));
  }
}

// Nothing if the input does not lie like that.
std::optional<Pieces> pieces_of(const Operand& in, std::size_t axis) {
  Operand front = in;
  front.rank = static_cast<std::uint8_t>(axis);
  Operand back = in;
  back.rank = static_cast<std::uint8_t>(in.rank - axis);
  std::copy(in.axes.begin() + static_cast<std::ptrdiff_t>(axis), in.axes.begin() + in.rank, back.axes.begin());
  const Layout lines(front);
  if (!back.is_dense() || lines.rank() > 1) return std::nullopt;
  const auto size = static_cast<std::int64_t>(size_of(in.dtype));
  return Pieces{in.data, back.count() * size, lines.rank() == 0 ? 0 : lines.axis(0).stride * size};
}

// Some lines of all inputs at a time, so that the output is written from front to back.
void join(std::span<const Pieces> inputs, const Lines& lines, std::byte* out, std::int64_t elements, Parallel& parallel) {
  constexpr std::int64_t block_bytes = 32 * 1024;
  const std::int64_t at_once = std::max<std::int64_t>(1, block_bytes / lines.bytes);
  for_each_lines(parallel, lines.count, elements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; at += at_once) {
      std::byte* to = out;
      for (const Pieces& in : inputs) {
        copy_pieces(in, to, lines.bytes, at, std::min(at + at_once, end));
        to += in.bytes;
      }
    }
  });
}

// A line at a time; false if some input has its elements too far apart for that and is too small to be copied for it.
bool join_lines(const KernelCall& call, const Lines& lines, std::size_t axis, Parallel& parallel) {
  constexpr std::size_t most = 16;
  std::array<Pieces, most> few;
  std::vector<Pieces> many(call.inputs > most ? call.inputs : 0);
  Pieces* const inputs = call.inputs > most ? many.data() : few.data();
  std::vector<RowOrder> copies;
  copies.reserve(call.inputs);
  std::vector<Layout> layouts;
  layouts.reserve(call.inputs);
  for (std::size_t i = 0; i < call.inputs; ++i) {
    const Operand& in = call.in(i);
    if (const std::optional<Pieces> found = pieces_of(in, axis)) {
      inputs[i] = *found;
      continue;
    }
    const bool is_worth_it = call.out().count() >= RowOrder::worth_a_copy;
    const Operand& near = copies.emplace_back(in, parallel, is_worth_it ? 1 : RowOrder::worth_a_copy).operand();
    layouts.emplace_back(near);
    if (!is_close(layouts.back())) return false;
    inputs[i] = {nullptr, in.count() / lines.count * static_cast<std::int64_t>(size_of(in.dtype)), 0, &layouts.back()};
  }
  join({inputs, call.inputs}, lines, call.out().data, call.out().count(), parallel);
  return true;
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
  if (lines.count > 1 && join_lines(call, lines, axis, context.parallel)) return;
  Operand part = out;
  for (std::size_t i = 0; i < call.inputs; ++i) {
    part.axes[axis].size = call.in(i).axes[axis].size;
    copy(call.in(i), part, context.parallel);
    part.data += part.axes[axis].size * part.axes[axis].stride * size;
  }
}

[[maybe_unused]] static const bool concat_is_registered = register_host_kernel("ConcatV2", concat);

}  // namespace tutti::kernels
