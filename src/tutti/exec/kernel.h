// What a kernel sees: operands as plain addresses with sizes and strides, the op's attributes, and its device's cores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "tutti/base/fields.h"
#include "tutti/base/site.h"
#include "tutti/hal/parallel.h"
#include "tutti/tensor/dtype.h"
#include "tutti/tensor/shape.h"

namespace tutti {

struct OpRow;
class DeviceStream;
class FailureCell;

// What can be asked of attributes without knowing their struct.
struct AttributeType {
  bool (*equal)(const std::byte* a, const std::byte* b);
  std::size_t (*hash)(const std::byte* bytes);
  std::string (*text)(const std::byte* bytes);
};

namespace detail {
[[noreturn]] void raise_attribute_size(std::size_t given, std::size_t wanted);
[[noreturn]] void raise_operand_dtype(DType found, DType wanted);

template <class T>
T read_as(const std::byte* bytes) noexcept {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
inline constexpr AttributeType attribute_type{
    [](const std::byte* a, const std::byte* b) { return have_equal_fields(read_as<T>(a), read_as<T>(b)); },
    [](const std::byte* bytes) { return hash_of_fields(read_as<T>(bytes)); },
    [](const std::byte* bytes) { return text_of_fields(read_as<T>(bytes)); },
};
}  // namespace detail

// Small plain data of one op call: the axes of a sum, the key of a random draw. Each op has a struct of its own, an aggregate.
class Attributes {
 public:
  static constexpr std::size_t most_bytes = 208;

  Attributes() noexcept = default;
  template <class T>
  explicit Attributes(const T& value) noexcept : size_(sizeof(T)), type_(&detail::attribute_type<T>) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= most_bytes && alignof(T) <= 8);
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }
  Attributes(const Attributes& other) noexcept { *this = other; }
  Attributes& operator=(const Attributes& other) noexcept {
    if (this == &other) return *this;
    size_ = other.size_;
    type_ = other.type_;
    std::memcpy(bytes_.data(), other.bytes_.data(), size_);
    return *this;
  }
  ~Attributes() = default;

  // Throws InvalidArgument when the call was given none, or a struct of another size.
  template <class T>
  [[nodiscard]] T as() const {
    if (size_ != sizeof(T)) [[unlikely]]
      detail::raise_attribute_size(size_, sizeof(T));
    return detail::read_as<T>(bytes_.data());
  }
  // As a kernel gets them: without their type.
  static Attributes from_bytes(const std::byte* bytes, std::size_t size) noexcept {
    Attributes out;
    std::memcpy(out.bytes_.data(), bytes, size);
    out.size_ = size;
    return out;
  }
  // The fields that begin at that byte.
  template <class T>
  void overwrite(std::size_t at, const T& value) noexcept {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const std::byte* data() const noexcept { return bytes_.data(); }

  // By their fields, floats by their bits; without a type, by their bytes. Those of different structs differ.
  friend bool operator==(const Attributes& a, const Attributes& b) {
    return a.type_ == b.type_ &&
           (a.type_ != nullptr ? a.type_->equal(a.data(), b.data()) : have_equal_fields(a.bytes(), b.bytes()));
  }
  [[nodiscard]] std::size_t hash() const { return type_ != nullptr ? type_->hash(data()) : hash_of_fields(bytes()); }
  // "(3, 0.5)"; the bytes, without a type; empty: there are none.
  [[nodiscard]] std::string to_string() const {
    return type_ != nullptr ? type_->text(data()) : size_ == 0 ? "" : text_of_fields(bytes());
  }

 private:
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), size_}; }
  alignas(8) std::array<std::byte, most_bytes> bytes_;
  std::size_t size_ = 0;
  const AttributeType* type_ = nullptr;
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

  [[nodiscard]] const Operand& in(std::size_t i) const noexcept { return operands[i]; }
  [[nodiscard]] const Operand& out(std::size_t i = 0) const noexcept { return operands[inputs + i]; }
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
