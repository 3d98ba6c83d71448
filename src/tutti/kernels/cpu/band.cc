#include <algorithm>
#include <cstring>

#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cpu/filler.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

static void matrix_band_part(const KernelCall& call, KernelContext& context) {
  const Operand& out = call.out();
  const auto band = call.attributes->as<BandAttributes>();
  const std::int64_t rows = out.axes[out.rank - 2U].size;
  const std::int64_t columns = out.axes[out.rank - 1U].size;
  const std::int64_t low = std::clamp(band.low, -rows, columns);
  const std::int64_t high = std::clamp(band.high, -rows, columns);
  const std::int64_t count = out.count();
  if (count == 0) return;
  const Layout from(call.in(0));
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  const auto clear = [size](std::byte* to, std::int64_t n) { std::memset(to, 0, static_cast<std::size_t>(n * size)); };
  for_each_lines(context.parallel, count / columns, count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const std::int64_t row = line % rows;
      const std::int64_t first = std::clamp<std::int64_t>(row + low, 0, columns);
      const std::int64_t last = std::clamp(row + high + 1, first, columns);
      std::byte* to = out.data + line * columns * size;
      clear(to, first);
      if (last > first) from.gather(line * columns + first, last - first, to + first * size);
      clear(to + last * size, columns - last);
    }
  });
}

[[maybe_unused]] static const bool band_is_registered = register_host_kernel("MatrixBandPart", matrix_band_part);

}  // namespace tutti::kernels
