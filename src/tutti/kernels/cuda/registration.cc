#include <array>

#include "tutti/exec/op_table.h"
#include "tutti/kernels/cuda/kernels.h"

namespace tutti::kernels::cuda {

namespace {

struct Entry {
  const char* op;
  Kernel kernel;
  Workspace workspace = nullptr;
};

constexpr std::array entries{
    Entry{"AddV2", add},
    Entry{"Mul", multiply},
    Entry{"Exp", exp},
    Entry{"Relu", relu},
    Entry{"SelectV2", select},
    Entry{"AddN", add_n, add_n_workspace},
    Entry{"Cast", cast},
    Entry{"_Copy", copy},
    Entry{"_EagerConst", copy},
    Entry{"Fill", copy},
    Entry{"RandomUniform", random_uniform},
    Entry{"Sum", sum, sum_workspace},
    Entry{"MatMul", matmul, matmul_workspace},
    Entry{"CountNonzero", count_nonzero, count_nonzero_workspace},
    Entry{"NonZero", nonzero, nonzero_workspace},
    Entry{"GatherV2", take},
};

[[maybe_unused]] const bool is_registered = [] {
  bool all = true;
  for (const Entry& entry : entries) all = register_kernel(entry.op, BackendKind::cuda, entry.kernel, entry.workspace) && all;
  return all;
}();

}  // namespace

}  // namespace tutti::kernels::cuda
