// Who takes part in a collective: the devices of a mesh that differ only in some of its dimensions. For the files of this module.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tutti/mesh/mesh.h"

namespace tutti::detail {

// The members in order of their coordinates, which is the order of every reduction. Those of this process are its local part;
// the others, its remote part, are reached through an engine.
struct Group {
  std::vector<std::size_t> positions;  // in the mesh
  std::vector<std::size_t> local;      // of the members that are here: their places among this process's devices
  std::vector<int> clients;            // that own a member, ascending

  [[nodiscard]] bool is_local() const noexcept { return local.size() == positions.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return positions.size(); }
};

// The groups that this process has a member in.
std::vector<Group> groups_along(const Mesh& mesh, std::span<const std::size_t> dims);

// The dimensions by their names, each once; throws InvalidArgument.
std::vector<std::size_t> dim_indices(const Mesh& mesh, std::span<const std::string> dims, const char* what, Site site);

}  // namespace tutti::detail
