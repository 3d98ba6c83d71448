// How families of element-wise ops enter the op table: a kernel each, over rows that were compiled per instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include "tutti/exec/scalar_op.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

// Which op of which family and where its rows come from are known when it is compiled: `make` is called once.
template <auto make, std::size_t family, std::size_t number, bool gives_bool>
void run_family_op(const KernelCall& call, KernelContext& context) {
  static const ElementwiseByDType table = elementwise_by_dtype(std::get<family>(make())[number], gives_bool);
  run_elementwise(call, context, table);
}

template <auto make, std::size_t family, int inputs, class... F, std::size_t... number>
bool register_family(ScalarOps<inputs, F...>, std::index_sequence<number...>) {
  return (register_host_kernel(F::op.name, run_family_op<make, family, number, F::op.gives_bool>, F::op.takes) && ...);
}

// `make` gives a tuple: the rows of each family.
template <auto make, class... Families>
bool register_families(std::tuple<Families...>) {
  return []<std::size_t... family>(std::index_sequence<family...>) {
    return (register_family<make, family>(Families{}, std::make_index_sequence<Families::size>{}) && ...);
  }(std::index_sequence_for<Families...>{});
}

}  // namespace tutti::kernels
