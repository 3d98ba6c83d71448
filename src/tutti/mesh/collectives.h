// Collectives along dimensions of a mesh. All return at once: they are copies and ops, ordered by points. The bits of a reduction
// are the same on every device: members are taken in order of their coordinates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/sharded_tensor.h"

namespace tutti {

// One or several dimensions of a mesh: "x", {"x", "y"}.
class MeshDims {
 public:
  MeshDims(const char* dim) : dims_{dim} {}
  MeshDims(std::string dim) : dims_{std::move(dim)} {}
  MeshDims(std::initializer_list<std::string> dims) : dims_(dims) {}
  MeshDims(std::vector<std::string> dims) : dims_(std::move(dims)) {}
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return dims_; }

 private:
  std::vector<std::string> dims_;
};

// --- On one tensor for each of this process's devices, in the order of mesh.local_devices() ---
// Those that are elsewhere are copied there first. Devices that differ only in the dimensions named are a group; in a group all
// tensors have one shape and dtype.

// All members' tensors reduced, on every member. Means are of floating dtypes; sums of integers wrap; half precision is summed in
// f32. Of bools, sum and max are "or", prod and min are "and".
std::vector<Tensor> all_reduce(const std::vector<Tensor>& local, const Mesh& mesh, const MeshDims& dims, Reduction reduction,
                               Site site = {});
// The tensor of the member at coordinate `root`, on every member.
std::vector<Tensor> broadcast(const std::vector<Tensor>& local, const Mesh& mesh, const std::string& dim, std::int64_t root,
                              Site site = {});
// All members' tensors, one after the other along the axis, on every member.
std::vector<Tensor> all_gather(const std::vector<Tensor>& local, const Mesh& mesh, const std::string& dim, std::int64_t axis,
                               Site site = {});
// Reduced; of the result each member keeps its part along the axis.
std::vector<Tensor> reduce_scatter(const std::vector<Tensor>& local, const Mesh& mesh, const std::string& dim, std::int64_t axis,
                                   Reduction reduction, Site site = {});
// Each member's tensor is split along one axis, part k goes to member k, which joins what it gets along the other.
std::vector<Tensor> all_to_all(const std::vector<Tensor>& local, const Mesh& mesh, const std::string& dim,
                               std::int64_t split_axis, std::int64_t concat_axis, Site site = {});

// --- On sharded tensors: the shards where they are, and the layout that follows ---

// An axis that was sharded over one of the dimensions is then whole on each device, and as long as a shard.
ShardedTensor all_reduce(const ShardedTensor& x, const MeshDims& dims, Reduction reduction, Site site = {});
ShardedTensor broadcast(const ShardedTensor& x, const std::string& dim, std::int64_t root, Site site = {});
// The axis that the dimension shards is whole on every device.
ShardedTensor all_gather(const ShardedTensor& x, const std::string& dim, Site site = {});
// The axis, which was whole, is sharded over the dimension, which sharded none: what its devices hold is reduced.
ShardedTensor reduce_scatter(const ShardedTensor& x, const std::string& dim, std::int64_t axis, Reduction reduction,
                             Site site = {});
// The dimension shards this axis and no longer the one it did.
ShardedTensor all_to_all(const ShardedTensor& x, const std::string& dim, std::int64_t axis, Site site = {});

}  // namespace tutti
