// The vectorised inner loops: each works on elements that are contiguous, in the best instruction set of the machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "tutti/tensor/dtype_set.h"

namespace tutti::kernels {

// output[i] = f(inputs[0][i], inputs[1][i], ...). Bit k of `singles` says that input k is one element that stands for all.
// The output may be one of the inputs.
using Row = void (*)(const void* const* inputs, unsigned singles, void* output, std::size_t count);

struct CopyRows {
  // Not memcpy, which on some processors takes ten times as long where the target lies a few bytes behind the source modulo 4096.
  Row plain = nullptr;
  Row streaming = nullptr;  // writes past the caches: for outputs larger than they are
  Row reversed = nullptr;   // output[i] = input[-i]
  // output[r * step + c] = lines[c][r], for a square with sides of line_bytes.
  void (*transposed)(const void* const* lines, void* output, std::ptrdiff_t step) = nullptr;
};
inline constexpr std::int64_t line_bytes = 64;

// By element size: 1, 2, 4, 8 bytes at index 0 to 3. A single input fills the output.
const std::array<CopyRows, 4>& copy_rows();
// The row that takes elements `step` apart; null where there is none.
Row copy_row(std::size_t element_size, std::int64_t step);

// What elements are worked on as by loops that are compiled for four dtypes only.
constexpr DType working_dtype(DType dtype) noexcept {
  switch (dtype) {
    case DType::boolean:
    case DType::u8:
    case DType::i8:
    case DType::i16:
    case DType::i32: return DType::i32;
    case DType::i64: return DType::i64;
    case DType::f16:
    case DType::bf16:
    case DType::f32: return DType::f32;
    case DType::f64: return DType::f64;
  }
  return dtype;
}
inline constexpr DTypes working_dtypes{DType::i32, DType::i64, DType::f32, DType::f64};

// [from][to]. Half precision only to and from f32, and to bool. Float to integer truncates; what does not fit becomes the nearest
// integer that does, NaN becomes 0. Integer to a smaller integer wraps. Anything but 0 is true.
using ConversionRows = std::array<std::array<Row, dtype_count>, dtype_count>;
const ConversionRows& conversion_rows();
// To f32 with an inexact result made odd, so that rounding it again to half precision rounds as if once. From i32, i64, f64.
Row sticky_row(DType from);
// To i64: 1 where the element is not zero, else 0.
Row count_row(DType from);

struct ProductRows {
  // c (m x n, row stride ldc) += a (m x k) times b (k x n, row stride ldb), modulo 2^32 and 2^64. Row-major order.
  void (*multiply32)(std::size_t m, std::size_t n, std::size_t k, const std::uint32_t* a, const std::uint32_t* b,
                     std::uint32_t* c);
  void (*multiply64)(std::size_t m, std::size_t n, std::size_t k, const std::uint64_t* a, const std::uint64_t* b,
                     std::uint64_t* c);
};
const ProductRows& product_rows();

// The sum of a[i] * b[i]; integers modulo 2^32 and 2^64.
template <class T, class W>
using DotRow = W (*)(const T* a, const T* b, std::size_t count);
using DotRows = std::tuple<DotRow<float, float>, DotRow<double, double>, DotRow<bf16, float>, DotRow<std::int32_t, std::int32_t>,
                           DotRow<std::int64_t, std::int64_t>>;
const DotRows& dot_rows();

// Philox4x32-10: `words` receives the four words of block first, then those of block first + 1, and so on.
using PhiloxRow = void (*)(std::uint64_t key, std::uint64_t first, std::size_t blocks, std::uint32_t* words);
PhiloxRow philox_row();

}  // namespace tutti::kernels
