#include "tutti/kernels/cpu/bf16_product.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "tutti/kernels/cpu/instruction_set.h"
#include "tutti/kernels/cpu/kernels.h"
#include "tutti/kernels/cpu/strided.h"

namespace tutti::kernels {

namespace {

// A tile of the result, kept in registers: 12 rows of two vectors.
constexpr std::int64_t tile_rows = 12;
constexpr std::int64_t tile_columns = 32;
// Panels: one of a and one of b lie in the second-level cache together, a tile's columns of b in the first.
constexpr std::int64_t tile_rows_limit = 480;
constexpr std::int64_t tile_columns_limit = 512;
constexpr std::int64_t tile_depth_limit = 256;

std::int64_t rounded_up(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }

// c += a b. Elements stand in pairs along the depth: row r of a has its pairs side by side, b has a pair of each column in turn.
[[gnu::target("avx512f,avx512bw,avx512bf16")]] void multiply_tile(std::int64_t pairs, const std::uint16_t* a, std::int64_t a_step,
                                                                  const std::uint16_t* b, float* c, std::int64_t c_step) {
  __m512 left[tile_rows];
  __m512 right[tile_rows];
  for (std::int64_t r = 0; r < tile_rows; ++r) {
    left[r] = _mm512_loadu_ps(c + r * c_step);
    right[r] = _mm512_loadu_ps(c + r * c_step + tile_columns / 2);
  }
  for (std::int64_t pair = 0; pair < pairs; ++pair, a += 2, b += 2 * tile_columns) {
    const auto b0 = (__m512bh)_mm512_loadu_si512(b);
    const auto b1 = (__m512bh)_mm512_loadu_si512(b + tile_columns);
    for (std::int64_t r = 0; r < tile_rows; ++r) {
      std::int32_t factors = 0;
      std::memcpy(&factors, a + r * a_step, sizeof factors);
      const auto factor = (__m512bh)_mm512_set1_epi32(factors);
      left[r] = _mm512_dpbf16_ps(left[r], factor, b0);
      right[r] = _mm512_dpbf16_ps(right[r], factor, b1);
    }
  }
  for (std::int64_t r = 0; r < tile_rows; ++r) {
    _mm512_storeu_ps(c + r * c_step, left[r]);
    _mm512_storeu_ps(c + r * c_step + tile_columns / 2, right[r]);
  }
}

Operand part(const Operand& matrix, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  Operand out = matrix;
  const auto size = static_cast<std::int64_t>(size_of(matrix.dtype));
  out.data += (row * matrix.axes[0].stride + column * matrix.axes[1].stride) * size;
  out.axes[0].size = rows;
  out.axes[1].size = columns;
  return out;
}

// Rows of `step` elements.
void pack_rows(const Operand& from, std::uint16_t* to, std::int64_t step) {
  Serial alone;
  Operand dense = from;
  dense.data = reinterpret_cast<std::byte*>(to);
  dense.axes[0].stride = step;
  dense.axes[1].stride = 1;
  copy(from, dense, alone);
}

// Two rows at a time become pairs, tile_columns of them side by side and then the next two rows; what is missing at the edges is
// zero.
void pack_pairs(const Operand& from, std::uint16_t* rows, std::uint16_t* to) {
  const std::int64_t depth = from.axes[0].size;
  const std::int64_t columns = from.axes[1].size;
  const std::int64_t depth_in_pairs = rounded_up(depth, 2);
  pack_rows(from, rows, columns);
  if (depth % 2 != 0) std::fill_n(rows + depth * columns, columns, std::uint16_t{0});
  for (std::int64_t first = 0; first < columns; first += tile_columns) {
    const std::int64_t n = std::min(tile_columns, columns - first);
    for (std::int64_t k = 0; k < depth_in_pairs; k += 2, to += 2 * tile_columns) {
      const std::uint16_t* const upper = rows + k * columns + first;
      const std::uint16_t* const lower = upper + columns;
      for (std::int64_t i = 0; i < n; ++i) {
        to[2 * i] = upper[i];
        to[2 * i + 1] = lower[i];
      }
      std::fill(to + 2 * n, to + 2 * tile_columns, std::uint16_t{0});
    }
  }
}

bool has_instructions() {
  static const bool has_them = __builtin_cpu_supports("avx512bf16") != 0 && instruction_set() == "AVX3";
  return has_them;
}

}  // namespace

bool multiply_bf16(const Operand& a, const Operand& b, const Operand& c) {
  const std::int64_t m = c.axes[0].size;
  const std::int64_t n = c.axes[1].size;
  const std::int64_t k = a.axes[1].size;
  if (m < tile_rows || n < tile_columns || k < 2 || !has_instructions()) return false;
  const std::int64_t rows = rounded_up(
      (m + (m + tile_rows_limit - 1) / tile_rows_limit - 1) / ((m + tile_rows_limit - 1) / tile_rows_limit), tile_rows);
  const std::int64_t columns = rounded_up(std::min(n, tile_columns_limit), tile_columns);
  const std::int64_t depth = rounded_up(std::min(k, tile_depth_limit), 2);
  const auto halves = std::make_unique_for_overwrite<std::uint16_t[]>(static_cast<std::size_t>((rows + 2 * columns) * depth));
  const auto sums = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(rows * columns));
  std::uint16_t* const left = halves.get();
  std::uint16_t* const right = left + rows * depth;
  std::uint16_t* const as_rows = right + columns * depth;
  Scratch scratch;
  for (std::int64_t i = 0; i < m; i += rows) {
    const std::int64_t some_rows = std::min(rows, m - i);
    for (std::int64_t j = 0; j < n; j += columns) {
      const std::int64_t some_columns = std::min(columns, n - j);
      std::fill_n(sums.get(), rows * columns, 0.0F);
      for (std::int64_t l = 0; l < k; l += depth) {
        const std::int64_t some_depth = std::min(depth, k - l);
        const std::int64_t step = rounded_up(some_depth, 2);
        if (step != some_depth || some_rows != rows) std::fill_n(left, rows * step, std::uint16_t{0});
        pack_rows(part(a, i, some_rows, l, some_depth), left, step);
        pack_pairs(part(b, l, some_depth, j, some_columns), as_rows, right);
        for (std::int64_t column = 0; column < some_columns; column += tile_columns) {
          for (std::int64_t row = 0; row < some_rows; row += tile_rows) {
            multiply_tile(step / 2, left + row * step, step, right + column * step, sums.get() + row * columns + column, columns);
          }
        }
      }
      const Writer writer(part(c, i, some_rows, j, some_columns), DType::f32);
      for (std::int64_t row = 0; row < some_rows; ++row) {
        writer.write(row * some_columns, some_columns, reinterpret_cast<const std::byte*>(sums.get() + row * columns), scratch);
      }
    }
  }
  return true;
}

}  // namespace tutti::kernels

#else

namespace tutti::kernels {
bool multiply_bf16(const Operand&, const Operand&, const Operand&) { return false; }
}  // namespace tutti::kernels

#endif
