#include <cmath>

#include "tutti/kernels/cpu/reduction.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

template <class Visit>
void visit_floats(DType dtype, Visit&& visit) {
  visit_dtype<wide_floats>(working_dtype(dtype), visit);
}
// Sums and products of integers are int64.
template <class Visit>
void visit_sums(DType dtype, Visit&& visit) {
  visit_dtype<wide_floats | DTypes{DType::i64}>(working_dtype(dtype), visit);
}

template <class T>
Reduction<T> with_conversions(const ReductionRows<T>& rows, const KernelCall& call) {
  Reduction<T> op{rows, conversion(call.in(0).dtype, dtype_of<T>), conversion(dtype_of<T>, call.out().dtype)};
  op.takes_bf16 = rows.fold_bf16 != nullptr && call.in(0).dtype == DType::bf16;
  return op;
}

template <class T>
void divide(States<T> states, std::int64_t count, std::int64_t length, double /*parameter*/) {
  const auto n = static_cast<T>(length);
  for (std::int64_t i = 0; i < count; ++i) states.first[i] /= n;
}

template <class T, bool takes_root>
void finish_variance(States<T> states, std::int64_t count, std::int64_t length, double correction) {
  const auto n = static_cast<T>(std::max(static_cast<double>(length) - correction, 0.0));
  const T* squares = states.first + states.step;
  for (std::int64_t i = 0; i < count; ++i) states.first[i] = takes_root ? std::sqrt(squares[i] / n) : squares[i] / n;
}

template <class T>
void finish_log(States<T> states, std::int64_t count, std::int64_t /*length*/, double /*parameter*/) {
  const T* sums = states.first + states.step;
  for (std::int64_t i = 0; i < count; ++i) {
    const T largest = states.first[i];
    states.first[i] = std::log(sums[i]) + (std::isfinite(largest) ? largest : T{0});
  }
}

template <class T>
void finish_euclidean(States<T> states, std::int64_t count, std::int64_t /*length*/, double /*order*/) {
  for (std::int64_t i = 0; i < count; ++i) states.first[i] = std::sqrt(states.first[i]);
}
template <class T>
void finish_norm(States<T> states, std::int64_t count, std::int64_t /*length*/, double order) {
  const T power = T{1} / static_cast<T>(order);
  for (std::int64_t i = 0; i < count; ++i) states.first[i] = std::pow(states.first[i], power);
}

template <class T>
Reduction<T> norm_of_order(double order, const KernelCall& call) {
  const SumRows<T>& sums = sum_rows<T>();
  const ExtremumRows<T>& extrema = extremum_rows<T>();
  const auto of_magnitudes = [&](const ReductionRows<T>& rows) {
    Reduction<T> op = with_conversions(rows, call);
    op.takes_bf16 = false;
    op.parameter = -0.0;
    return op;
  };
  if (std::isinf(order)) return of_magnitudes(order > 0 ? extrema.largest : extrema.smallest);
  if (order == 1) return of_magnitudes(sums.sum);
  Reduction<T> op = with_conversions(order == 2 ? sums.squares : sums.powers, call);
  op.parameter = order;
  if (order == 2) op.finish = finish_euclidean<T>;
  if (order != 2) op.finish = finish_norm<T>;
  return op;
}

void sum(const KernelCall& call, KernelContext& context) {
  visit_sums(call.out().dtype, [&]<class T>(T) { reduce(call, context.parallel, with_conversions(sum_rows<T>().sum, call)); });
}

void product(const KernelCall& call, KernelContext& context) {
  visit_sums(call.out().dtype,
             [&]<class T>(T) { reduce(call, context.parallel, with_conversions(sum_rows<T>().product, call)); });
}

void mean(const KernelCall& call, KernelContext& context) {
  visit_floats(call.out().dtype, [&]<class T>(T) {
    Reduction<T> op = with_conversions(sum_rows<T>().sum, call);
    op.finish = divide<T>;
    reduce(call, context.parallel, op);
  });
}

// Largest or smallest. Bytes as they are, bools too; else as the working dtype.
template <bool of_largest>
void extremum(const KernelCall& call, KernelContext& context) {
  const DType dtype = call.in(0).dtype;
  const auto run = [&]<class T>(T) {
    const ReductionRows<T>& rows = of_largest ? extremum_rows<T>().largest : extremum_rows<T>().smallest;
    reduce(call, context.parallel, sizeof(T) == 1 ? Reduction<T>{rows} : with_conversions(rows, call));
  };
  if (dtype == DType::boolean || dtype == DType::u8) return run(std::uint8_t{});
  visit_dtype<working_dtypes>(working_dtype(dtype), run);
}

// The least of all bools, or the largest. A byte that is not 0 is true.
template <bool of_all>
void truth(const KernelCall& call, KernelContext& context) {
  const DType dtype = call.in(0).dtype;
  const auto& rows = extremum_rows<std::uint8_t>();
  const Row to_bool = size_of(dtype) == 1 ? nullptr : conversion(dtype, DType::boolean);
  reduce(call, context.parallel,
         Reduction<std::uint8_t>{of_all ? rows.smallest : rows.largest, to_bool, conversion(DType::u8, DType::boolean)});
}

void count_nonzero(const KernelCall& call, KernelContext& context) {
  reduce(call, context.parallel, Reduction<std::int64_t>{sum_rows<std::int64_t>().sum, count_row(call.in(0).dtype)});
}

template <bool takes_root>
void variance(const KernelCall& call, KernelContext& context) {
  visit_floats(call.out().dtype, [&]<class T>(T) {
    Reduction<T> op = with_conversions(moment_rows<T>().moments, call);
    op.finish = finish_variance<T, takes_root>;
    op.parameter = call.attributes->as<ReductionAttributes>().parameter;
    reduce(call, context.parallel, op);
  });
}

void log_sum_exp(const KernelCall& call, KernelContext& context) {
  visit_floats(call.out().dtype, [&]<class T>(T) {
    Reduction<T> op = with_conversions(moment_rows<T>().exponentials, call);
    op.finish = finish_log<T>;
    reduce(call, context.parallel, op);
  });
}

void norm(const KernelCall& call, KernelContext& context) {
  const double order = call.attributes->as<ReductionAttributes>().parameter;
  visit_floats(call.out().dtype, [&]<class T>(T) { reduce(call, context.parallel, norm_of_order<T>(order, call)); });
}

[[maybe_unused]] const bool reductions_is_registered =
    register_host_kernel("Sum", sum) && register_host_kernel("Prod", product) && register_host_kernel("Mean", mean) &&
    register_host_kernel("Max", extremum<true>) && register_host_kernel("Min", extremum<false>) &&
    register_host_kernel("All", truth<true>) && register_host_kernel("Any", truth<false>) &&
    register_host_kernel("CountNonzeroOnAxes", count_nonzero) && register_host_kernel("Var", variance<false>) &&
    register_host_kernel("Std", variance<true>) && register_host_kernel("LogSumExp", log_sum_exp) &&
    register_host_kernel("Norm", norm);

}  // namespace

}  // namespace tutti::kernels
