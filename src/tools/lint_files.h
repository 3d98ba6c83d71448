// Which files `tutti lint` reads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tutti::tools {

inline constexpr const char* standard_input = "-";

// What is left out, by patterns of a path as seen from `folder`, or of a name: files and folders with all that is in them.
struct Exclusion {
  std::vector<std::string> patterns;
  std::filesystem::path folder;
  bool covers_named = false;  // files too that are named
};

struct FoundFiles {
  std::vector<std::filesystem::path> paths;
  std::vector<std::filesystem::path> unread_folders;  // what is in them is not known, or not all
  std::size_t excluded = 0;                           // files, and folders as a whole
};

// The Python sources among the paths and in the folders among them, in order, each once. What the repository's .gitignore files
// name, hidden folders, virtual environments and what is excluded is left out of folders; a file that is named is there unless
// that is excluded, too, and standard input is always. Throws std::runtime_error for a path that does not exist.
FoundFiles python_files(const std::vector<std::string>& paths, const Exclusion& exclusion);

}  // namespace tutti::tools
