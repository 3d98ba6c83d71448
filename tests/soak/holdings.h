// What a rank's process holds, seen from outside: it may not grow with the steps it takes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tutti::soak {

// Of the process's own memory; 0: it is gone.
std::int64_t anonymous_kib(pid_t process);

class Holdings {
 public:
  // Of a process whose rank is at this step: what it holds too much of, if anything.
  std::optional<std::string> look(pid_t process, std::int64_t step);

  // The most it has grown by since it was warm.
  [[nodiscard]] std::int64_t more_descriptors() const { return most_.descriptors - warm_.descriptors; }
  [[nodiscard]] std::int64_t more_kib() const { return most_.kib - warm_.kib; }

 private:
  struct Held {
    std::int64_t descriptors = 0;
    std::int64_t kib = 0;
  };

  static Held held_by(pid_t process);

  pid_t process_ = 0;
  std::int64_t first_step_ = 0;
  bool is_warm_ = false;
  Held warm_;  // the most until then
  Held most_;
};

}  // namespace tutti::soak
