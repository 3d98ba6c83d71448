// An op call as data: what a function hands to dispatch. It borrows what it names; a RecordedCall owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tutti/base/inline_vector.h"
#include "tutti/exec/generator.h"
#include "tutti/exec/kernel.h"
#include "tutti/exec/op_input.h"
#include "tutti/exec/op_table.h"
#include "tutti/place/placement.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

// One tensor in place, more on the heap: nearly every op has one output.
class OpOutputs {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  Tensor& operator[](std::size_t i) noexcept { return i == 0 ? first_ : more_[i - 1]; }
  const Tensor& operator[](std::size_t i) const noexcept { return i == 0 ? first_ : more_[i - 1]; }
  // Moved out; undefined where the op has not so many.
  Tensor take(std::size_t i) noexcept { return i < size_ ? std::move((*this)[i]) : Tensor(); }
  void push_back(Tensor tensor) {
    if (size_++ == 0) {
      first_ = std::move(tensor);
    } else {
      more_.push_back(std::move(tensor));
    }
  }

 private:
  Tensor first_;
  std::vector<Tensor> more_;
  std::size_t size_ = 0;
};

// What a call takes along that is neither tensor nor attribute: host bytes, the cell of a variable, a stream.
class CallData {
 public:
  CallData() = default;
  CallData(const CallData&) = default;
  CallData& operator=(const CallData&) = delete;
  virtual ~CallData() = default;
  // The same, owning what it named; for whoever keeps the call.
  [[nodiscard]] virtual std::shared_ptr<const CallData> keep() const = 0;
};

// What a program called, for errors, where several functions share a row.
struct CalledAs {
  const char* function = nullptr;  // lives for ever; null: the row's
  bool is_reversed = false;        // its operands are the row's from behind
};

// What it points to must live until dispatch returns.
struct OpCall {
  const OpRow& op;
  Site site;
  LogicalDevice* pinned = nullptr;     // the device it is tied to: that of the variable it touches, the target of a copy
  const TensorImpl* like = nullptr;    // where it has no tensor to compute on: the one whose device it follows
  const OutputSpec* wanted = nullptr;  // stated by the caller, where it does not follow from inputs
  const CallData* data = nullptr;
  CalledAs called_as;
  Draw draw;
  Attributes attributes;
  OpOutputs outputs;

  OpCall(const OpRow& row, Site where) noexcept : op(row), site(where) {}

  void add(const OpInput& input) { inputs_.push_back(input); }
  void add(const Tensor& tensor) { add({.tensor = &tensor.impl(site)}); }
  [[nodiscard]] std::span<OpInput> inputs() noexcept { return {inputs_.begin(), inputs_.end()}; }
  [[nodiscard]] std::span<const OpInput> inputs() const noexcept { return inputs_.view(); }
  // Input i, for rows that take tensors there.
  [[nodiscard]] Tensor tensor(std::size_t i) const {
    return Tensor(Ref<TensorImpl>(const_cast<TensorImpl*>(inputs()[i].tensor)));
  }
  [[nodiscard]] const char* function() const noexcept {
    return called_as.function != nullptr ? called_as.function : op.function.c_str();
  }
  [[nodiscard]] OpName names() const noexcept { return {op.name.c_str(), function()}; }
  // The data of a row that knows its type.
  template <class Data>
  [[nodiscard]] const Data& data_as() const noexcept {
    return static_cast<const Data&>(*data);
  }

 private:
  InlineVector<OpInput, 8> inputs_;
};

}  // namespace tutti
