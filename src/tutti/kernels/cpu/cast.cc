#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/kernels.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

// Half precision goes through f32, which holds every f16 and bf16. To half precision from a type that f32 does not hold
// exactly, the f32 is made odd first, so that the value is rounded once in effect.
static void cast(const KernelCall& call, KernelContext& context) {
  const DType from = call.in(0).dtype;
  const DType to = call.out().dtype;
  if (from == to) {
    copy(call.in(0), call.out(), context.parallel);
    return;
  }
  const auto row = [](DType a, DType b) { return conversion_rows()[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]; };
  Elementwise op{.row = row(from, to)};
  if (op.row == nullptr && half_dtypes.contains(from)) {
    op = {row(DType::f32, to), conversion(from, DType::f32), nullptr};
  } else if (op.row == nullptr) {
    const Row sticky = sticky_row(from);
    op = {sticky != nullptr ? sticky : row(from, DType::f32), nullptr, conversion(DType::f32, to)};
  }
  run_elementwise(call, context, op);
}

[[maybe_unused]] static const bool cast_is_registered = register_host_kernel("Cast", cast);

}  // namespace tutti::kernels
