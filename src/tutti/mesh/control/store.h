// Keys and values that members leave for each other; who asks for a key that is not there yet waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tutti::control {

class Store {
 public:
  struct Asker {
    int rank = 0;
    std::uint64_t ticket = 0;
  };

  explicit Store(std::size_t limit) noexcept : limit_(limit) {}

  // False: there is no room. Who waited for the key is handed over and forgotten.
  bool put(const std::string& key, std::string value, std::vector<Asker>& waited);
  // nullptr: not there, and the asker waits.
  const std::string* get(const std::string& key, Asker asker);
  // False: it did not wait.
  bool forget(Asker asker);
  void forget_all(int rank);

  [[nodiscard]] std::size_t held() const noexcept { return held_; }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }

 private:
  std::size_t limit_;
  std::size_t held_ = 0;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<Asker>> waiting_;
};

}  // namespace tutti::control
