// What an op function takes: a tensor, a tensor given away, or a C++ number. Remembers the caller's line.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "tutti/base/site.h"
#include "tutti/exec/op_call.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

// A number is weak: it takes the dtype of the tensor it meets if its kind allows.
struct WeakScalar {
  DTypeKind kind = DTypeKind::floating;
  std::int64_t integer = 0;  // also holds a bool
  double real = 0;
  bool is_too_large = false;  // an unsigned integer that no dtype holds
};

template <class T>
concept Number = std::is_arithmetic_v<T> || std::same_as<T, f16> || std::same_as<T, bf16>;

// `a * w + b` keeps its line: the conversion from an operand captures it. For parameters: it points to the caller's tensor.
class TensorArg {
 public:
  TensorArg(const Tensor& tensor, Site site = {}) noexcept : tensor_(&tensor), site_(site) {}
  // The memory may be reused for the result when nobody else holds it. The caller keeps the tensor until the op is under
  // way, so a call that throws loses nothing.
  TensorArg(Tensor&& tensor, Site site = {}) noexcept : tensor_(&tensor), given_(&tensor), site_(site) {}
  // Its value at this moment.
  TensorArg(const Variable& variable, Site site = {});
  template <Number T>
  TensorArg(T value, Site site = {}) noexcept : is_number_(true), site_(site) {
    if constexpr (std::same_as<T, bool>) {
      scalar_ = {DTypeKind::boolean, value ? 1 : 0, 0};
    } else if constexpr (std::is_integral_v<T>) {
      scalar_ = {DTypeKind::integer, static_cast<std::int64_t>(value), 0,
                 std::is_unsigned_v<T> &&
                     static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())};
    } else {
      scalar_ = {DTypeKind::floating, 0,
                 static_cast<double>(static_cast<std::conditional_t<std::is_floating_point_v<T>, T, float>>(value))};
    }
  }

  [[nodiscard]] bool is_number() const noexcept { return is_number_; }
  [[nodiscard]] const WeakScalar& number() const noexcept { return scalar_; }
  // Not of a number.
  [[nodiscard]] const Tensor& tensor() const noexcept { return *tensor_; }
  [[nodiscard]] bool is_given_away() const noexcept { return given_ != nullptr; }
  [[nodiscard]] Site site() const noexcept { return site_; }
  // Once the op is under way: the caller's tensor is empty from now on. A temporary lives to the end of the caller's whole
  // expression, and the next op of that expression would find its memory shared.
  void let_go() const noexcept {
    if (given_ != nullptr) *given_ = {};
  }

 private:
  const Tensor* tensor_ = nullptr;
  Tensor* given_ = nullptr;
  std::shared_ptr<Tensor> held_;  // a variable's value; of all copies, so that one lets go of it for all
  WeakScalar scalar_;
  bool is_number_ = false;
  Site site_;
};

namespace detail {
// The dtype a weak number takes next to a tensor of this dtype, and its bytes in a dtype. Throws InvalidArgument when
// it does not fit: too large, or a fraction where the dtype holds integers.
DType dtype_next_to(const WeakScalar& number, DType dtype) noexcept;
OpInput scalar_input(const WeakScalar& number, DType dtype, Site site);
// The op's input for an argument that has this dtype (cast to it first if need be, into `held`).
OpInput input_of(const TensorArg& arg, DType dtype, Tensor& held, Site site);
}  // namespace detail

}  // namespace tutti
