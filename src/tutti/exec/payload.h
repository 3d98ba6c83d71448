// A kernel call as a piece of work: packed into the bytes a stream carries, with only the axes and attributes that are there.
#pragma once

#include <cstddef>
#include <string>

#include "tutti/exec/kernel.h"
#include "tutti/hal/device_stream.h"

namespace tutti {

// What a packed call is made from.
struct CallSource {
  const KernelCall& call;
  std::size_t operand_count;  // inputs, outputs and, if there is one, the scratch
  Kernel kernel;
};

// Runs packed calls: checks the inputs' failures, runs the kernel, spoils the outputs if it fails. Its source is a CallSource.
extern const WorkKind packed_call_kind;

// The same for a call that is not packed, by the calling thread. Returns the failure, if any.
FailureRef run_call(const KernelCall& call, std::size_t operand_count, Kernel kernel, KernelContext& context,
                    const std::string& device) noexcept;

}  // namespace tutti
