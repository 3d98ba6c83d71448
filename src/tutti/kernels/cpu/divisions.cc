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

// Of integers that a double holds: their quotient as doubles, rounded down, is exact. The compiler makes vectors of the loop.
template <bool gives_rest, class T, class A, class B>
HWY_INLINE void divide_in_double(A a, B b, T* output, std::size_t count) {
  constexpr double to_integer = 0x1.8p52;  // adding it leaves an integer in the low bits
  std::uint32_t zeros = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const T divisor = b(i);
    zeros |= divisor == 0 ? 1U : 0U;
    const double quotient = std::floor(static_cast<double>(a(i)) / (divisor == 0 ? 1.0 : static_cast<double>(divisor)));
    const auto low = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(quotient + to_integer));
    const auto rest = static_cast<std::uint32_t>(a(i)) - low * static_cast<std::uint32_t>(divisor);
    output[i] = static_cast<T>(gives_rest ? rest : low);
  }
  if (zeros != 0) throw Fault{};
}

template <bool gives_rest, class T>
void small_integer_row(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  const auto* a = static_cast<const T*>(inputs[0]);
  const auto* b = static_cast<const T*>(inputs[1]);
  auto* output = static_cast<T*>(out);
  const auto each_a = [a](std::size_t i) HWY_ATTR { return a[i]; };
  const auto each_b = [b](std::size_t i) HWY_ATTR { return b[i]; };
  const auto one_a = [x = *a](std::size_t) HWY_ATTR { return x; };
  const auto one_b = [x = *b](std::size_t) HWY_ATTR { return x; };
  switch (singles & 3U) {
    case 0: return divide_in_double<gives_rest>(each_a, each_b, output, count);
    case 1: return divide_in_double<gives_rest>(one_a, each_b, output, count);
    case 2: return divide_in_double<gives_rest>(each_a, one_b, output, count);
    default: return divide_in_double<gives_rest>(one_a, one_b, output, count);
  }
}

auto make_divisions() {
  auto rows = rows_of(Divisions{});
  const auto set = [&]<class T>(T) {
    rows[0][static_cast<std::size_t>(dtype_of<T>)] = small_integer_row<false, T>;
    rows[1][static_cast<std::size_t>(dtype_of<T>)] = small_integer_row<true, T>;
  };
  static_assert(std::is_same_v<Divisions, ScalarOps<2, FloorDivide, Remainder, Power>>);
  set(std::uint8_t{});
  set(std::int8_t{});
  set(std::int16_t{});
  set(std::int32_t{});
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
  static const std::array<Elementwise, dtype_count> table = [] {
    std::array<Row, dtype_count> rows = FamilyRows<scalar::Divisions>(HWY_DYNAMIC_DISPATCH(make_divisions)())[number];
    const auto set = [&]<class T>(T) {
      Row& row = rows[static_cast<std::size_t>(dtype_of<T>)];
      if (row == nullptr) row = integer_row<Function, T>;
    };
    set(std::uint8_t{});
    set(std::int8_t{});
    set(std::int16_t{});
    set(std::int32_t{});
    set(std::int64_t{});
    return elementwise_by_dtype(rows);
  }();
  try {
    run_elementwise(call, context, table[static_cast<std::size_t>(call.in(0).dtype)]);
  } catch (const Fault&) {
    throw KernelFailed(Function::fault, call.site);
  }
}

template <class... F, std::size_t... number>
bool register_divisions(ScalarOps<2, F...>, std::index_sequence<number...>) {
  return (register_host_kernel(F::op.name, divide<F, number>, F::op.takes) && ...);
}

[[maybe_unused]] const bool divisions_registered =
    register_divisions(scalar::Divisions{}, std::make_index_sequence<scalar::Divisions::size>{});

}  // namespace

}  // namespace tutti::kernels
#endif
