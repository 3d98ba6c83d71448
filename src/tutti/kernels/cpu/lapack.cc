#include "tutti/kernels/cpu/lapack.h"

#include <algorithm>
#include <vector>

#include "tutti/base/error.h"

extern "C" {
using tutti::kernels::lapack::Int;
void spotrf_(const char* triangle, const Int* n, float* a, const Int* lead, Int* info);
void dpotrf_(const char* triangle, const Int* n, double* a, const Int* lead, Int* info);
void sgetrf_(const Int* m, const Int* n, float* a, const Int* lead, Int* pivots, Int* info);
void dgetrf_(const Int* m, const Int* n, double* a, const Int* lead, Int* pivots, Int* info);
void sgetrs_(const char* transposed, const Int* n, const Int* columns, const float* a, const Int* lead, const Int* pivots,
             float* b, const Int* b_lead, Int* info);
void dgetrs_(const char* transposed, const Int* n, const Int* columns, const double* a, const Int* lead, const Int* pivots,
             double* b, const Int* b_lead, Int* info);
void sgetri_(const Int* n, float* a, const Int* lead, const Int* pivots, float* work, const Int* room, Int* info);
void dgetri_(const Int* n, double* a, const Int* lead, const Int* pivots, double* work, const Int* room, Int* info);
void sgelqf_(const Int* m, const Int* n, float* a, const Int* lead, float* tau, float* work, const Int* room, Int* info);
void dgelqf_(const Int* m, const Int* n, double* a, const Int* lead, double* tau, double* work, const Int* room, Int* info);
void sorglq_(const Int* m, const Int* n, const Int* k, float* a, const Int* lead, const float* tau, float* work, const Int* room,
             Int* info);
void dorglq_(const Int* m, const Int* n, const Int* k, double* a, const Int* lead, const double* tau, double* work,
             const Int* room, Int* info);
}

namespace tutti::kernels::lapack {

namespace {

// clang-format off
auto potrf(float) { return spotrf_; }
auto potrf(double) { return dpotrf_; }
auto getrf(float) { return sgetrf_; }
auto getrf(double) { return dgetrf_; }
auto getrs(float) { return sgetrs_; }
auto getrs(double) { return dgetrs_; }
auto getri(float) { return sgetri_; }
auto getri(double) { return dgetri_; }
auto gelqf(float) { return sgelqf_; }
auto gelqf(double) { return dgelqf_; }
auto orglq(float) { return sorglq_; }
auto orglq(double) { return dorglq_; }
// clang-format on

// Room for blocks of this many rows: what LAPACK's own tuning asks for at most.
constexpr Int block = 64;

}  // namespace

template <class T>
Int cholesky(T* a, Int n, bool lower) {
  Int info = 0;
  potrf(T{})(lower ? "U" : "L", &n, a, &n, &info);
  return info;
}

template <class T>
Int factor(T* a, Int n, Int* pivots) {
  Int info = 0;
  getrf(T{})(&n, &n, a, &n, pivots, &info);
  return info;
}

template <class T>
void solve(const T* a, Int n, const Int* pivots, T* b, Int columns) {
  Int info = 0;
  getrs(T{})("T", &n, &columns, a, &n, pivots, b, &n, &info);
}

template <class T>
void invert(T* a, Int n, const Int* pivots, T* work) {
  Int info = 0;
  const Int room = n * std::min(block, n);
  getri(T{})(&n, a, &n, pivots, work, &room, &info);
}

template <class T>
void reflect(T* a, Int m, Int n, T* tau) {
  Int info = 0;
  const Int room = n * std::min<Int>(block, m);
  std::vector<T> work(static_cast<std::size_t>(room));
  gelqf(T{})(&n, &m, a, &n, tau, work.data(), &room, &info);
}

template <class T>
void form_q(T* q, Int m, Int columns, Int count, const T* tau) {
  Int info = 0;
  const Int room = columns * std::min<Int>(block, columns);
  std::vector<T> work(static_cast<std::size_t>(room));
  orglq(T{})(&columns, &m, &count, q, &columns, tau, work.data(), &room, &info);
}

template Int cholesky(float*, Int, bool);
template Int cholesky(double*, Int, bool);
template Int factor(float*, Int, Int*);
template Int factor(double*, Int, Int*);
template void solve(const float*, Int, const Int*, float*, Int);
template void solve(const double*, Int, const Int*, double*, Int);
template void invert(float*, Int, const Int*, float*);
template void invert(double*, Int, const Int*, double*);
template void reflect(float*, Int, Int, float*);
template void reflect(double*, Int, Int, double*);
template void form_q(float*, Int, Int, Int, const float*);
template void form_q(double*, Int, Int, Int, const double*);

}  // namespace tutti::kernels::lapack
