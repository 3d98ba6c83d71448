// What a kernel sees: operands as plain addresses with sizes and strides, the op's attributes, and its device's cores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tutti/base/site.h"
#include "tutti/hal/parallel.h"
#include "tutti/tensor/dtype.h"
#include "tutti/tensor/shape.h"

namespace tutti {

struct OpRow;
class DeviceStream;
class FailureCell;

namespace detail {
[[noreturn]] void raise_attribute_size(std::size_t given, std::size_t wanted);
}  // namespace detail

// Small plain data of one op call: the axes of a sum, the key of a random draw. Each op has a struct of its own.
class Attributes {
 public:
  static constexpr std::size_t most_bytes = 208;

  Attributes() noexcept = default;
  template <class T>
  explicit Attributes(const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= most_bytes && alignof(T) <= 8);
    std::memcpy(bytes_.data(), &value, sizeof(T));
    size_ = sizeof(T);
  }
  // Throws InvalidArgument when the call was given none, or a struct of another size.
  template <class T>
  [[nodiscard]] T as() const {
    if (size_ != sizeof(T)) [[unlikely]]
      detail::raise_attribute_size(size_, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    return value;
  }
  static Attributes from_bytes(const std::byte* bytes, std::size_t size) noexcept {
    Attributes out;
    std::memcpy(out.bytes_.data(), bytes, size);
    out.size_ = size;
    return out;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const std::byte* data() const noexcept { return bytes_.data(); }

 private:
  alignas(8) std::array<std::byte, most_bytes> bytes_;
  std::size_t size_ = 0;
};

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
  // Elements lie one after the other in row order.
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

  [[nodiscard]] const Operand& in(std::size_t i) const noexcept { return operands[i]; }
  [[nodiscard]] const Operand& out(std::size_t i = 0) const noexcept { return operands[inputs + i]; }
  // Bytes to work in, for an op whose inference asked for them: one more operand, of dtype u8.
  [[nodiscard]] const Operand& scratch() const noexcept { return operands[inputs + outputs]; }
};

struct KernelContext {
  Parallel& parallel;
  DeviceStream* stream = nullptr;  // for kernels that launch work of their own; null when run in the caller
};

// A kernel that cannot go on throws (KernelFailed, or anything): the outputs are then spoiled with that reason.
using Kernel = void (*)(const KernelCall& call, KernelContext& context);

}  // namespace tutti
