#include "tutti/kernels/cpu/blas.h"

// The Fortran interface, the one part of BLAS that no header has to be installed for. Matrices are stored by columns.
extern "C" {
void sgemm_(const char* transpose_a, const char* transpose_b, const std::int32_t* m, const std::int32_t* n, const std::int32_t* k,
            const float* alpha, const float* a, const std::int32_t* lda, const float* b, const std::int32_t* ldb,
            const float* beta, float* c, const std::int32_t* ldc);
void dgemm_(const char* transpose_a, const char* transpose_b, const std::int32_t* m, const std::int32_t* n, const std::int32_t* k,
            const double* alpha, const double* a, const std::int32_t* lda, const double* b, const std::int32_t* ldb,
            const double* beta, double* c, const std::int32_t* ldc);
void sgemv_(const char* transpose, const std::int32_t* m, const std::int32_t* n, const float* alpha, const float* a,
            const std::int32_t* lda, const float* x, const std::int32_t* incx, const float* beta, float* y,
            const std::int32_t* incy);
void dgemv_(const char* transpose, const std::int32_t* m, const std::int32_t* n, const double* alpha, const double* a,
            const std::int32_t* lda, const double* x, const std::int32_t* incx, const double* beta, double* y,
            const std::int32_t* incy);
}

namespace tutti::kernels {

namespace {
constexpr auto gemm(float) { return sgemm_; }
constexpr auto gemm(double) { return dgemm_; }
constexpr auto gemv(float) { return sgemv_; }
constexpr auto gemv(double) { return dgemv_; }
}  // namespace

// By columns, c = a b by rows reads c' = b' a'; what is stored by rows is there without transposing.
template <class T>
void blas_multiply(std::int32_t m, std::int32_t n, std::int32_t k, const BlasMatrix<const T>& a, const BlasMatrix<const T>& b,
                   T beta, const BlasMatrix<T>& c) {
  const T alpha{1};
  gemm(T{})(b.by_columns ? "T" : "N", a.by_columns ? "T" : "N", &n, &m, &k, &alpha, b.data, &b.lead, a.data, &a.lead, &beta,
            c.data, &c.lead);
}

template <class T>
void blas_multiply_vector(std::int32_t m, std::int32_t k, const BlasMatrix<const T>& a, const T* x, std::int32_t x_stride, T* y,
                          std::int32_t y_stride) {
  const T alpha{1};
  const T beta{0};
  if (a.by_columns) {
    gemv(T{})("N", &m, &k, &alpha, a.data, &a.lead, x, &x_stride, &beta, y, &y_stride);
  } else {
    gemv(T{})("T", &k, &m, &alpha, a.data, &a.lead, x, &x_stride, &beta, y, &y_stride);
  }
}

template void blas_multiply(std::int32_t, std::int32_t, std::int32_t, const BlasMatrix<const float>&,
                            const BlasMatrix<const float>&, float, const BlasMatrix<float>&);
template void blas_multiply(std::int32_t, std::int32_t, std::int32_t, const BlasMatrix<const double>&,
                            const BlasMatrix<const double>&, double, const BlasMatrix<double>&);
template void blas_multiply_vector(std::int32_t, std::int32_t, const BlasMatrix<const float>&, const float*, std::int32_t, float*,
                                   std::int32_t);
template void blas_multiply_vector(std::int32_t, std::int32_t, const BlasMatrix<const double>&, const double*, std::int32_t,
                                   double*, std::int32_t);

}  // namespace tutti::kernels
