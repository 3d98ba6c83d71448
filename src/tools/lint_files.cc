#include "tools/lint_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "tutti/base/text.h"

namespace tutti::tools {

namespace {

namespace fs = std::filesystem;

struct Pattern {
  fs::path base;  // the folder of the .gitignore
  std::string glob;
  bool is_anchored = false;
  bool is_for_folders = false;
  bool is_negated = false;
};

void read_patterns(const fs::path& folder, std::vector<Pattern>& patterns) {
  std::ifstream in(folder / ".gitignore");
  for (std::string line; std::getline(in, line);) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    Pattern pattern{.base = folder, .glob = line};
    if (pattern.glob[0] == '!') {
      pattern.is_negated = true;
      pattern.glob.erase(0, 1);
    }
    if (pattern.glob.ends_with('/')) {
      pattern.is_for_folders = true;
      pattern.glob.pop_back();
    }
    if (pattern.glob.starts_with("**/")) pattern.glob.erase(0, 3);
    pattern.is_anchored = pattern.glob.find('/') != std::string::npos;
    if (pattern.glob.starts_with('/')) pattern.glob.erase(0, 1);
    if (!pattern.glob.empty()) patterns.push_back(std::move(pattern));
  }
}

bool matches(const Pattern& pattern, const fs::path& path, bool is_folder) {
  if (pattern.is_for_folders && !is_folder) return false;
  const std::string name = pattern.is_anchored ? path.lexically_relative(pattern.base).string() : path.filename().string();
  return ::fnmatch(pattern.glob.c_str(), name.c_str(), pattern.is_anchored ? FNM_PATHNAME : 0) == 0;
}

// Of the folders above this one, up to the repository's; none where it is in none.
std::vector<Pattern> patterns_above(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> above;
  for (fs::path at = folder; !fs::exists(at / ".git", failed); at = at.parent_path()) {
    if (!at.has_relative_path()) return {};
    above.push_back(at.parent_path());
  }
  std::vector<Pattern> patterns;
  for (auto at = above.rbegin(); at != above.rend(); ++at) read_patterns(*at, patterns);
  return patterns;
}

bool has_python_name(std::string_view name) { return name.ends_with(".py") || name.ends_with(".pyi"); }

// The path as patterns see it, whatever links lead there; empty for the folder itself.
fs::path place_of(const fs::path& path, const Exclusion& exclusion) {
  std::error_code failed;
  const fs::path folder = fs::weakly_canonical(exclusion.folder, failed);
  const bool is_folder = fs::is_directory(path, failed);
  const fs::path whole = fs::absolute(path);
  const fs::path found =
      is_folder ? fs::weakly_canonical(whole, failed) : fs::weakly_canonical(whole.parent_path(), failed) / whole.filename();
  const fs::path place = found.lexically_relative(folder);
  return place == "." ? fs::path() : place;
}

bool matches_any(const fs::path& place, const Exclusion& exclusion) {
  return std::any_of(exclusion.patterns.begin(), exclusion.patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), place.c_str(), 0) == 0 || ::fnmatch(pattern.c_str(), place.filename().c_str(), 0) == 0;
  });
}

// It, or a folder that it is in.
bool is_excluded(const fs::path& place, const Exclusion& exclusion) {
  fs::path upper;
  for (const fs::path& name : place) {
    upper /= name;
    if (name != ".." && matches_any(upper, exclusion)) return true;
  }
  return false;
}

class Search {
 public:
  Search(const Exclusion& exclusion, FoundFiles& out) : exclusion_(exclusion), out_(out) {}

  // `whole`: the folder as .gitignore sees it; `place`: as the patterns of exclusions do.
  void folder(const fs::path& folder, const fs::path& whole, const fs::path& place, std::vector<Pattern> patterns,
              int depth = 0) {
    if (depth > 64) return;
    read_patterns(whole, patterns);
    std::vector<fs::path> entries;
    std::error_code failed;
    for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
      entries.push_back(at->path());
    if (failed) out_.unread_folders.push_back(folder);
    std::sort(entries.begin(), entries.end());
    for (const fs::path& entry : entries) {
      std::error_code unknown;
      const fs::file_status status = fs::symlink_status(entry, unknown);
      const bool is_folder = status.type() == fs::file_type::directory;  // links are not followed: they may lead back
      const std::string name = entry.filename();
      if (name.starts_with('.') || is_ignored(whole / name, is_folder, patterns)) continue;
      if ((is_folder || has_python_name(name)) && matches_any(place / name, exclusion_)) {
        ++out_.excluded;
        continue;
      }
      if (is_folder && name != "__pycache__" && name != "node_modules" && !fs::exists(entry / "pyvenv.cfg", unknown)) {
        this->folder(entry, whole / name, place / name, patterns, depth + 1);
      } else if (!is_folder && has_python_name(name) && fs::is_regular_file(entry, unknown)) {
        out_.paths.push_back(entry);
      }
    }
  }

 private:
  static bool is_ignored(const fs::path& entry, bool is_folder, const std::vector<Pattern>& patterns) {
    bool out = false;
    for (const Pattern& pattern : patterns) {
      if (matches(pattern, entry, is_folder)) out = !pattern.is_negated;
    }
    return out;
  }

  const Exclusion& exclusion_;
  FoundFiles& out_;
};

}  // namespace

FoundFiles python_files(const std::vector<std::string>& paths, const Exclusion& exclusion) {
  FoundFiles found;
  for (const std::string& path : paths) {
    if (path == standard_input) {
      found.paths.emplace_back(path);
      continue;
    }
    std::error_code failed;
    const fs::file_status status = fs::status(path, failed);
    if (status.type() == fs::file_type::not_found)
      throw std::runtime_error(text("there is no file or folder '", printable(path), "'"));
    const bool is_folder = fs::is_directory(status);
    const fs::path place = exclusion.patterns.empty() ? fs::path() : place_of(path, exclusion);
    if ((is_folder || exclusion.covers_named) && is_excluded(place, exclusion)) {
      ++found.excluded;
      continue;
    }
    if (!is_folder) {
      found.paths.emplace_back(path);
      continue;
    }
    const fs::path whole = fs::weakly_canonical(fs::absolute(path), failed);
    Search(exclusion, found).folder(path, whole, place, patterns_above(whole));
  }
  std::set<fs::path> seen;
  std::erase_if(found.paths, [&](const fs::path& path) { return !seen.insert(path.lexically_normal()).second; });
  return found;
}

}  // namespace tutti::tools
