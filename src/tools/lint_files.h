// Which files `tutti lint` reads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tutti::tools {

inline constexpr const char* standard_input = "-";

// The Python sources among the paths and in the folders among them, in order, each once. What .gitignore names, hidden folders,
// virtual environments and what matches a pattern of `excluded` is left out of folders; a file that is named is always there, and
// so is standard input. Throws std::runtime_error for a path that does not exist.
std::vector<std::filesystem::path> python_files(const std::vector<std::string>& paths, const std::vector<std::string>& excluded);

}  // namespace tutti::tools
