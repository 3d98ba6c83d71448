#include "soak/holdings.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "engines/processes.h"
#include "soak/plan.h"

namespace tutti::soak {

namespace {

// By then every group has met and summed, with the largest sizes there are.
constexpr std::int64_t warm_up = 10 * between_gatherings;
// Exchanges that are made anew after a death, whose old ones are still there; sums of a step that the next one's stand beside.
constexpr std::int64_t most_more_descriptors = 8;
constexpr std::int64_t most_more_kib = 24 << 10;

}  // namespace

std::int64_t anonymous_kib(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;) {
    std::int64_t size = 0;
    if (word == "RssAnon:" && status >> size) return size;
  }
  return 0;
}

Holdings::Held Holdings::held_by(pid_t process) {
  std::error_code error;  // it may be gone
  const std::filesystem::directory_iterator open("/proc/" + std::to_string(process) + "/fd", error);
  return {error ? 0 : std::distance(begin(open), end(open)), anonymous_kib(process)};
}

std::optional<std::string> Holdings::look(pid_t process, std::int64_t step) {
  if (process != process_) {
    *this = Holdings();
    process_ = process;
    first_step_ = step;
  }
  const Held now = held_by(process);
  most_ = {std::max(most_.descriptors, now.descriptors), std::max(most_.kib, now.kib)};
  if (!is_warm_) warm_ = most_;
  is_warm_ = step >= first_step_ + warm_up;
  if (more_descriptors() > most_more_descriptors) {
    return "holds " + std::to_string(most_.descriptors) + " descriptors, and held at most " + std::to_string(warm_.descriptors) +
           " in its first " + std::to_string(warm_up) + " steps";
  }
  // A sanitizer keeps what was freed.
  if (more_kib() > most_more_kib && !testing_engines::is_sanitized()) {
    return "holds " + std::to_string(most_.kib) + " KiB, and held at most " + std::to_string(warm_.kib) + " in its first " +
           std::to_string(warm_up) + " steps";
  }
  return std::nullopt;
}

}  // namespace tutti::soak
