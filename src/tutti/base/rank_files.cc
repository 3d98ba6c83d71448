#include "tutti/base/rank_files.h"

#include <atomic>
#include <filesystem>
#include <limits>

#include "tutti/base/environment.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {
constexpr std::uint64_t highest_rank = std::numeric_limits<std::uint32_t>::max() - 1;
constexpr std::uint32_t not_told = std::numeric_limits<std::uint32_t>::max();
constinit std::atomic<std::uint32_t> told{not_told};
constinit std::atomic<bool> is_left_to_others{false};
}  // namespace

std::optional<std::uint32_t> rank_of_files() {
  if (const std::uint32_t rank = told.load(std::memory_order_relaxed); rank != not_told) return rank;
  if (environment_unsigned("TUTTI_WORLD_SIZE").value_or(1) == 1) return std::nullopt;
  const std::optional<std::uint64_t> rank = environment_unsigned("TUTTI_RANK", 0, highest_rank);
  return rank ? std::optional(static_cast<std::uint32_t>(*rank)) : std::nullopt;
}

void set_rank_of_files(std::uint32_t rank) noexcept { told.store(rank, std::memory_order_relaxed); }

std::string path_of_this_process(const std::string& path) {
  const std::optional<std::uint32_t> rank = rank_of_files();
  const std::filesystem::path whole(path);
  if (!rank || !whole.has_filename() || path.starts_with("/dev/")) return path;
  const std::string name = text(whole.stem().string(), ".rank", *rank, whole.extension().string());
  return (whole.parent_path() / name).string();
}

void leave_files_to_others() noexcept { is_left_to_others.store(true, std::memory_order_relaxed); }

bool files_are_left_to_others() noexcept { return is_left_to_others.load(std::memory_order_relaxed); }

}  // namespace tutti
