// How tests start our Python scripts.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tutti {

// The beginning of a command line: a Python that has NumPy, and the script. The bundle for GPU machines brings the scripts along
// and names the Python there; elsewhere Debian's own answers, whatever environment the user has set up (-I).
inline std::string python_with_numpy(const std::filesystem::path& script) {
  const char* bundled = std::getenv("TUTTI_TEST_JUDGES");
  const char* python = std::getenv("TUTTI_TEST_PYTHON");
  const std::filesystem::path found = bundled != nullptr ? std::filesystem::path(bundled) / script.filename() : script;
  return std::string(python != nullptr ? python : "/usr/bin/python3 -I") + " '" + found.string() + "'";
}

}  // namespace tutti
