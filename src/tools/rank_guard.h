// The process between the launcher and a rank. What the rank leaves behind, in whatever group or session, becomes a child of it
// and so is found; it is killed when the launcher says so, or is killed itself.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>

namespace tutti::tools {

class RankGuard {
 public:
  enum class Reach : std::uint8_t { group, everything };  // what is killed: in the rank's group, or all that it has started

  // A process that `become` turns into the rank; it must not return. Before there are threads. Throws std::system_error.
  RankGuard(const std::function<void()>& become, Reach reach);
  RankGuard(RankGuard&& other) noexcept;
  RankGuard(const RankGuard&) = delete;
  RankGuard& operator=(const RankGuard&) = delete;
  RankGuard& operator=(RankGuard&&) = delete;
  // Sweeps, and waits for it.
  ~RankGuard();

  // No other process has this number before sweep().
  [[nodiscard]] pid_t rank() const noexcept { return rank_; }
  // Readable when one of the next two has something to say; -1: no more.
  [[nodiscard]] int news() const noexcept { return news_; }
  // Of the rank, as of waitpid(), when it has ended; once.
  std::optional<int> take_status() noexcept;
  // When nothing is left that it can kill. Where it was killed itself, so is the group of the rank.
  bool has_ended() noexcept;

  void sweep() noexcept;
  void wait() noexcept;
  // What cannot be killed is not waited for.
  void leave() noexcept;
  [[nodiscard]] bool was_killed() const noexcept { return was_killed_; }

 private:
  // The status of the rank, where it has lost its guard.
  std::optional<int> finish() noexcept;

  pid_t pid_ = -1;
  pid_t rank_ = -1;
  int news_ = -1;
  bool was_killed_ = false;
};

// Of this process, and what becomes its child by that. Waits for their ends, except of what it may not kill.
void kill_children() noexcept;

}  // namespace tutti::tools
