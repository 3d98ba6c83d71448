// How a family of element-wise ops enters the op table: a kernel each, over rows that were compiled per instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "tutti/exec/op_table.h"
#include "tutti/exec/scalar_ops.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

// One row per op of the family and dtype; null where the op does not take the dtype, or works on halves as blocks of f32.
template <class Family>
using FamilyRows = std::array<std::array<Row, dtype_count>, Family::size>;

// Which op of the family and where its rows come from are known when it is compiled: `make` is called once.
template <class Family, auto make, std::size_t number, bool gives_bool>
void run_family_op(const KernelCall& call, KernelContext& context) {
  static const std::array<Elementwise, dtype_count> table = [] {
    const FamilyRows<Family> rows = make();
    return elementwise_by_dtype(rows[number], gives_bool);
  }();
  const DType dtype = call.in(0).dtype;
  const Elementwise& op = table[static_cast<std::size_t>(dtype)];
  if (op.row == nullptr) refuse_dtype(call.op->name.c_str(), dtype, call.site);
  run_elementwise(call, context, op);
}

template <class Family, auto make>
bool register_family() {
  return []<int inputs, class... F, std::size_t... number>(ScalarOps<inputs, F...>, std::index_sequence<number...>) {
    return (register_host_kernel(F::op.name, run_family_op<Family, make, number, F::op.gives_bool>, F::op.takes) && ...);
  }(Family{}, std::make_index_sequence<Family::size>{});
}

}  // namespace tutti::kernels
