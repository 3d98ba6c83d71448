// A matrix whose columns are contiguous, transposed in squares of a cache line's length: every line is read and written
// once, as a whole, so strides that are powers of two do no harm.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "tutti/kernels/cpu/rows.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

// to[r * width + c] = from[c * step + r] for a band of rows.
template <class U>
void transpose(const U* from, std::int64_t step, U* to, std::int64_t width, std::int64_t first_row, std::int64_t n_rows) {
  constexpr std::int64_t side = line_bytes / static_cast<std::int64_t>(sizeof(U));
  const auto transposed = copy_rows()[static_cast<std::size_t>(std::countr_zero(sizeof(U)))].transposed;
  std::array<const void*, side> lines;
  for (std::int64_t column = 0; column < width; column += side) {
    const std::int64_t columns = std::min(side, width - column);
    for (std::int64_t row = first_row; row < first_row + n_rows; row += side) {
      const std::int64_t rows = std::min(side, first_row + n_rows - row);
      const U* in = from + column * step + row;
      U* out = to + row * width + column;
      if (rows == side && columns == side) {
        for (std::int64_t c = 0; c < side; ++c) lines[static_cast<std::size_t>(c)] = in + c * step;
        transposed(lines.data(), out, width);
        continue;
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) out[r * width + c] = in[c * step + r];
      }
    }
  }
}

// The same for elements of so many bytes.
inline void transpose(std::size_t size, const std::byte* from, std::int64_t step, std::byte* to, std::int64_t width,
                      std::int64_t first_row, std::int64_t n_rows) {
  visit_size(size, [&]<class U>(U) {
    transpose(reinterpret_cast<const U*>(from), step, reinterpret_cast<U*>(to), width, first_row, n_rows);
  });
}

}  // namespace tutti::kernels
