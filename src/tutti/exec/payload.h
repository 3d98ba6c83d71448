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

// What the program called, for errors.
const char* function_of(const KernelCall& call) noexcept;

// Runs packed calls: checks the inputs' failures, runs the kernel, spoils the outputs if it fails. Its source is a CallSource.
extern const WorkKind packed_call_kind;

// The same for a call that is not packed, by the calling thread. `fault`: it is to fail so. Returns the failure, if any.
FailureRef run_call(const KernelCall& call, std::size_t operand_count, Kernel kernel, KernelContext& context,
                    const std::string& device, const FailureRef& fault = nullptr) noexcept;
// The kernel alone, for hardware that works by itself; then what the outputs hold when it is done, and returns what is to be
// reported; or the call did not run.
FailureRef issue_call(const KernelCall& call, Kernel kernel, KernelContext& context, const std::string& device) noexcept;
FailureRef settle_call(const KernelCall& call, std::size_t operand_count, const FailureRef& own) noexcept;
void abandon_call(const KernelCall& call, std::size_t operand_count, const FailureRef& why) noexcept;

}  // namespace tutti
