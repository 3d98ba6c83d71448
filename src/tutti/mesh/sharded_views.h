// Views of sharded tensors: each device looks at its own shard in another way, and nothing is moved. They mean what they mean for
// plain tensors, and the sharding goes with its axis. One that would need elements of other devices is refused with the relayout
// to do.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "tutti/mesh/sharded_tensor.h"
#include "tutti/ops/views.h"

namespace tutti {

ShardedTensor permute_dims(const ShardedTensor& x, const Dims& axes, Site site = {});
ShardedTensor transpose(const ShardedTensor& x, Site site = {});
ShardedTensor transpose(const ShardedTensor& x, std::int64_t axis1, std::int64_t axis2, Site site = {});
ShardedTensor transpose(const ShardedTensor& x, const Dims& axes, Site site = {});
ShardedTensor matrix_transpose(const ShardedTensor& x, Site site = {});
ShardedTensor moveaxis(const ShardedTensor& x, const Dims& from, const Dims& to, Site site = {});

// New axes are not sharded.
ShardedTensor expand_dims(const ShardedTensor& x, const Dims& axes = 0, Site site = {});
ShardedTensor squeeze(const ShardedTensor& x, const Dims& axes, Site site = {});
ShardedTensor squeeze(const ShardedTensor& x, Site site = {});
// Axes that grow or are new are not sharded.
ShardedTensor broadcast_to(const ShardedTensor& x, const Shape& shape, Site site = {});
std::vector<ShardedTensor> broadcast_arrays(std::span<const ShardedTensor> tensors, Site site = {});
inline std::vector<ShardedTensor> broadcast_arrays(const std::vector<ShardedTensor>& tensors, Site site = {}) {
  return broadcast_arrays(std::span(tensors), site);
}

// Along axes that are not sharded.
ShardedTensor slice(const ShardedTensor& x, std::int64_t axis, const Range& range, Site site = {});
ShardedTensor flip(const ShardedTensor& x, const Dims& axes, Site site = {});
ShardedTensor flip(const ShardedTensor& x, Site site = {});
std::vector<ShardedTensor> unstack(const ShardedTensor& x, std::int64_t axis = 0, Site site = {});
std::vector<ShardedTensor> split(const ShardedTensor& x, std::int64_t parts, std::int64_t axis = 0, Site site = {});
std::vector<ShardedTensor> split(const ShardedTensor& x, const std::vector<std::int64_t>& indices, std::int64_t axis = 0,
                                 Site site = {});
inline std::vector<ShardedTensor> split(const ShardedTensor& x, std::initializer_list<std::int64_t> indices,
                                        std::int64_t axis = 0, Site site = {}) {
  return split(x, std::vector(indices), axis, site);
}
// Of two axes that are not sharded.
ShardedTensor diagonal(const ShardedTensor& x, const DiagonalOptions& options = {}, Site site = {});

// Axes that are split or joined may be sharded along the first of them: (6 over x, 4) to (24 over x) or (2 over x, 3, 4). A copy
// of the shard where strides do not allow a view of it.
ShardedTensor reshape(const ShardedTensor& x, const Shape& shape, Site site = {});

}  // namespace tutti
