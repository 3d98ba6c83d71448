// Where this process waits elsewhere, as it has told the coordinator; which asks, before it calls that a deadlock, whether it
// still does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace tutti::control {

class Waits {
 public:
  using Place = std::pair<std::string, std::string>;  // group and what

  // A number for it, told apart from those of earlier waits.
  std::uint64_t add(Place place, std::function<bool()> still) {
    const std::lock_guard lock(mutex_);
    waits_[std::move(place)] = {++last_, std::move(still)};
    return last_;
  }
  // False: it was not there. From now on `still` is not called.
  bool remove(const Place& place) {
    const std::lock_guard lock(mutex_);
    return waits_.erase(place) != 0;
  }
  [[nodiscard]] bool still(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [place, wait] : waits_) {
      if (wait.number == number) return !wait.still || wait.still();
    }
    return false;
  }

 private:
  struct Wait {
    std::uint64_t number = 0;
    std::function<bool()> still;
  };
  mutable std::mutex mutex_;
  std::map<Place, Wait> waits_;
  std::uint64_t last_ = 0;
};

}  // namespace tutti::control
