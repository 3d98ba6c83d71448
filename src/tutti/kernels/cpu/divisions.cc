// Divisions that give whole numbers, and powers. Of integers they may fail.
#include <bit>
#include <cmath>

#include "tutti/base/error.h"
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/divisions.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

#ifndef TUTTI_KERNELS_CPU_DIVISIONS_FAULT
#define TUTTI_KERNELS_CPU_DIVISIONS_FAULT
namespace tutti::kernels {
namespace {
// Thrown by a row, which does not know the op it works for.
struct Fault {};
}  // namespace
}  // namespace tutti::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// An i32 as a double, of which the quotient rounded down is exact. The compiler makes vectors of the loop.
template <bool gives_rest, class A, class B>
HWY_INLINE void divide_in_double(A a, B b, std::int32_t* output, std::size_t count) {
  constexpr double to_integer = 0x1.8p52;  // adding it leaves an integer in the low bits
  std::uint32_t zeros = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t divisor = b(i);
    zeros |= divisor == 0 ? 1U : 0U;
    const double quotient = std::floor(static_cast<double>(a(i)) / (divisor == 0 ? 1.0 : static_cast<double>(divisor)));
    const auto low = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(quotient + to_integer));
    const auto rest = static_cast<std::uint32_t>(a(i)) - low * static_cast<std::uint32_t>(divisor);
    output[i] = static_cast<std::int32_t>(gives_rest ? rest : low);
  }
  if (zeros != 0) throw Fault{};
}

template <bool gives_rest>
void i32_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  const auto with = [](const void* input, bool is_single, const auto& use) HWY_ATTR {
    const auto* elements = static_cast<const std::int32_t*>(input);
    if (is_single) return use([x = *elements](std::size_t) HWY_ATTR { return x; });
    use([elements](std::size_t i) HWY_ATTR { return elements[i]; });
  };
  with(inputs[0], (singles & 1U) != 0, [&](auto a) HWY_ATTR {
    with(inputs[1], (singles & 2U) != 0,
         [&](auto b) HWY_ATTR { divide_in_double<gives_rest>(a, b, static_cast<std::int32_t*>(out), count); });
  });
}

auto make_divisions() {
  auto rows = rows_of(Divisions{});
  static_assert(std::is_same_v<Divisions, ScalarOps<2, FloorDivide, Remainder, Power>>);
  rows[0][static_cast<std::size_t>(DType::i32)] = i32_row<false>;
  rows[1][static_cast<std::size_t>(DType::i32)] = i32_row<true>;
  return rows;
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_divisions);

namespace {

template <class Function, class T>
void integer_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  const auto* a = static_cast<const T*>(inputs[0]);
  const auto* b = static_cast<const T*>(inputs[1]);
  const std::size_t a_step = (singles & 1U) != 0 ? 0 : 1;
  const std::size_t b_step = (singles & 2U) != 0 ? 0 : 1;
  auto* output = static_cast<T*>(out);
  bool fails = false;
  for (std::size_t i = 0; i < count; ++i) output[i] = Function::of_integers(a[i * a_step], b[i * b_step], fails);
  if (fails) throw Fault{};
}

template <class Function, std::size_t number>
void divide(const KernelCall& call, KernelContext& context) {
  static const ElementwiseByDType table = [] {
    std::array<Row, dtype_count> rows = HWY_DYNAMIC_DISPATCH(make_divisions)()[number];
    if (Row& row = rows[static_cast<std::size_t>(DType::i32)]; row == nullptr) row = integer_row<Function, std::int32_t>;
    rows[static_cast<std::size_t>(DType::i64)] = integer_row<Function, std::int64_t>;
    return elementwise_by_dtype(rows);
  }();
  try {
    run_elementwise(call, context, table);
  } catch (const Fault&) {
    throw KernelFailed(Function::fault, call.site);
  }
}

template <class... F, std::size_t... number>
bool register_divisions(ScalarOps<2, F...>, std::index_sequence<number...>) {
  return (register_host_kernel(F::op.name, divide<F, number>, F::op.takes) && ...);
}

[[maybe_unused]] const bool divisions_registered =
    register_divisions(HWY_NAMESPACE::Divisions{}, std::make_index_sequence<HWY_NAMESPACE::Divisions::size>{});

}  // namespace

}  // namespace tutti::kernels
#endif
