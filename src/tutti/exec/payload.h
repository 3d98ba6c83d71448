// A kernel call packed into the bytes a stream carries: only the axes and attributes that are there.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "tutti/exec/kernel.h"
#include "tutti/hal/device_stream.h"

namespace tutti {

// Packs into the given bytes or, if they are too few, into a heap block that the last reader frees.
class PackedCall {
 public:
  PackedCall(const KernelCall& call, std::size_t operand_count, Kernel kernel);

  [[nodiscard]] const void* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::size_t size_ = 0;
  alignas(16) std::array<std::byte, DeviceStream::most_payload_bytes> bytes_;
};

// Runs packed calls: checks the inputs' failures, runs the kernel, spoils the outputs if it fails.
extern const WorkKind packed_call_kind;

// The same for a call that is not packed, by the calling thread. Returns the failure, if any.
FailureRef run_call(const KernelCall& call, std::size_t operand_count, Kernel kernel, KernelContext& context,
                    const std::string& device) noexcept;

}  // namespace tutti
