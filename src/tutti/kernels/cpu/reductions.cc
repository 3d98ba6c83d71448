#include <cmath>

#include "tutti/kernels/cpu/reduction.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

// Half precision is worked on in f32, other floats and int64 as they are.
template <class Visit>
void visit_working(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: return visit(float{});
    case DType::f64: return visit(double{});
    default: return visit(std::int64_t{});
  }
}
template <class Visit>
void visit_floats(DType dtype, Visit&& visit) {
  return dtype == DType::f64 ? visit(double{}) : visit(float{});
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
  if (std::isinf(order)) return with_conversions(order > 0 ? extrema.largest_magnitude : extrema.smallest_magnitude, call);
  Reduction<T> op = with_conversions(order == 1 ? sums.magnitudes : order == 2 ? sums.squares : sums.powers, call);
  op.parameter = order;
  if (order == 2) op.finish = finish_euclidean<T>;
  if (order != 1 && order != 2) op.finish = finish_norm<T>;
  return op;
}

template <class Visit>
void visit_bits(DType dtype, Visit&& visit) {
  switch (size_of(dtype)) {
    case 1: return visit(std::uint8_t{}, DType::u8);
    case 2: return visit(std::uint16_t{}, DType::i16);
    case 4: return visit(std::uint32_t{}, DType::i32);
    default: return visit(std::uint64_t{}, DType::i64);
  }
}

void sum(const KernelCall& call, KernelContext& context) {
  visit_working(call.out().dtype, [&]<class T>(T) { reduce(call, context.parallel, with_conversions(sum_rows<T>().sum, call)); });
}

void product(const KernelCall& call, KernelContext& context) {
  visit_working(call.out().dtype,
                [&]<class T>(T) { reduce(call, context.parallel, with_conversions(sum_rows<T>().product, call)); });
}

void mean(const KernelCall& call, KernelContext& context) {
  visit_floats(call.out().dtype, [&]<class T>(T) {
    Reduction<T> op = with_conversions(sum_rows<T>().sum, call);
    op.finish = divide<T>;
    reduce(call, context.parallel, op);
  });
}

// Largest or smallest. Bools are bytes.
template <bool of_largest>
void extremum(const KernelCall& call, KernelContext& context) {
  const auto run = [&]<class T>(T) {
    const ExtremumRows<T>& rows = extremum_rows<T>();
    const ReductionRows<T>& chosen = of_largest ? rows.largest : rows.smallest;
    if (call.in(0).dtype == DType::boolean) return reduce(call, context.parallel, Reduction<T>{chosen});
    reduce(call, context.parallel, with_conversions(chosen, call));
  };
  switch (call.in(0).dtype) {
    case DType::boolean:
    case DType::u8: return run(std::uint8_t{});
    case DType::i8: return run(std::int8_t{});
    case DType::i16: return run(std::int16_t{});
    case DType::i32: return run(std::int32_t{});
    case DType::i64: return run(std::int64_t{});
    case DType::f64: return run(double{});
    default: return run(float{});
  }
}

template <bool of_all>
void truth(const KernelCall& call, KernelContext& context) {
  visit_bits(call.in(0).dtype, [&]<class U>(U, DType as) {
    const TruthRows<U>& rows = truth_rows<U>(is_floating(call.in(0).dtype));
    reduce(call, context.parallel, Reduction<U>{of_all ? rows.all : rows.any, nullptr, conversion(as, DType::boolean)});
  });
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

[[maybe_unused]] const bool is_registered =
    register_host_kernel("Sum", sum) && register_host_kernel("Prod", product) && register_host_kernel("Mean", mean) &&
    register_host_kernel("Max", extremum<true>) && register_host_kernel("Min", extremum<false>) &&
    register_host_kernel("All", truth<true>) && register_host_kernel("Any", truth<false>) &&
    register_host_kernel("CountNonzeroOnAxes", count_nonzero) && register_host_kernel("Var", variance<false>) &&
    register_host_kernel("Std", variance<true>) && register_host_kernel("LogSumExp", log_sum_exp) &&
    register_host_kernel("Norm", norm);

}  // namespace

}  // namespace tutti::kernels
