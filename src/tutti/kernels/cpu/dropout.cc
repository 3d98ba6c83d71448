#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cpu/lines.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/transpose.h"

namespace tutti::kernels {

namespace {

template <class W>
void dropout_as(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<DropoutAttributes>();
  const LineSource<W> x(call.in(0));
  const LineTarget<W> out(call.out());
  const PhiloxRow philox = philox_row();
  const auto scale = static_cast<W>(attributes.scale);
  constexpr std::int64_t grain = serial_elements / 8;  // random words cost more than most ops
  for_each_range(
      context.parallel, call.out().count(),
      [&](std::int64_t begin, std::int64_t end) {
        LineRoom<W> room;
        alignas(64) std::array<std::uint32_t, line_chunk> words;
        for (std::int64_t at = begin; at < end;
             at += line_chunk) {  // ranges begin at whole chunks, and so at whole Philox blocks
          const std::int64_t n = std::min(line_chunk, end - at);
          philox(attributes.key, attributes.counter + static_cast<std::uint64_t>(at / 4), static_cast<std::size_t>((n + 3) / 4),
                 words.data());
          const W* from = x.read(at, n, room);
          W* to = out.room(at, room);
          for (std::int64_t i = 0; i < n; ++i)
            to[i] = words[static_cast<std::size_t>(i)] < attributes.dropped ? 0 : from[i] * scale;
          out.write(at, to, static_cast<std::size_t>(n));
        }
      },
      grain);
}

// A tile at a time: its words are drawn down the columns and turned.
template <class W>
void dropout_of_matrices(const KernelCall& call, KernelContext& context) {
  constexpr std::int64_t side = 64;
  const auto attributes = call.attributes->as<DropoutAttributes>();
  const LineSource<W> x(call.in(0));
  const LineTarget<W> out(call.out());
  const PhiloxRow philox = philox_row();
  const auto scale = static_cast<W>(attributes.scale);
  const std::int64_t rows = attributes.rows;
  const std::int64_t columns = attributes.columns;
  const auto tile = [&](std::int64_t matrix, std::int64_t row, std::int64_t column) {
    LineRoom<W> room;
    alignas(64) std::array<std::uint32_t, side * side> drawn;
    alignas(64) std::array<std::uint32_t, side * side> words;
    const std::int64_t height = std::min(side, rows - row);
    const std::int64_t width = std::min(side, columns - column);
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t first = (matrix * columns + column + c) * rows + row;
      philox(attributes.key, attributes.counter + static_cast<std::uint64_t>(first / 4), static_cast<std::size_t>(height / 4),
             drawn.data() + c * side);
    }
    transpose(drawn.data(), side, words.data(), width, 0, height);
    for (std::int64_t r = 0; r < height; ++r) {
      const std::int64_t at = (matrix * rows + row + r) * columns + column;
      const std::uint32_t* word = words.data() + r * width;
      const W* from = x.read(at, width, room);
      W* to = out.room(at, room);
      for (std::int64_t c = 0; c < width; ++c) to[c] = word[c] < attributes.dropped ? 0 : from[c] * scale;
      out.write(at, to, static_cast<std::size_t>(width));
    }
  };
  const std::int64_t count = call.out().count();
  const std::int64_t bands = (rows + side - 1) / side;
  const std::int64_t all_bands = count / (rows * columns) * bands;
  const std::int64_t chunks =
      std::clamp<std::int64_t>(count / (serial_elements / 8), 1,
                               std::min(all_bands, std::int64_t{8} * static_cast<std::int64_t>(context.parallel.width())));
  context.parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    const auto number = static_cast<std::int64_t>(chunk);
    for (std::int64_t band = all_bands * number / chunks; band < all_bands * (number + 1) / chunks; ++band) {
      for (std::int64_t column = 0; column < columns; column += side) tile(band / bands, band % bands * side, column);
    }
  });
}

template <class W>
void run_dropout(const KernelCall& call, KernelContext& context) {
  if (call.out().count() == 0) return;
  if (call.attributes->as<DropoutAttributes>().rows > 1) return dropout_of_matrices<W>(call, context);
  dropout_as<W>(call, context);
}

}  // namespace

static void dropout(const KernelCall& call, KernelContext& context) {
  if (call.in(0).dtype == DType::f64) return run_dropout<double>(call, context);
  run_dropout<float>(call, context);
}

[[maybe_unused]] static const bool dropout_is_registered = register_host_kernel("Dropout", dropout, floating_dtypes);

}  // namespace tutti::kernels
