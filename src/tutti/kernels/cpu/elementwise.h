// The driver of every element-wise kernel: a way straight to the row for small dense calls, blocks for the rest.
#pragma once

#include "tutti/exec/kernel.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/rows.h"

namespace tutti::kernels {

// Half precision is widened to f32, worked on and narrowed.
struct Elementwise {
  Row row = nullptr;
  Row widen = nullptr;
  Row narrow = nullptr;
};

void run_in_ranges(const KernelCall& call, KernelContext& context, const Elementwise& op);

inline void run_elementwise(const KernelCall& call, KernelContext& context, const Elementwise& op) {
  const Operand& out = call.out();
  const std::int64_t count = out.count();
  if (count < serial_elements && op.widen == nullptr && op.narrow == nullptr && out.is_dense()) {
    std::array<const void*, 3> inputs;
    unsigned singles = 0;
    bool direct = true;
    for (std::size_t i = 0; i < call.inputs; ++i) {
      const Operand& in = call.in(i);
      inputs[i] = in.data;
      if (!in.is_immediate && in.is_dense()) continue;
      direct = direct && in.is_single();
      singles |= 1U << i;
    }
    if (direct) {
      op.row(inputs.data(), singles, out.data, static_cast<std::size_t>(count));
      return;
    }
  }
  if (count > 0) run_in_ranges(call, context, op);
}

// One Elementwise for each dtype from the rows of an op. `gives_bool`: the rows write bools, whatever they read.
std::array<Elementwise, dtype_count> elementwise_by_dtype(const std::array<Row, dtype_count>& rows, bool gives_bool = false);

// Throws: the op was placed here with a dtype its kernel does not have.
[[noreturn]] void refuse_dtype(const char* op, DType dtype, Site site);

}  // namespace tutti::kernels
