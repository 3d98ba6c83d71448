// The same tensor in another layout, and by which steps it gets there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/mesh/sharded_tensor.h"

namespace tutti {

// One step, over one dimension of the mesh.
struct RelayoutStep {
  enum class Kind : std::uint8_t {
    slice,       // each device keeps a part of the axis `to`: nothing is moved
    all_gather,  // the axis `from` is put together on each device
    all_to_all,  // the sharding goes from the axis `from` to the axis `to`
  };

  Kind kind = Kind::slice;
  std::size_t dim = 0;
  std::size_t from = 0;
  std::size_t to = 0;
  friend bool operator==(const RelayoutStep&, const RelayoutStep&) = default;
};

// Slices as early as can be, gathers as late: what is moved is small. Throws InvalidArgument for layouts of two meshes or ranks.
std::vector<RelayoutStep> relayout_steps(const Layout& from, const Layout& to, Site site = {});
// "slice axis 0 over 'x', all_to_all over 'y' from axis 0 to axis 1"; "nothing".
std::string to_string(const std::vector<RelayoutStep>& steps, const Mesh& mesh);

// Returns at once, like every op. The mesh stays the same.
ShardedTensor relayout(const ShardedTensor& x, const Layout& layout, Site site = {});

}  // namespace tutti
