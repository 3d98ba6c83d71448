// Tensors made in place: every device makes its own shard, and nothing is moved. The values are those of the functions of
// the same names that make a plain tensor.
#pragma once

#include <optional>

#include "tutti/mesh/sharded_tensor.h"
#include "tutti/ops/patterns.h"
#include "tutti/ops/random.h"
#include "tutti/ops/tensor_arg.h"

namespace tutti {

ShardedTensor zeros(const Shape& shape, const Layout& layout, DType dtype = DType::f32, Site site = {});
ShardedTensor ones(const Shape& shape, const Layout& layout, DType dtype = DType::f32, Site site = {});
ShardedTensor full(const Shape& shape, const Layout& layout, NumberArg value, std::optional<DType> dtype = {}, Site site = {});
// start, start + step, ... of whole numbers, so many that stop is not reached.
ShardedTensor arange(std::int64_t start, std::int64_t stop, const Layout& layout, std::int64_t step = 1, Site site = {});

// The same numbers on any mesh and in any layout. A device draws the rows it holds: all of them where the first axis is not
// sharded. On a mesh of several processes a key, or a generator of the same seed in each, has to be given.
ShardedTensor uniform(const Shape& shape, const Layout& layout, const UniformOptions& options = {}, Site site = {});
ShardedTensor normal(const Shape& shape, const Layout& layout, const NormalOptions& options = {}, Site site = {});
ShardedTensor randint(const Shape& shape, const Layout& layout, std::int64_t low, std::int64_t high,
                      const RandintOptions& options = {}, Site site = {});
ShardedTensor bernoulli(const Shape& shape, const Layout& layout, double probability, const BernoulliOptions& options = {},
                        Site site = {});

}  // namespace tutti
