#include "tutti/hal/site_notes.h"

#include <execinfo.h>

#include <cstring>
#include <mutex>

#include "tutti/base/environment.h"

namespace tutti {

namespace {

[[maybe_unused]] const bool was_asked_for = [] {
  const bool wanted = environment_bool("TUTTI_SYNC_STACKS").value_or(false);
  if (wanted) set_sync_stacks(true);
  return wanted;
}();

}  // namespace

namespace detail {

std::atomic<bool> keeps_stacks{false};

void SiteNotes::allowed(const char* why) noexcept {
  const std::lock_guard lock(lock_);
  const std::size_t length = ::strnlen(why, most_reason);
  std::memcpy(why_.data(), why, length);
  why_[length] = '\0';
}

void SiteNotes::take_stack(Nanoseconds blocked) noexcept {
  std::array<void*, most_stack_frames> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  const std::lock_guard lock(lock_);
  if (count <= 0 || stack_blocked_.load(std::memory_order_relaxed) >= blocked) return;
  stack_blocked_.store(blocked, std::memory_order_relaxed);
  frames_ = frames;
  frame_count_ = static_cast<std::size_t>(count);
}

void SiteNotes::clear() noexcept {
  const std::lock_guard lock(lock_);
  stack_blocked_.store(-1, std::memory_order_relaxed);
  why_[0] = '\0';
  frame_count_ = 0;
}

std::string SiteNotes::allowed_because() const {
  std::array<char, most_reason + 1> why{};
  {
    const std::lock_guard lock(lock_);
    why = why_;
  }
  return why.data();
}

std::vector<const void*> SiteNotes::stack() const {
  std::array<void*, most_stack_frames> frames{};
  std::size_t count = 0;
  {
    const std::lock_guard lock(lock_);
    frames = frames_;
    count = frame_count_;
  }
  return std::vector<const void*>(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace detail

void set_sync_stacks(bool on) noexcept {
  if (on) {
    std::array<void*, 1> first{};  // loads what the walk needs, so that no wait pays for it
    (void)::backtrace(first.data(), 1);
  }
  detail::keeps_stacks.store(on, std::memory_order_relaxed);
}

}  // namespace tutti
