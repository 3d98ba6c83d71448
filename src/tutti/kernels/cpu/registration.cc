#include <array>

#include "tutti/exec/op_table.h"
#include "tutti/kernels/cpu/kernels.h"

namespace tutti::kernels {

namespace {

struct Entry {
  const char* op;
  Kernel kernel;
};

constexpr std::array entries{
    Entry{"AddV2", add},
    Entry{"Mul", multiply},
    Entry{"Exp", exp},
    Entry{"Relu", relu},
    Entry{"SelectV2", select},
    Entry{"AddN", add_n},
    Entry{"Cast", cast},
    Entry{"_Copy", copy},
    Entry{"_EagerConst", copy},
    Entry{"Fill", copy},
    Entry{"RandomUniform", random_uniform},
    Entry{"Sum", sum},
    Entry{"MatMul", matmul},
    Entry{"CountNonzero", count_nonzero},
    Entry{"NonZero", nonzero},
    Entry{"GatherV2", take},
};

// The simulated GPUs run the same kernels on memory of their own.
[[maybe_unused]] const bool is_registered = [] {
  bool all = true;
  for (const Entry& entry : entries) {
    for (const BackendKind kind : {BackendKind::cpu, BackendKind::sim}) {
      all = register_kernel(entry.op, kind, entry.kernel) && all;
    }
  }
  return all;
}();

}  // namespace

}  // namespace tutti::kernels
