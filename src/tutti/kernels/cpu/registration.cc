// Enters the CPU kernels in the op table, for the CPU and for simulated GPUs, which run the same code on their own memory.
#include <array>

#include "tutti/exec/op_table.h"
#include "tutti/kernels/cpu/kernels.h"

namespace tutti {

namespace {

struct Row {
  const char* op;
  Kernel kernel;
};

constexpr std::array rows{
    Row{"AddV2", kernels::add},
    Row{"Mul", kernels::multiply},
    Row{"Exp", kernels::exp},
    Row{"Relu", kernels::relu},
    Row{"SelectV2", kernels::select},
    Row{"AddN", kernels::add_n},
    Row{"Cast", kernels::cast},
    Row{"_Copy", kernels::copy},
    Row{"_EagerConst", kernels::copy},
    Row{"Fill", kernels::copy},
    Row{"RandomUniform", kernels::random_uniform},
    Row{"Sum", kernels::sum},
    Row{"MatMul", kernels::matmul},
    Row{"CountNonzero", kernels::count_nonzero},
    Row{"NonZero", kernels::nonzero},
    Row{"GatherV2", kernels::take},
};

const bool registered = [] {
  for (const Row& row : rows) {
    register_kernel(row.op, BackendKind::cpu, row.kernel);
    register_kernel(row.op, BackendKind::sim, row.kernel);
  }
  return true;
}();

}  // namespace

}  // namespace tutti
