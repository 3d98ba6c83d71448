// Keys and values that members leave for each other; who asks for a key that is not there yet waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tutti/base/clock.h"

namespace tutti::control {

class Store {
 public:
  struct Asker {
    int rank = 0;
    std::uint64_t ticket = 0;
    std::vector<int> needs = {};  // ascending: who must be there for the key to come
  };

  explicit Store(std::size_t limit) noexcept : limit_(limit) {}

  // False: there is no room. Who waited for the key is handed over and forgotten. `ranks` are those it is for, ascending; none:
  // whoever. It is kept `until` then.
  bool put(const std::string& key, std::string value, std::vector<int> ranks, Deadline until, std::vector<Asker>& waited);
  // nullptr: not there.
  [[nodiscard]] const std::string* find(const std::string& key) const;
  void wait(const std::string& key, Asker asker);
  // False: it did not wait.
  bool forget(const Asker& asker);
  void forget_all(int rank);
  // Those who need this one wait no longer.
  std::vector<Asker> take_who_need(int rank);
  // What is for a group with this one in it is kept until then at most.
  void forget_groups_of(int rank, Clock::time_point until);
  void tick(Clock::time_point now);
  [[nodiscard]] Deadline next_deadline() const;

  [[nodiscard]] std::size_t held() const noexcept { return held_; }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }

 private:
  struct Entry {
    std::string value;
    std::vector<int> ranks;
    Deadline until;
  };
  static std::size_t cost_of(const std::string& key, const Entry& entry);

  std::size_t limit_;
  std::size_t held_ = 0;
  std::map<std::string, Entry> values_;
  std::set<std::pair<Clock::time_point, std::string>> leaving_;  // keys, by the time they go
  std::map<std::string, std::vector<Asker>> waiting_;
};

}  // namespace tutti::control
