// The op table: one row per op with its name, inference, declared access and kernels.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/exec/gradient.h"
#include "tutti/exec/inference.h"
#include "tutti/exec/kernel.h"
#include "tutti/place/runtime.h"
#include "tutti/tensor/dtype_set.h"

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

// Runs a call that is not a kernel's: a view, a copy, an assignment, an event. Fills call.outputs.
using RunCall = void (*)(OpCall& call);
// Where operands lie so that a kernel of this device would rather see their axes in another order: that order (axis i of what it
// sees is axis order[i]), with the call's attributes rewritten for it; the outputs' axes are put back. Empty: as they are.
using Arrange = Dims (*)(OpCall& call, const LogicalDevice& on);

// What kind of call a row makes, for whoever sees calls as data.
enum class OpKind : std::uint8_t {
  kernel,      // computes on a device; a draw is one that takes numbers from a generator (OpCall::draw)
  view,        // looks at the elements of its input in another way; a reshape may have to copy them
  copy,        // the same elements, elsewhere or in row-major order
  constant,    // elements of the host's
  read,        // the value of a variable
  update,      // an assignment to a variable
  collective,  // meets other devices or processes
  order,       // an event on a stream, or a wait for one
  region,      // runs functions of the caller's: a loop
};

// What a kernel does before its launch: makes handles, chooses an algorithm and keeps the choice where the launch finds it.
// Called for every launch on a stream, before the stream's lock is taken, so that nobody waits for it. It launches nothing and
// may be left out: what it throws is not told, because the launch meets the same.
using Prepare = void (*)(const KernelCall& call, KernelContext& context);

// What is said of an op once, whatever device it runs on.
struct OpDefinition {
  std::string name;                 // as the placement log, the journal and the ledger have it
  std::string function = {};        // what a program calls, for errors; empty: the name
  Infer infer = nullptr;            // of a kernel
  std::vector<Access> access = {};  // per input; the last one stands for all further inputs; empty: read
  bool is_elementwise = false;      // inputs are broadcast to the output's shape: the kernel walks their strides
  bool is_copy = false;             // moves bytes between devices
  bool may_alias = false;    // an output may be written over an input of its shape: elements are used at their own place alone
  bool may_block = false;    // waits for other processes: never run by the caller, and belongs on a stream that may block
  bool strided = false;      // the kernel walks its inputs' strides; else it finds every input contiguous
  DTypes takes = any_dtype;  // of the first input
  GradientRule gradient = {};
  OpKind kind = OpKind::kernel;
  RunCall run = nullptr;      // of what is no kernel
  Arrange arrange = nullptr;  // null: kernels take every order
};

struct OpRow : OpDefinition {
  std::array<std::atomic<Kernel>, backend_kinds> kernels{};
  std::array<std::atomic<Workspace>, backend_kinds> workspaces{};
  std::array<std::atomic<Prepare>, backend_kinds> prepares{};  // null: nothing to prepare
  std::array<std::atomic<KernelMask>, dtype_count> masks{};    // by dtype: the backends that have a kernel for it
  bool has_users_kernels = false;                              // which may fail where ours do not

  // The dtype of the first input; of the output where there is none.
  [[nodiscard]] KernelMask mask_for(DType dtype) const noexcept {
    return masks[static_cast<std::size_t>(dtype)].load(std::memory_order_acquire);
  }
  // Otherwise only kernels for it are there so far.
  [[nodiscard]] bool is_registered() const noexcept { return infer != nullptr || run != nullptr; }
  // What a backend's kernel takes; empty: it has none.
  [[nodiscard]] DTypes dtypes_on(BackendKind backend) const noexcept;

  [[nodiscard]] Access access_of(std::size_t input) const noexcept {
    return access.empty() ? Access::read : access[input < access.size() ? input : access.size() - 1];
  }
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
// Placement passes a backend by for dtypes its kernel does not take.
bool register_kernel(const char* op, BackendKind kind, Kernel kernel, Workspace workspace = nullptr, DTypes takes = any_dtype,
                     Prepare prepare = nullptr);
// Says the rule of an op that stands in a table of its own; the row may come later.
bool register_gradient(const char* op, const GradientRule& rule);
// Throws UnknownOp with the nearest name.
const OpRow& find_op(std::string_view name, Site site = {});
// All rows, by name.
std::vector<const OpRow*> list_ops();

}  // namespace tutti
