// Slurm's list of nodes: "node[01-03,7],b2".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tutti {

// The first of them, "node01" there. Nothing: the text is no such list.
std::optional<std::string> first_slurm_node(std::string_view list);

}  // namespace tutti
