// Operands that a kernel walks in row-major order, brought into that order where their elements are far apart.
#pragma once

#include <memory>
#include <vector>

#include "tutti/kernels/cpu/kernels.h"
#include "tutti/kernels/cpu/strided.h"

namespace tutti::kernels {

// Whether elements that follow each other in row-major order do so in memory, or are one and the same.
inline bool is_close(const Layout& layout) {
  return layout.rank() == 0 || copy_row(layout.element_size(), layout.axis(layout.rank() - 1).stride) != nullptr;
}

// Walking elements that are far apart one by one costs a line of the cache each; copy() takes whole lines.
class RowOrder {
 public:
  static constexpr std::int64_t worth_a_copy = 4096;  // elements

  // `least`: the number of elements from which on they are copied.
  RowOrder(const Operand& operand, Parallel& parallel, std::int64_t least = worth_a_copy) : operand_(operand) {
    const Layout layout(operand);
    if (layout.count() < least || is_close(layout)) return;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(layout.count()) * layout.element_size());
    operand_.data = memory_.get();
    std::int64_t stride = 1;
    for (std::size_t i = operand.rank; i-- > 0; stride *= operand.axes[i].size) operand_.axes[i].stride = stride;
    copy(operand, operand_, parallel);
  }

  [[nodiscard]] const Operand& operand() const { return operand_; }
  [[nodiscard]] bool is_copy() const { return memory_ != nullptr; }

 private:
  Operand operand_;
  std::unique_ptr<std::byte[]> memory_;
};

// Calls body with the call, whose input i is in row-major order now.
template <class Body>
void with_near(const KernelCall& call, std::size_t i, Parallel& parallel, const Body& body) {
  const RowOrder near(call.in(i), parallel);
  if (!near.is_copy()) return body(call);
  std::vector<Operand> operands(call.operands, call.operands + call.inputs + call.outputs);
  operands[i] = near.operand();
  KernelCall own = call;
  own.operands = operands.data();
  body(own);
}

}  // namespace tutti::kernels
