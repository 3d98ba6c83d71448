#include "tutti/exec/payload.h"

#include <cstring>
#include <memory>
#include <vector>

#include "tutti/exec/op_table.h"
#include "tutti/hal/device.h"
#include "tutti/hal/kernel_thread.h"

namespace tutti {

namespace {

struct Head {
  const OpRow* op;
  Kernel kernel;
  Site site;
  std::byte* spilled;  // the rest, when it does not fit behind the head
  std::uint16_t inputs;
  std::uint16_t outputs;
  std::uint16_t operands;  // inputs, outputs and, if there is one, the scratch
  std::uint16_t attribute_bytes;
};

struct PackedOperand {
  std::byte* data;  // the bytes of the scalar itself when immediate
  FailureCell* failure;
  DType dtype;
  std::uint8_t rank;
  bool is_immediate;
};

std::size_t packed_size(const KernelCall& call, std::size_t operand_count) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < operand_count; ++i) size += sizeof(PackedOperand) + call.operands[i].rank * sizeof(Axis);
  return size + call.attributes->size();
}

void write(std::byte*& to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  to += bytes;
}

void read(const std::byte*& from, void* to, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  from += bytes;
}

constexpr std::size_t inline_operands = 8;

// Operands for the time of one run.
struct Unpacked {
  Head head;
  std::array<Operand, inline_operands> few;
  std::vector<Operand> many;
  std::array<std::uint64_t, inline_operands> few_scalars;
  std::vector<std::uint64_t> many_scalars;
  Attributes attributes;
  KernelCall call;
  std::unique_ptr<std::byte[]> spilled;

  explicit Unpacked(void* payload) {
    std::memcpy(&head, payload, sizeof head);
    spilled.reset(head.spilled);
    const std::byte* from = head.spilled != nullptr ? head.spilled : static_cast<const std::byte*>(payload) + sizeof head;
    Operand* operands = few.data();
    std::uint64_t* scalars = few_scalars.data();
    if (head.operands > inline_operands) {
      many.resize(head.operands);
      many_scalars.resize(head.operands);
      operands = many.data();
      scalars = many_scalars.data();
    }
    for (std::size_t i = 0; i < head.operands; ++i) {
      PackedOperand packed;
      read(from, &packed, sizeof packed);
      Operand& operand = operands[i];
      operand.dtype = packed.dtype;
      operand.rank = packed.rank;
      operand.failure = packed.failure;
      operand.is_immediate = packed.is_immediate;
      operand.data = packed.data;
      if (packed.is_immediate) {
        std::memcpy(&scalars[i], &packed.data, sizeof scalars[i]);
        operand.data = reinterpret_cast<std::byte*>(&scalars[i]);
      }
      read(from, operand.axes.data(), packed.rank * sizeof(Axis));
    }
    attributes = Attributes::from_bytes(from, head.attribute_bytes);
    call.op = head.op;
    call.site = head.site;
    call.inputs = head.inputs;
    call.outputs = head.outputs;
    call.operands = operands;
    call.attributes = &attributes;
  }
};

void spoil(const KernelCall& call, std::size_t operand_count, const FailureRef& failure) noexcept {
  for (std::size_t i = call.inputs; i < operand_count; ++i) call.operands[i].failure->set(failure);
}

FailureRef failed_input(const KernelCall& call) noexcept {
  for (std::size_t i = 0; i < call.inputs; ++i) {
    const Operand& operand = call.operands[i];
    if (operand.failure == nullptr || !operand.failure->is_set()) continue;
    if (FailureRef failure = operand.failure->get()) return failure;
  }
  return nullptr;
}

}  // namespace

PackedCall::PackedCall(const KernelCall& call, std::size_t operand_count, Kernel kernel) {
  const std::size_t rest = packed_size(call, operand_count);
  const bool fits = sizeof(Head) + rest <= bytes_.size();
  Head head{call.op,
            kernel,
            call.site,
            fits ? nullptr : new std::byte[rest],
            call.inputs,
            call.outputs,
            static_cast<std::uint16_t>(operand_count),
            static_cast<std::uint16_t>(call.attributes->size())};
  std::memcpy(bytes_.data(), &head, sizeof head);
  std::byte* to = fits ? bytes_.data() + sizeof head : head.spilled;
  for (std::size_t i = 0; i < operand_count; ++i) {
    const Operand& operand = call.operands[i];
    PackedOperand packed{operand.data, operand.failure, operand.dtype, operand.rank, operand.is_immediate};
    if (operand.is_immediate) std::memcpy(&packed.data, operand.data, sizeof packed.data);
    write(to, &packed, sizeof packed);
    write(to, operand.axes.data(), operand.rank * sizeof(Axis));
  }
  write(to, call.attributes->data(), call.attributes->size());
  size_ = sizeof head + (fits ? rest : 0);
}

FailureRef run_call(const KernelCall& call, std::size_t operand_count, Kernel kernel, KernelContext& context,
                    const std::string& device) noexcept {
  if (const FailureRef inherited = failed_input(call)) [[unlikely]] {
    spoil(call, operand_count, inherited);
    return nullptr;  // reported where it arose
  }
  try {
    const InsideKernel inside;
    kernel(call, context);
  } catch (...) {
    FailureRef failure = failure_from(std::current_exception(), call.op->is_copy ? FailureKind::copy : FailureKind::kernel,
                                      call.op->name.c_str(), device, call.site);
    spoil(call, operand_count, failure);
    return failure;
  }
  for (std::size_t i = call.inputs; i < operand_count; ++i) call.operands[i].failure->clear();
  return nullptr;
}

const WorkKind packed_call_kind{
    [](void* payload, RunContext& run) noexcept -> FailureRef {
      Unpacked packed(payload);
      if (run.fault) {
        spoil(packed.call, packed.head.operands, run.fault);
        return run.fault;
      }
      KernelContext context{run.parallel, &run.stream};
      return run_call(packed.call, packed.head.operands, packed.head.kernel, context, run.stream.device().name());
    },
    [](void* payload, const FailureRef& why) noexcept {
      const Unpacked packed(payload);
      spoil(packed.call, packed.head.operands, why);
    },
};

}  // namespace tutti
