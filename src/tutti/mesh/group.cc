#include "tutti/mesh/group.h"

#include <algorithm>
#include <map>
#include <set>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti::detail {

std::vector<Group> groups_along(const Mesh& mesh, std::span<const std::size_t> dims) {
  // Positions are in row-major order, and so are the members of each group.
  std::map<std::size_t, Group> by_first;
  const auto local = mesh.local_positions();
  for (std::size_t position = 0; position < mesh.size(); ++position) {
    Dims first = mesh.coordinates(position);
    for (const std::size_t dim : dims) first[dim] = 0;
    Group& group = by_first[mesh.position(first)];
    group.positions.push_back(position);
    const int client = mesh.devices()[position].client;
    if (std::find(group.clients.begin(), group.clients.end(), client) == group.clients.end()) group.clients.push_back(client);
    const auto here = std::lower_bound(local.begin(), local.end(), position);
    if (here != local.end() && *here == position) group.local.push_back(static_cast<std::size_t>(here - local.begin()));
  }
  std::vector<Group> out;
  for (auto& [first, group] : by_first) {
    if (group.local.empty()) continue;
    std::sort(group.clients.begin(), group.clients.end());
    out.push_back(std::move(group));
  }
  return out;
}

std::vector<std::size_t> dim_indices(const Mesh& mesh, std::span<const std::string> dims, const char* what, Site site) {
  std::vector<std::size_t> out;
  for (const std::string& dim : dims) {
    const std::size_t index = mesh.dim_index(dim, site);
    if (std::find(out.begin(), out.end(), index) != out.end())
      throw InvalidArgument(text(what, ": mesh dimension '", dim, "' is given twice"), site);
    out.push_back(index);
  }
  return out;
}

}  // namespace tutti::detail
