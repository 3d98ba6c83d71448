#include <algorithm>
#include <bit>

#include "tutti/kernels/cpu/kernels.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/streaming.h"
#include "tutti/kernels/cpu/strided.h"
#include "tutti/kernels/cpu/transpose.h"

namespace tutti::kernels {

namespace {

constexpr std::int64_t lines_per_band = 4;  // several lines of a page at a time, for the sake of the page tables

// A dense output from an input whose last two axes are swapped: elements of one output row are far apart, but those of
// one output column are contiguous. Any axes before those two are walked one matrix after the other.
bool copy_transposed(const Layout& from, std::byte* to, Parallel& parallel) {
  const std::size_t rank = from.rank();
  if (rank < 2 || from.axis(rank - 2).stride != 1 || from.axis(rank - 1).stride == 0) return false;
  const std::int64_t rows = from.axis(rank - 2).size;
  const std::int64_t width = from.axis(rank - 1).size;
  const std::int64_t step = from.axis(rank - 1).stride;
  if (rows < 8 || width < 8) return false;
  const auto size = static_cast<std::int64_t>(from.element_size());
  const std::int64_t height = lines_per_band * line_bytes / size;
  const std::int64_t bands = (rows + height - 1) / height;
  const std::int64_t matrices = from.count() / (rows * width);
  const auto copy_bands = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t band = begin; band < end; ++band) {
      std::int64_t rest = band / bands;
      const std::int64_t matrix = rest;
      std::int64_t offset = 0;
      for (std::size_t i = rank - 2; i-- > 0;) {
        offset += rest % from.axis(i).size * from.axis(i).stride;
        rest /= from.axis(i).size;
      }
      const std::byte* source = from.data() + offset * size;
      std::byte* target = to + matrix * rows * width * size;
      const std::int64_t row = band % bands * height;
      const std::int64_t n = std::min(height, rows - row);
      transpose(from.element_size(), source, step, target, width, row, n);
    }
  };
  const std::int64_t all = bands * matrices;
  if (from.count() < serial_elements || parallel.width() == 1) {
    copy_bands(0, all);
    return true;
  }
  const std::int64_t chunks = std::min(all, static_cast<std::int64_t>(parallel.width()) * 4);
  parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    const auto i = static_cast<std::int64_t>(chunk);
    copy_bands(all * i / chunks, all * (i + 1) / chunks);
  });
  return true;
}

}  // namespace

static void copy_call(const KernelCall& call, KernelContext& context) { copy(call.in(0), call.out(), context.parallel); }

void copy(const Operand& source, const Operand& target, Parallel& parallel) {
  const Layout from(source);
  const Layout to(target);
  const auto size = static_cast<std::int64_t>(to.element_size());
  if (to.count() == 0) return;
  const unsigned is_fill = to.count() > 1 && from.is_single() ? 1 : 0;
  if (to.is_dense() && (from.is_dense() || is_fill != 0)) {
    if (to.data() == from.data() && is_fill == 0) return;
    const CopyRows& rows = copy_rows()[static_cast<std::size_t>(std::countr_zero(to.element_size()))];
    const Row row = pays_to_stream(to.count() * size * (is_fill != 0 ? 1 : 2)) ? rows.streaming : rows.plain;
    for_each_range(parallel, to.count(), [&](std::int64_t begin, std::int64_t end) {
      const void* start = from.data() + (is_fill != 0 ? 0 : begin * size);
      row(&start, is_fill, to.data() + begin * size, static_cast<std::size_t>(end - begin));
    });
    return;
  }
  if (to.is_dense()) {
    if (copy_transposed(from, to.data(), parallel)) return;
    for_each_range(parallel, to.count(),
                   [&](std::int64_t begin, std::int64_t end) { from.gather(begin, end - begin, to.data() + begin * size); });
    return;
  }
  for_each_range(parallel, to.count(), [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::array<std::byte, block_elements * 8> block;
    for (std::int64_t at = begin; at < end; at += block_elements) {
      const std::int64_t n = std::min(block_elements, end - at);
      from.gather(at, n, block.data());
      to.scatter(at, n, block.data());
    }
  });
}

[[maybe_unused]] static const bool copy_is_registered = register_host_kernel("_Copy", copy_call) &&
                                                        register_host_kernel("_EagerConst", copy_call) &&
                                                        register_host_kernel("Fill", copy_call);

}  // namespace tutti::kernels
