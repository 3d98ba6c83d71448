#include "tutti/kernels/cuda/code_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include "tutti/base/environment.h"
#include "tutti/base/text.h"

namespace tutti::kernels::cuda {

namespace {

constexpr std::string_view format = "tutti code 1\n";

std::uint64_t hash_of(std::string_view bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char each : bytes) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
  return hash ^ hash >> 29U;
}

std::string path_of(const std::string& folder, std::string_view key) {
  char name[32];
  (void)std::snprintf(name, sizeof name, "/%016llx.code", static_cast<unsigned long long>(hash_of(key)));
  return folder + name;
}

// Sizes, hash of the code, key, code.
std::string heading(std::string_view key, std::string_view code) {
  return text(format, key.size(), " ", code.size(), " ", hash_of(code), "\n");
}

void remove_oldest(const std::string& folder, std::uintmax_t most_bytes) {
  struct File {
    std::filesystem::file_time_type used;
    std::uintmax_t bytes;
    std::filesystem::path path;
  };
  std::vector<File> files;
  std::uintmax_t bytes = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator each(folder, failed), end; each != end; each.increment(failed)) {
    if (each->path().extension() != ".code") continue;
    std::error_code gone;  // another process removes some, too
    const File file{each->last_write_time(gone), each->file_size(gone), each->path()};
    if (gone) continue;
    bytes += file.bytes;
    files.push_back(file);
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& each : files) {
    if (bytes <= most_bytes) return;
    std::filesystem::remove(each.path, failed);
    bytes -= each.bytes;
  }
}

}  // namespace

std::string cache_folder() {
  if (const auto given = environment_text("TUTTI_CACHE_DIR")) return *given;
  if (const auto given = environment_text("XDG_CACHE_HOME")) return *given + "/tutti";
  if (const auto given = environment_text("HOME")) return *given + "/.cache/tutti";
  return {};
}

std::optional<std::string> load_code(const std::string& folder, std::string_view key) {
  if (folder.empty()) return std::nullopt;
  const std::string path = path_of(folder, key);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream all;
  all << file.rdbuf();
  const std::string held = std::move(all).str();
  const std::size_t first = held.find('\n', format.size());
  if (first == std::string::npos || held.size() < first + 1 + key.size()) return std::nullopt;
  std::string code = held.substr(first + 1 + key.size());
  if (std::string_view(held).substr(0, first + 1) != heading(key, code) ||
      std::string_view(held).substr(first + 1, key.size()) != key)
    return std::nullopt;
  std::error_code ignored;  // in a folder that cannot be written nothing is removed either
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), ignored);
  return code;
}

bool store_code(const std::string& folder, std::string_view key, std::string_view code, std::uintmax_t most_bytes) noexcept {
  if (folder.empty()) return false;
  static std::atomic<unsigned> number{0};
  try {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    const std::string path = path_of(folder, key);
    const std::string draft = text(path, ".", ::getpid(), ".", number.fetch_add(1));
    {
      std::ofstream file(draft, std::ios::binary);
      file << heading(key, code) << key << code;
      file.close();
      if (!file) {
        std::filesystem::remove(draft, failed);
        return false;
      }
    }
    std::filesystem::rename(draft, path, failed);
    if (!failed) {
      remove_oldest(folder, most_bytes);
      return true;
    }
    std::filesystem::remove(draft, failed);
  } catch (const std::exception&) {
    // No memory for a name: the next process compiles again.
  }
  return false;
}

}  // namespace tutti::kernels::cuda
