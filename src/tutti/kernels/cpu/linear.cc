// A layer of a network: a product of matrices and a row that is added to each of its rows, and the gradients of both factors.
#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <utility>

#include "tutti/exec/attributes.h"
#include "tutti/kernels/cpu/arithmetic.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/products.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

ElementwiseByDType by_dtype(Row (*row)(DType dtype)) {
  std::array<Row, dtype_count> rows{};
  for (const DType dtype : {DType::f32, DType::f64}) rows[static_cast<std::size_t>(dtype)] = row(dtype);
  return elementwise_by_dtype(rows);
}

// In place, on rows that the product has just left in the cache.
void finish_rows(const KernelCall& call, KernelContext& context) {
  static const ElementwiseByDType sums = by_dtype(add_row);
  static const ElementwiseByDType rectified = by_dtype(relu_row);
  const Operand& out = call.out();
  Operand bias = call.in(2);
  bias.rank = 2;
  bias.axes[1] = bias.axes[0];
  bias.axes[0] = {out.axes[0].size, 0};
  const std::array<Operand, 4> operands{out, bias, out, out};
  run_elementwise({call.op, call.site, 2, 1, operands.data(), call.attributes}, context, sums);
  if (!call.attributes->as<LinearAttributes>().relu) return;
  run_elementwise({call.op, call.site, 1, 1, operands.data() + 2, call.attributes}, context, rectified);
}

// Half precision is rounded once: the product is kept wider.
template <class T>
void linear_of_halves(const KernelCall& call, KernelContext& context) {
  const Operand& out = call.out();
  const auto room = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(out.count()));
  Operand wide = out;
  wide.dtype = DType::f32;
  wide.data = reinterpret_cast<std::byte*>(room.get());
  multiply(call.in(0), call.in(1), wide, context.parallel);
  const Operand& bias = call.in(2);
  const std::int64_t columns = out.axes[1].size;
  const bool relu = call.attributes->as<LinearAttributes>().relu;
  for_each_range(context.parallel, out.count(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float sum = room[static_cast<std::size_t>(i)] + static_cast<float>(bias.as<T>()[i % columns * bias.axes[0].stride]);
      out.as<T>()[i] = T(relu && sum < 0 ? 0.0F : sum);
    }
  });
}

void linear(const KernelCall& call, KernelContext& context) {
  const DType dtype = call.out().dtype;
  if (dtype == DType::f16) return linear_of_halves<f16>(call, context);
  if (dtype == DType::bf16) return linear_of_halves<bf16>(call, context);
  multiply(call.in(0), call.in(1), call.out(), context.parallel);
  finish_rows(call, context);
}

// Columns are added up row by row, wider than they are, a few of them at a time.
template <class T>
void sum_columns(const Operand& from, const Operand& to, Parallel& parallel) {
  using Wide = std::conditional_t<sizeof(T) == 2, float, double>;
  constexpr std::int64_t at_once = 256;
  const std::int64_t rows = from.axes[0].size;
  const std::int64_t columns = from.axes[1].size;
  for_each_range(parallel, columns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += at_once) {
      const std::int64_t some = std::min(at_once, end - first);
      std::array<Wide, at_once> totals{};
      for (std::int64_t row = 0; row < rows; ++row) {
        const T* const line = from.as<T>() + row * from.axes[0].stride + first * from.axes[1].stride;
        for (std::int64_t i = 0; i < some; ++i)
          totals[static_cast<std::size_t>(i)] += static_cast<Wide>(line[i * from.axes[1].stride]);
      }
      for (std::int64_t i = 0; i < some; ++i) to.as<T>()[first + i] = static_cast<T>(totals[static_cast<std::size_t>(i)]);
    }
  });
}

void linear_gradient(const KernelCall& call, KernelContext& context) {
  Operand transposed = call.in(0);
  std::swap(transposed.axes[0], transposed.axes[1]);
  multiply(transposed, call.in(1), call.out(0), context.parallel);
  visit_dtype<floating_dtypes>(call.in(1).dtype, [&]<class T>(T) { sum_columns<T>(call.in(1), call.out(1), context.parallel); });
}

}  // namespace

[[maybe_unused]] static const bool linear_is_registered =
    register_host_kernel("FusedMatMul", linear, floating_dtypes) &&
    register_host_kernel("FusedMatMulGrad", linear_gradient, floating_dtypes);

}  // namespace tutti::kernels
