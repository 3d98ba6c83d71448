// Ops on sharded tensors whose answer is local or one collective away. Layouts that do not go together are refused with the
// relayout to do; an input that is whole where the other is sharded is sliced, which moves nothing. Dtypes and shapes as for
// plain tensors.
#pragma once

#include <initializer_list>
#include <optional>

#include "tutti/mesh/sharded_tensor.h"
#include "tutti/ops/patterns.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/tensor_arg.h"

namespace tutti {

// Rows of a, columns of b and leading axes may be sharded: the product is local. Where the axis that is summed over is sharded,
// the devices' products are summed by one all_reduce.
ShardedTensor matmul(const ShardedTensor& a, const ShardedTensor& b, Site site = {});

// Over axes that are sharded or not; what devices then have parts of is combined by one all_reduce.
ShardedTensor sum(const ShardedTensor& x, const ReducedAxes& axes = all_axes, const ReductionOptions& options = {},
                  Site site = {});
ShardedTensor prod(const ShardedTensor& x, const ReducedAxes& axes = all_axes, const ReductionOptions& options = {},
                   Site site = {});
ShardedTensor mean(const ShardedTensor& x, const ReducedAxes& axes = all_axes, const ReductionOptions& options = {},
                   Site site = {});
ShardedTensor max(const ShardedTensor& x, const ReducedAxes& axes = all_axes, const ReductionOptions& options = {},
                  Site site = {});
ShardedTensor min(const ShardedTensor& x, const ReducedAxes& axes = all_axes, const ReductionOptions& options = {},
                  Site site = {});
ShardedTensor all(const ShardedTensor& x, const ReducedAxes& axes = all_axes, const ReductionOptions& options = {},
                  Site site = {});
ShardedTensor any(const ShardedTensor& x, const ReducedAxes& axes = all_axes, const ReductionOptions& options = {},
                  Site site = {});

ShardedTensor cast(const ShardedTensor& x, DType dtype, Site site = {});

// An operand of an element-wise op: a sharded tensor or a number. `a * w + b` keeps its line.
class ShardedArg {
 public:
  ShardedArg(const ShardedTensor& tensor, Site site = {}) : tensor_(&tensor), site_(site) {}
  ShardedArg(const NumberArg& number, Site site) : number_(number), site_(site) {}

  // Null: a number.
  [[nodiscard]] const ShardedTensor* tensor() const noexcept { return tensor_; }
  [[nodiscard]] const NumberArg& number() const noexcept { return *number_; }
  [[nodiscard]] Site site() const noexcept { return site_; }

 private:
  const ShardedTensor* tensor_ = nullptr;
  std::optional<NumberArg> number_;
  Site site_;
};

// Any element-wise op of one, two or three inputs, shard by shard; `name` is for messages. At least one operand is a tensor.
using UnaryOp = Tensor (*)(TensorArg, Site);
using BinaryOp = Tensor (*)(TensorArg, TensorArg, Site);
using TernaryOp = Tensor (*)(TensorArg, TensorArg, TensorArg, Site);
ShardedTensor elementwise(const char* name, UnaryOp op, const ShardedArg& x, Site site = {});
ShardedTensor elementwise(const char* name, BinaryOp op, const ShardedArg& a, const ShardedArg& b, Site site = {});
ShardedTensor elementwise(const char* name, TernaryOp op, const ShardedArg& a, const ShardedArg& b, const ShardedArg& c,
                          Site site = {});

}  // namespace tutti
