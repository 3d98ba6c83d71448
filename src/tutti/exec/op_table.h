// The op table: one row per op with its name, inference, declared access and kernels.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/exec/inference.h"
#include "tutti/exec/kernel.h"
#include "tutti/place/runtime.h"

namespace tutti {

// What an op does with an input. Outputs are always written.
enum class Access : std::uint8_t {
  read,
  consume,  // read; the first output may take its memory over when the caller gave it away
  update,   // read and written in place: the cell of a variable
};

using Infer = void (*)(Inference& in);
// Bytes one backend's kernel needs to work in, where inference does not ask for as much already. Sees the inputs as the
// kernel will: on its device.
using Workspace = std::int64_t (*)(const OpCall& call, const Inference& in);

struct OpRow {
  std::string name;
  Infer infer = nullptr;
  std::vector<Access> access;   // per input; the last one stands for all further inputs; empty: read
  bool is_elementwise = false;  // inputs are broadcast to the output's shape before the kernel sees them
  bool is_copy = false;         // moves bytes between devices
  std::array<std::atomic<Kernel>, backend_kinds> kernels{};
  std::array<std::atomic<Workspace>, backend_kinds> workspaces{};
  std::atomic<KernelMask> mask{0};

  [[nodiscard]] Access access_of(std::size_t input) const noexcept {
    return access.empty() ? Access::read : access[input < access.size() ? input : access.size() - 1];
  }
};

struct OpDefinition {
  std::string name;
  Infer infer = nullptr;
  std::vector<Access> access = {};
  bool is_elementwise = false;
  bool is_copy = false;
};

// Kernels of a user's own op: for the CPU, for GPUs (simulated ones run host code), or both.
struct OpKernels {
  Kernel cpu = nullptr;
  Kernel sim = nullptr;
  Kernel cuda = nullptr;
};

// Rows live for ever. A name may be registered once; throws InvalidArgument otherwise.
const OpRow& register_op(OpDefinition definition, const OpKernels& kernels = {}, Site site = {});
// Adds a kernel to a row that may come later: kernels and rows register in any order.
bool register_kernel(const char* op, BackendKind kind, Kernel kernel, Workspace workspace = nullptr);
// Throws UnknownOp with the nearest name.
const OpRow& find_op(std::string_view name, Site site = {});

}  // namespace tutti
