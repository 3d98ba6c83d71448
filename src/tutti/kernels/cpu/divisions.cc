// Divisions that give whole numbers, and powers. Of integers they may fail.
#include "tutti/base/error.h"
#include "tutti/kernels/cpu/family.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/divisions.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {
auto make_divisions() { return rows_of(Divisions{}); }
}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_divisions);

namespace {

// Thrown by a row, which does not know the op it works for.
struct Fault {};

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
    const auto set = [&]<class T>(T) { rows[static_cast<std::size_t>(dtype_of<T>)] = integer_row<Function, T>; };
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
