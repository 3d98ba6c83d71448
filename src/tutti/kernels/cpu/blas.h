// The matrix products of the linked BLAS, in row-major order.
#pragma once

#include <cstdint>
#include <string_view>

namespace tutti::kernels {

// A matrix as BLAS takes it: stored by rows, or by columns (then `by_columns`), `lead` elements from one to the next.
template <class T>
struct BlasMatrix {
  T* data;
  std::int32_t lead;
  bool by_columns;
};

// c = a b + beta c, with a m x k, b k x n, c m x n by rows; on the calling thread. m, n and k are not 0.
template <class T>
void blas_multiply(std::int32_t m, std::int32_t n, std::int32_t k, const BlasMatrix<const T>& a, const BlasMatrix<const T>& b,
                   T beta, const BlasMatrix<T>& c);

// y = a x with a m x k; strides in elements, positive.
template <class T>
void blas_multiply_vector(std::int32_t m, std::int32_t k, const BlasMatrix<const T>& a, const T* x, std::int32_t x_stride, T* y,
                          std::int32_t y_stride);

// Whose kernels it has taken: "Haswell".
std::string_view blas_core_name();

}  // namespace tutti::kernels
