// Kernels made at run time for element-wise launches in a row, where a backend has a compiler for them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tutti/exec/kernel.h"
#include "tutti/hal/device.h"

namespace tutti {

// One pass over operands of the same sizes. Values are numbered: the inputs, then what each step gives.
struct FusedProgram {
  struct Step {
    std::string op;  // the row's name
    std::vector<std::size_t> from;
    DType dtype = DType::f32;
  };
  struct Store {
    std::size_t value = 0;
    Operand to;
  };
  // The last axis of a value, contiguous in row-major order, is reduced at the end of the pass.
  struct Closing {
    std::string op;  // Sum, Mean, Max or Min, of a floating dtype
    std::size_t value = 0;
    std::int64_t row = 1;  // elements of that axis
    Operand of;            // the value as if it were stored
    Operand to;
  };
  std::vector<Operand> inputs;  // their addresses tell the alignment alone
  std::vector<Step> steps;
  std::vector<Store> stores;
  std::optional<Closing> closing;
};

class FusedKernel {
 public:
  FusedKernel() = default;
  FusedKernel(const FusedKernel&) = delete;
  FusedKernel& operator=(const FusedKernel&) = delete;
  virtual ~FusedKernel() = default;

  // Where work is issued. Addresses of the inputs, of numbers those of their bytes, of what is stored, and last of what closes
  // the pass. False: it was not launched, because one is not aligned as when it was made or because it cannot be; the launches
  // are then to go one by one.
  virtual bool launch(DeviceStream& stream, std::span<std::byte* const> addresses) noexcept = 0;
  // In the language of the device.
  [[nodiscard]] virtual const std::string& source() const noexcept = 0;
};

class FusedCompiler {
 public:
  // Could a launch of this op be a step? Its inputs, and last its output.
  [[nodiscard]] virtual bool takes(const std::string& op, std::span<const Operand> operands) const = 0;
  // Elements of a row whose reduction may close a pass.
  [[nodiscard]] virtual std::int64_t longest_row(DType dtype) const noexcept = 0;
  // Blocks while it compiles. Null: it cannot be made here.
  virtual std::unique_ptr<FusedKernel> make(DeviceStream& stream, const FusedProgram& program, Site site) = 0;

 protected:
  ~FusedCompiler() = default;
};

// It lives for ever.
void register_fused_compiler(BackendKind backend, FusedCompiler& compiler) noexcept;
// Null: devices of that kind have none.
FusedCompiler* fused_compiler(BackendKind backend) noexcept;

}  // namespace tutti
