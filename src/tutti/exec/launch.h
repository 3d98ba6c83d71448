// One kernel about to run: its operands, the buffers they stand in, and the two ways to set it going.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tutti/exec/memory_order.h"
#include "tutti/exec/op_table.h"
#include "tutti/hal/access_observer.h"
#include "tutti/memory/buffer.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

class Launch {
 public:
  // `function`: what the program called, for errors; null: the row's.
  Launch(const OpRow& op, const Attributes& attributes, LogicalDevice& on, Site site, const char* function = nullptr) noexcept
      : op_(op), function_(function != nullptr ? function : op.function.c_str()), attributes_(attributes), on_(on), site_(site) {}

  // In this order: inputs, outputs, scratch. `like`: broadcast to that shape.
  void input(const TensorImpl& tensor, Access access, const Shape* like);
  void scalar(DType dtype, const std::array<std::byte, 8>& value, const Shape* like);
  void output(const TensorImpl& tensor);
  void scratch(Buffer& buffer);
  // Memory the runtime itself put between the program and the kernel: ordered also under ManualOrder.
  void order_always(const Buffer& buffer) noexcept;
  // Of an element-wise op, all of whose operands have the same axes: hands them to the kernel outermost first.
  void take_axes_in(const MemoryOrder& order);

  // By the calling thread, now. Every input is ready and nothing in flight uses the outputs.
  void run_in_caller();
  // On the stream, after what the declared access says it must come after.
  void submit(DeviceStream& stream);

 private:
  static constexpr std::size_t inline_operands = 8;
  struct Use {
    Buffer* buffer;
    const TensorImpl* tensor;  // null: scratch
    bool is_write;
    bool is_own;
  };
  using MemoryUses = InlineVector<MemoryUse, inline_operands>;

  Operand& next();
  void add(const TensorImpl& tensor, const Shape* like, bool is_write);
  void note(Buffer& buffer, const TensorImpl* tensor, bool is_write) {
    uses_.push_back({&buffer, tensor, is_write, false});
    if (is_write) traffic_ += buffer.bytes();
  }
  [[nodiscard]] MemoryUses memory_uses() const;
  // All that may take long, before the stream's order lock is taken.
  void prepare(const KernelCall& made, DeviceStream& stream) const;
  // Before the work is submitted. True: the observer has more to say when the order lock is released.
  bool tell(AccessObserver& observer, DeviceStream& stream, const Points& after) const;
  // Whoever records hears of it, also what other threads than its own do.
  [[nodiscard]] static bool is_heard() noexcept;
  void tell_listeners(DeviceStream& stream) const;
  [[nodiscard]] KernelCall call() const noexcept;
  [[nodiscard]] Kernel kernel() const noexcept;

  const OpRow& op_;
  const char* function_;
  const Attributes& attributes_;
  LogicalDevice& on_;
  Site site_;
  std::uint16_t inputs_ = 0;
  std::uint16_t outputs_ = 0;
  std::uint64_t traffic_ = 0;
  std::size_t count_ = 0;
  std::array<Operand, inline_operands> few_;
  std::vector<Operand> many_;
  InlineVector<Use, inline_operands> uses_;
};

}  // namespace tutti
