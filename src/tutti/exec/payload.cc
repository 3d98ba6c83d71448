#include "tutti/exec/payload.h"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "tutti/exec/op_table.h"
#include "tutti/hal/device.h"
#include "tutti/hal/kernel_thread.h"

namespace tutti {

namespace {

// A payload is a Head and the failure cells of the operands, which is all that retiring needs; in a whole one the call itself
// follows. What does not fit lies on the heap, from the cells on.
struct Head {
  std::byte* spilled;
  std::uint16_t inputs;
  std::uint16_t outputs;
  std::uint16_t operands;
  std::uint16_t attribute_bytes;
};
struct CallHead {
  const OpRow* op;
  Kernel kernel;
  Site site;
};
struct PackedOperand {
  std::byte* data;  // the bytes of the scalar itself when immediate
  DType dtype;
  std::uint8_t rank;
  bool is_immediate;
};

void write(std::byte*& to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  to += bytes;
}

void read(const std::byte*& from, void* to, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  from += bytes;
}

void pack(const void* from, void* payload, bool whole) {
  const auto& source = *static_cast<const CallSource*>(from);
  const KernelCall& call = source.call;
  const std::size_t n = source.operand_count;
  std::size_t rest = n * sizeof(FailureCell*);
  if (whole) {
    rest += sizeof(CallHead) + call.attributes->size();
    for (std::size_t i = 0; i < n; ++i) rest += sizeof(PackedOperand) + call.operands[i].rank * sizeof(Axis);
  }
  const bool fits = sizeof(Head) + rest <= DeviceStream::most_payload_bytes;
  const Head head{fits ? nullptr : new std::byte[rest], call.inputs, call.outputs, static_cast<std::uint16_t>(n),
                  static_cast<std::uint16_t>(call.attributes->size())};
  auto* to = static_cast<std::byte*>(payload);
  write(to, &head, sizeof head);
  if (!fits) to = head.spilled;
  for (std::size_t i = 0; i < n; ++i) write(to, &call.operands[i].failure, sizeof(FailureCell*));
  if (!whole) return;
  const CallHead of_call{call.op, source.kernel, call.site};
  write(to, &of_call, sizeof of_call);
  for (std::size_t i = 0; i < n; ++i) {
    const Operand& operand = call.operands[i];
    PackedOperand packed{operand.data, operand.dtype, operand.rank, operand.is_immediate};
    if (operand.is_immediate) std::memcpy(&packed.data, operand.data, sizeof packed.data);
    write(to, &packed, sizeof packed);
    write(to, operand.axes.data(), operand.rank * sizeof(Axis));
  }
  write(to, call.attributes->data(), call.attributes->size());
}

// The failure cells of a call, wherever they stand.
class Cells {
 public:
  explicit Cells(const KernelCall& call, std::size_t operand_count) noexcept
      : operands_(call.operands), inputs_(call.inputs), count_(operand_count) {}
  explicit Cells(void* payload) noexcept {
    Head head;
    std::memcpy(&head, payload, sizeof head);
    spilled_ = head.spilled;
    packed_ = head.spilled != nullptr ? head.spilled : static_cast<std::byte*>(payload) + sizeof head;
    inputs_ = head.inputs;
    count_ = head.operands;
  }
  // The end of the payload.
  void free_spilled() noexcept { delete[] spilled_; }

  void spoil(const FailureRef& failure) const noexcept {
    for (std::size_t i = inputs_; i < count_; ++i) cell(i)->set(failure);
  }
  // The work did not run. What it would have written fails for the first reason there was: an input's, if one had failed.
  void abandon(const FailureRef& why) const noexcept {
    const FailureRef inherited = of_inputs();
    spoil(inherited ? inherited : why);
  }
  void clear() const noexcept {
    for (std::size_t i = inputs_; i < count_; ++i) cell(i)->clear();
  }
  [[nodiscard]] FailureRef of_inputs() const noexcept {
    for (std::size_t i = 0; i < inputs_; ++i) {
      const FailureCell* each = cell(i);
      if (each == nullptr || !each->is_set()) continue;
      if (FailureRef failure = each->get()) return failure;
    }
    return nullptr;
  }
  // The outputs hold what the call left: a failure, its own or an input's, or a value. Returns what is to be reported.
  [[nodiscard]] FailureRef resolve(const FailureRef& own) const noexcept {
    if (const FailureRef inherited = of_inputs()) [[unlikely]] {
      spoil(inherited);
      return nullptr;  // reported where it arose
    }
    if (own) [[unlikely]] {
      spoil(own);
      return own;
    }
    clear();
    return nullptr;
  }

 private:
  [[nodiscard]] FailureCell* cell(std::size_t i) const noexcept {
    if (operands_ != nullptr) return operands_[i].failure;
    FailureCell* out = nullptr;
    std::memcpy(&out, packed_ + i * sizeof(FailureCell*), sizeof(FailureCell*));
    return out;
  }
  const Operand* operands_ = nullptr;
  std::byte* packed_ = nullptr;
  std::byte* spilled_ = nullptr;
  std::size_t inputs_ = 0;
  std::size_t count_ = 0;
};

constexpr std::size_t inline_operands = 8;

// A whole payload made into a call again, for the time of one run.
struct Unpacked {
  std::array<Operand, inline_operands> few;
  std::vector<Operand> many;
  std::array<std::uint64_t, inline_operands> few_scalars;
  std::vector<std::uint64_t> many_scalars;
  Attributes attributes;
  KernelCall call;
  Kernel kernel;
  std::size_t operand_count;

  Unpacked(void* payload, const char* function) {
    Head head;
    std::memcpy(&head, payload, sizeof head);
    const std::byte* from = head.spilled != nullptr ? head.spilled : static_cast<const std::byte*>(payload) + sizeof head;
    operand_count = head.operands;
    Operand* operands = few.data();
    std::uint64_t* scalars = few_scalars.data();
    if (operand_count > inline_operands) {
      many.resize(operand_count);
      many_scalars.resize(operand_count);
      operands = many.data();
      scalars = many_scalars.data();
    }
    for (std::size_t i = 0; i < operand_count; ++i) read(from, &operands[i].failure, sizeof(FailureCell*));
    CallHead of_call;
    read(from, &of_call, sizeof of_call);
    for (std::size_t i = 0; i < operand_count; ++i) {
      PackedOperand packed;
      read(from, &packed, sizeof packed);
      Operand& operand = operands[i];
      operand.dtype = packed.dtype;
      operand.rank = packed.rank;
      operand.is_immediate = packed.is_immediate;
      operand.data = packed.data;
      if (packed.is_immediate) {
        std::memcpy(&scalars[i], &packed.data, sizeof scalars[i]);
        operand.data = reinterpret_cast<std::byte*>(&scalars[i]);
      }
      read(from, operand.axes.data(), packed.rank * sizeof(Axis));
    }
    attributes = Attributes::from_bytes(from, head.attribute_bytes);
    kernel = of_call.kernel;
    call.op = of_call.op;
    call.function = function;
    call.site = of_call.site;
    call.inputs = head.inputs;
    call.outputs = head.outputs;
    call.operands = operands;
    call.attributes = &attributes;
  }
};

// The failure of the kernel itself, if it throws.
FailureRef call_kernel(const KernelCall& call, Kernel kernel, KernelContext& context, const std::string& device) noexcept {
  try {
    const InsideKernel inside;
    kernel(call, context);
    return nullptr;
  } catch (...) {
    return failure_from(std::current_exception(), call.op->is_copy ? FailureKind::copy : FailureKind::kernel, function_of(call),
                        device, call.site);
  }
}

}  // namespace

const char* function_of(const KernelCall& call) noexcept {
  return call.function != nullptr ? call.function : call.op->function.c_str();
}

FailureRef run_call(const KernelCall& call, std::size_t operand_count, Kernel kernel, KernelContext& context,
                    const std::string& device, const FailureRef& fault) noexcept {
  const Cells cells(call, operand_count);
  if (fault) [[unlikely]]
    return cells.resolve(fault);
  if (const FailureRef inherited = cells.of_inputs()) [[unlikely]] {
    cells.spoil(inherited);
    return nullptr;  // reported where it arose
  }
  FailureRef own = call_kernel(call, kernel, context, device);
  if (own) [[unlikely]] {
    cells.spoil(own);
  } else {
    cells.clear();
  }
  return own;
}

FailureRef issue_call(const KernelCall& call, Kernel kernel, KernelContext& context, const std::string& device) noexcept {
  return call_kernel(call, kernel, context, device);
}

FailureRef settle_call(const KernelCall& call, std::size_t operand_count, const FailureRef& own) noexcept {
  return Cells(call, operand_count).resolve(own);
}

void abandon_call(const KernelCall& call, std::size_t operand_count, const FailureRef& why) noexcept {
  Cells(call, operand_count).abandon(why);
}

const WorkKind packed_call_kind{
    pack,
    [](void* payload, RunContext& run) noexcept -> FailureRef {
      const Unpacked packed(payload, run.function);
      KernelContext context{run.parallel, &run.stream};
      FailureRef failure =
          run_call(packed.call, packed.operand_count, packed.kernel, context, run.stream.device().name(), run.fault);
      Cells(payload).free_spilled();
      return failure;
    },
    [](void* payload, const FailureRef& why) noexcept {
      Cells cells(payload);
      cells.abandon(why);
      cells.free_spilled();
    },
    // Whether the inputs have failed is not known yet: the kernel may compute on what is not there, and retiring it says so.
    [](const void* from, RunContext& run) noexcept -> FailureRef {
      const auto& source = *static_cast<const CallSource*>(from);
      KernelContext context{run.parallel, &run.stream};
      return call_kernel(source.call, source.kernel, context, run.stream.device().name());
    },
    [](void* payload, RunContext& run) noexcept -> FailureRef {
      const Unpacked packed(payload, run.function);
      KernelContext context{run.parallel, &run.stream};
      return call_kernel(packed.call, packed.kernel, context, run.stream.device().name());
    },
    [](void* payload, const FailureRef& own) noexcept -> FailureRef {
      Cells cells(payload);
      FailureRef report = cells.resolve(own);
      cells.free_spilled();
      return report;
    },
};

}  // namespace tutti
