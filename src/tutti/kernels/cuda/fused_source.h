// A fused program as source for NVRTC: what each element goes through, written with the scalar functions that kernels built ahead
// have, each step rounded to its dtype as if it had been stored.
#pragma once

#include <cstdint>
#include <string>

#include "tutti/exec/fused_kernel.h"

namespace tutti::kernels::cuda {

inline constexpr unsigned fused_threads = 256;

// One kernel, named "fused": its arguments are the inputs, addresses or numbers, then where results go, and where the reduction
// does.
struct FusedSource {
  std::string text;
  std::int64_t count = 0;              // of elements
  int width = 1;                       // how many of them a thread has at a time
  std::int64_t blocks = 0;             // of fused_threads
  std::vector<std::size_t> alignment;  // of each argument's address; 1: it may lie anywhere
};
FusedSource fused_source(const FusedProgram& program);

// Could it be a step? The inputs, and last the output.
bool is_fusible(const std::string& op, std::span<const Operand> operands);

}  // namespace tutti::kernels::cuda
