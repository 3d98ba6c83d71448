// What an op's inference sees and says: dtypes and shapes in, dtypes and shapes out, all on the host.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tutti/exec/kernel.h"
#include "tutti/exec/op_input.h"

namespace tutti {

struct OutputSpec {
  DType dtype = DType::f32;
  Shape shape;
};

struct OpCall;

class Inference {
 public:
  explicit Inference(const OpCall& call) noexcept;

  [[nodiscard]] std::size_t inputs() const noexcept { return inputs_.size(); }
  // Throw InvalidArgument when the call has no such input.
  [[nodiscard]] DType dtype(std::size_t input) const { return checked(input).dtype(); }
  [[nodiscard]] const Shape& shape(std::size_t input) const {
    const TensorImpl* tensor = checked(input).tensor;
    return tensor != nullptr ? tensor->shape() : scalar_shape;
  }
  template <class T>
  [[nodiscard]] T attributes() const {
    return attributes_of(sizeof(T)).template as<T>();
  }

  // The output the caller stated, for ops that make something out of nothing.
  [[nodiscard]] const OutputSpec& wanted() const;

  void output(DType dtype, const Shape& shape);
  // Bytes the kernel needs to work in.
  void scratch(std::int64_t bytes);

  // "<op>: <what> ..." with the dtypes or shapes of the inputs and the user's site.
  [[noreturn]] void reject_shapes(std::string_view why) const;
  [[noreturn]] void reject_dtypes(std::string_view why) const;
  // Throws unless the op got that many.
  void expect_inputs(std::size_t count) const;

  // The call being inferred, for errors of one's own.
  [[nodiscard]] Site site() const noexcept;
  [[nodiscard]] const char* function() const noexcept;

  [[nodiscard]] std::size_t outputs() const noexcept { return output_count_; }
  [[nodiscard]] const OutputSpec& output_at(std::size_t i) const noexcept {
    return i == 0 ? first_output_ : more_outputs_[i - 1];
  }
  [[nodiscard]] std::int64_t scratch_bytes() const noexcept { return scratch_bytes_; }

 private:
  [[nodiscard]] const Attributes& attributes_of(std::size_t size) const;
  [[nodiscard]] const OpInput& checked(std::size_t input) const {
    if (input >= inputs_.size()) [[unlikely]]
      raise_missing(input);
    return inputs_[input];
  }
  [[noreturn]] void raise_missing(std::size_t input) const;
  // Which input is argument i of the function that was called.
  [[nodiscard]] std::size_t as_called(std::size_t i) const noexcept;

  static const Shape scalar_shape;

  const OpCall& call_;
  std::span<const OpInput> inputs_;
  OutputSpec first_output_;
  std::vector<OutputSpec> more_outputs_;
  std::size_t output_count_ = 0;
  std::int64_t scratch_bytes_ = 0;
};

// The common shape of the inputs; rejects those that do not broadcast.
Shape broadcast_inputs(const Inference& in);

}  // namespace tutti
