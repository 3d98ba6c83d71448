// One matrix after the other, the batch shared out over the cores. Inputs are dense.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/linear_algebra_attributes.h"
#include "tutti/kernels/cpu/lapack.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

using lapack::Int;

struct Matrices {
  std::int64_t count = 1;  // in the batch
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

Matrices matrices_of(const Operand& x, Site site) {
  Matrices out{1, x.axes[x.rank - 2U].size, x.axes[x.rank - 1U].size};
  for (std::size_t i = 0; i + 2 < x.rank; ++i) out.count *= x.axes[i].size;
  // LAPACK counts elements in 32 bits in places, and offsets in the product of two such numbers.
  constexpr std::int64_t most = std::numeric_limits<Int>::max() / 64;
  if (out.rows > most || out.columns > most)
    throw KernelFailed(text("matrices of ", out.rows, " x ", out.columns, " are too large; ", most, " is the most"), site);
  return out;
}

// Calls body(first, last) over the batch; `operations` are those for one matrix.
template <class Body>
void for_each_matrix(Parallel& parallel, std::int64_t count, double operations, const Body& body) {
  constexpr double worth_a_core = 100'000;
  const auto width = static_cast<std::int64_t>(parallel.width());
  const std::int64_t chunks = static_cast<double>(count) * operations < 2 * worth_a_core ? 1 : std::min(count, width * 4);
  if (width == 1 || chunks <= 1) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
  parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    const auto i = static_cast<std::int64_t>(chunk);
    body(count * i / chunks, count * (i + 1) / chunks);
  });
}

double cube(std::int64_t n) { return static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n); }

template <class T>
class ScratchArray {
 public:
  explicit ScratchArray(std::int64_t n) : elements_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(n))) {}
  [[nodiscard]] T* data() const { return elements_.get(); }

 private:
  std::unique_ptr<T[]> elements_;
};

template <class T>
void cholesky_of(const KernelCall& call, Parallel& parallel) {
  const Matrices m = matrices_of(call.in(0), call.site);
  const auto [upper, wants_info] = call.attributes->as<CholeskyAttributes>();
  std::int32_t* const info = wants_info ? call.out(1).as<std::int32_t>() : nullptr;
  const std::int64_t n = m.rows;
  if (n == 0 && wants_info) std::fill_n(info, m.count, 0);
  for_each_matrix(parallel, m.count, cube(n) / 3, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end && n > 0; ++at) {
      const T* x = call.in(0).as<T>() + at * n * n;
      T* out = call.out().as<T>() + at * n * n;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t first = upper ? i : 0;
        const std::int64_t last = upper ? n : i + 1;
        std::fill(out + i * n, out + i * n + first, T{0});
        std::copy(x + i * n + first, x + i * n + last, out + i * n + first);
        std::fill(out + i * n + last, out + (i + 1) * n, T{0});
      }
      Int order = lapack::cholesky(out, static_cast<Int>(n), !upper);
      for (std::int64_t i = 0; order == 0 && i < n; ++i) {  // NaN is not positive, but not all of LAPACK's loops say so
        if (std::isnan(out[i * (n + 1)])) order = static_cast<Int>(i + 1);
      }
      if (order != 0 && !wants_info) throw KernelFailed(not_positive_definite(at, order), call.site);
      if (wants_info) info[at] = order;
      if (order != 0) std::fill_n(out, n * n, std::numeric_limits<T>::quiet_NaN());
    }
  });
}

// A copy of one matrix and its LU.
template <class T>
class Factored {
 public:
  explicit Factored(std::int64_t n) : n_(n), elements_(n * n), pivots_(n) {}
  // False when it is singular.
  bool factor(const T* x) {
    std::copy(x, x + n_ * n_, elements_.data());
    return n_ == 0 || lapack::factor(elements_.data(), static_cast<Int>(n_), pivots_.data()) == 0;
  }
  [[nodiscard]] const T* data() const { return elements_.data(); }
  [[nodiscard]] const Int* pivots() const { return pivots_.data(); }
  [[nodiscard]] T diagonal(std::int64_t i) const { return elements_.data()[i * (n_ + 1)]; }
  // An odd number of rows was exchanged.
  [[nodiscard]] bool is_odd() const {
    bool odd = false;
    for (std::int64_t i = 0; i < n_; ++i) odd ^= pivots_.data()[i] != i + 1;
    return odd;
  }

 private:
  std::int64_t n_;
  ScratchArray<T> elements_;
  ScratchArray<Int> pivots_;
};

template <class T>
void solve_of(const KernelCall& call, Parallel& parallel) {
  const Matrices a = matrices_of(call.in(0), call.site);
  const Matrices b = matrices_of(call.in(1), call.site);
  const std::int64_t n = a.rows;
  const std::int64_t columns = b.columns;
  const double operations =
      cube(n) * 2 / 3 + 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(columns);
  for_each_matrix(parallel, a.count, operations, [&](std::int64_t begin, std::int64_t end) {
    Factored<T> factored(n);
    const ScratchArray<T> by_columns(columns == 1 ? 0 : n * columns);  // by columns, as LAPACK has it
    for (std::int64_t at = begin; at < end; ++at) {
      if (!factored.factor(call.in(0).as<T>() + at * n * n)) throw KernelFailed(singular_matrix(at), call.site);
      if (n == 0 || columns == 0) continue;
      const T* from = call.in(1).as<T>() + at * n * columns;
      T* to = call.out().as<T>() + at * n * columns;
      T* x = columns == 1 ? to : by_columns.data();
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = 0; k < columns; ++k) x[k * n + i] = from[i * columns + k];
      }
      lapack::solve(factored.data(), static_cast<Int>(n), factored.pivots(), x, static_cast<Int>(columns));
      if (columns == 1) continue;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = 0; k < columns; ++k) to[i * columns + k] = x[k * n + i];
      }
    }
  });
}

template <class T>
void inverse_of(const KernelCall& call, Parallel& parallel) {
  const Matrices m = matrices_of(call.in(0), call.site);
  const std::int64_t n = m.rows;
  for_each_matrix(parallel, m.count, 2 * cube(n), [&](std::int64_t begin, std::int64_t end) {
    const ScratchArray<Int> pivots(n);
    const ScratchArray<T> work(n * std::min<std::int64_t>(n, 64));
    for (std::int64_t at = begin; at < end && n > 0; ++at) {
      T* out = call.out().as<T>() + at * n * n;
      const T* x = call.in(0).as<T>() + at * n * n;
      std::copy(x, x + n * n, out);
      if (lapack::factor(out, static_cast<Int>(n), pivots.data()) != 0) throw KernelFailed(singular_matrix(at), call.site);
      lapack::invert(out, static_cast<Int>(n), pivots.data(), work.data());
    }
  });
}

template <class T>
void determinant_of(const KernelCall& call, Parallel& parallel) {
  const Matrices m = matrices_of(call.in(0), call.site);
  const std::int64_t n = m.rows;
  const bool in_logs = call.outputs == 2;
  for_each_matrix(parallel, m.count, cube(n) * 2 / 3, [&](std::int64_t begin, std::int64_t end) {
    Factored<T> factored(n);
    for (std::int64_t at = begin; at < end; ++at) {
      factored.factor(call.in(0).as<T>() + at * n * n);
      T sign = factored.is_odd() ? T{-1} : T{1};
      T product = sign;
      T logarithm = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const T pivot = factored.diagonal(i);
        product *= pivot;
        sign = pivot == 0 ? T{0} : pivot < 0 ? -sign : sign;
        logarithm += std::log(std::abs(pivot));
      }
      if (in_logs) {
        call.out(0).as<T>()[at] = std::isnan(logarithm) ? logarithm : sign;
        call.out(1).as<T>()[at] = logarithm;
      } else {
        call.out().as<T>()[at] = product;
      }
    }
  });
}

template <class T>
void qr_of(const KernelCall& call, Parallel& parallel) {
  const Matrices x = matrices_of(call.in(0), call.site);
  const std::int64_t m = x.rows;
  const std::int64_t n = x.columns;
  const std::int64_t least = std::min(m, n);
  const std::int64_t inner = call.attributes->as<QrAttributes>().is_complete ? m : least;
  const double operations = 4.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(inner);
  for_each_matrix(parallel, x.count, operations, [&](std::int64_t begin, std::int64_t end) {
    const ScratchArray<T> work(m * n);
    const ScratchArray<T> tau(least);
    for (std::int64_t at = begin; at < end; ++at) {
      const T* from = call.in(0).as<T>() + at * m * n;
      T* q = call.out(0).as<T>() + at * m * inner;
      T* r = call.out(1).as<T>() + at * inner * n;
      std::copy(from, from + m * n, work.data());
      if (least > 0) lapack::reflect(work.data(), static_cast<Int>(m), static_cast<Int>(n), tau.data());
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t zeros = std::min(i, n);
        std::fill(r + i * n, r + i * n + zeros, T{0});
        std::copy(work.data() + i * n + zeros, work.data() + (i + 1) * n, r + i * n + zeros);
      }
      for (std::int64_t i = 0; i < m; ++i) {
        std::copy(work.data() + i * n, work.data() + i * n + least, q + i * inner);
        std::fill(q + i * inner + least, q + (i + 1) * inner, T{0});
      }
      if (inner > 0) lapack::form_q(q, static_cast<Int>(m), static_cast<Int>(inner), static_cast<Int>(least), tau.data());
    }
  });
}

template <template <class> class Function>
void by_dtype(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats>(call.in(0).dtype, [&]<class T>(T) { Function<T>::run(call, context.parallel); });
}

// clang-format off
template <class T> struct Cholesky { static constexpr auto run = cholesky_of<T>; };
template <class T> struct Solve { static constexpr auto run = solve_of<T>; };
template <class T> struct Inverse { static constexpr auto run = inverse_of<T>; };
template <class T> struct Determinant { static constexpr auto run = determinant_of<T>; };
template <class T> struct Qr { static constexpr auto run = qr_of<T>; };
// clang-format on

}  // namespace

[[maybe_unused]] static const bool linear_algebra_is_registered =
    register_host_kernel("Cholesky", by_dtype<Cholesky>, wide_floats) &&
    register_host_kernel("MatrixSolve", by_dtype<Solve>, wide_floats) &&
    register_host_kernel("MatrixInverse", by_dtype<Inverse>, wide_floats) &&
    register_host_kernel("MatrixDeterminant", by_dtype<Determinant>, wide_floats) &&
    register_host_kernel("LogMatrixDeterminant", by_dtype<Determinant>, wide_floats) &&
    register_host_kernel("Qr", by_dtype<Qr>, wide_floats);

}  // namespace tutti::kernels
