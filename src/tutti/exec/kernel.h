// What a kernel sees: operands as plain addresses with sizes and strides, the op's attributes, and its device's cores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tutti/base/site.h"
#include "tutti/exec/call_attributes.h"
#include "tutti/hal/parallel.h"
#include "tutti/tensor/dtype.h"
#include "tutti/tensor/shape.h"

namespace tutti {

struct OpRow;
class DeviceStream;
class FailureCell;

namespace detail {
[[noreturn]] void raise_operand_dtype(DType found, DType wanted);
[[noreturn]] void raise_no_operand(const char* kind, std::size_t asked, std::size_t count);
}  // namespace detail

struct Axis {
  std::int64_t size;
  std::int64_t stride;  // in elements; 0 where the operand is broadcast along the axis
};

// Only the first `rank` axes hold anything.
struct Operand {
  std::byte* data = nullptr;
  FailureCell* failure = nullptr;
  DType dtype = DType::f32;
  std::uint8_t rank = 0;
  bool is_immediate = false;  // one element, kept inside the call itself: every stride is 0
  std::array<Axis, most_axes> axes;

  [[nodiscard]] std::int64_t count() const noexcept {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < rank; ++i) n *= axes[i].size;
    return n;
  }
  // Elements are contiguous in row-major order.
  [[nodiscard]] bool is_dense() const noexcept {
    std::int64_t expected = 1;
    for (std::size_t i = rank; i-- > 0;) {
      if (axes[i].size != 1 && axes[i].stride != expected) return false;
      expected *= axes[i].size;
    }
    return true;
  }
  // Every stride is 0: one element stands for all.
  [[nodiscard]] bool is_single() const noexcept {
    for (std::size_t i = 0; i < rank; ++i) {
      if (axes[i].size != 1 && axes[i].stride != 0) return false;
    }
    return true;
  }
  // Throws DTypeError unless T is the type of the dtype's elements; bytes may be read as u8. A T that no dtype has (an
  // unsigned word, a vector of the GPU) is for kernels that only move elements, and is not checked.
  template <class T>
  [[nodiscard]] T* as() const {
    using Value = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Value, std::uint8_t>) {
      if (size_of(dtype) != 1) [[unlikely]]
        detail::raise_operand_dtype(dtype, DType::u8);
    } else if constexpr (Element<Value>) {
      if (dtype != dtype_of<Value>) [[unlikely]]
        detail::raise_operand_dtype(dtype, dtype_of<Value>);
    }
    return reinterpret_cast<T*>(data);
  }
};

// Bytes a kernel works in, of whatever type it likes.
struct ScratchMemory {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;

  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(data);
  }
};

// Inputs first, then outputs. An element-wise op finds its inputs broadcast to the output's axes and of one dtype.
struct KernelCall {
  const OpRow* op = nullptr;
  Site site;
  std::uint16_t inputs = 0;
  std::uint16_t outputs = 0;
  const Operand* operands = nullptr;
  const Attributes* attributes = nullptr;
  const char* function = nullptr;  // what the program called, for errors; null: the row's

  // Throw InvalidArgument when the call has no such operand.
  [[nodiscard]] const Operand& in(std::size_t i) const {
    if (i >= inputs) [[unlikely]]
      detail::raise_no_operand("input", i, inputs);
    return operands[i];
  }
  [[nodiscard]] const Operand& out(std::size_t i = 0) const {
    if (i >= outputs) [[unlikely]]
      detail::raise_no_operand("output", i, outputs);
    return operands[inputs + i];
  }
  // For an op whose inference asked for it: one more operand, of dtype u8.
  [[nodiscard]] ScratchMemory scratch() const noexcept {
    const Operand& bytes = operands[inputs + outputs];
    return {bytes.data, bytes.axes[0].size};
  }
};

struct KernelContext {
  Parallel& parallel;
  DeviceStream* stream = nullptr;  // for kernels that launch work of their own; null when run in the caller
  bool may_measure = false;        // what is prepared may be chosen by the clock: a graph is being made, which waits anyway
};

// A kernel that cannot go on throws (KernelFailed, or anything): the outputs are then spoiled with that reason.
using Kernel = void (*)(const KernelCall& call, KernelContext& context);

}  // namespace tutti
