// Arrivals that were given up without an answer, the last of each group. What was sent may have come late and counted all the
// same: then the others have gone on, and the next try must not wait for them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace tutti::control {

class Unanswered {
 public:
  struct Arrived {
    std::uint64_t ticket = 0;  // still open: an answer comes in any case, if only that it was taken back in time
    std::string what;
  };

  void add(const std::string& group, Arrived arrived) {
    const std::lock_guard lock(mutex_);
    arrived_[group] = std::move(arrived);
  }
  std::optional<Arrived> take(const std::string& group) {
    const std::lock_guard lock(mutex_);
    const auto found = arrived_.find(group);
    if (found == arrived_.end()) return std::nullopt;
    std::optional<Arrived> taken = std::move(found->second);
    arrived_.erase(found);
    return taken;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Arrived> arrived_;
};

}  // namespace tutti::control
