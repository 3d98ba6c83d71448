// The one word that decides a meeting in shared memory: the attempt, how it stands, and who has come, changed together or not at
// all.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>

namespace tutti {

inline constexpr int most_meeting_members = 96;
using MeetingMembers = std::bitset<most_meeting_members>;

enum class MeetingState : std::uint8_t { open, released, timed_out, failed, mismatch };

// 128 bits: 32 of control and one for each member.
struct MeetingWord {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  // Of the control word, which is what sleepers watch.
  static constexpr std::uint32_t attempt_bits = 26;
  static constexpr std::uint32_t attempt_mask = (1U << attempt_bits) - 1;
  static constexpr std::uint32_t attempt_of(std::uint32_t control) noexcept { return control >> 6U; }
  static constexpr MeetingState state_of(std::uint32_t control) noexcept { return static_cast<MeetingState>(control & 7U); }

  // Changes with each release and with nothing else. A member that missed many attempts knows by it what became of its own:
  // without it there was no release but that one.
  static constexpr bool parity_of(std::uint32_t control) noexcept { return (control >> 4U & 1U) != 0; }
  // drains() of the last release.
  static constexpr bool release_drains_of(std::uint32_t control) noexcept { return (control >> 5U & 1U) != 0; }

  [[nodiscard]] std::uint32_t control() const noexcept { return static_cast<std::uint32_t>(low); }
  [[nodiscard]] std::uint32_t attempt() const noexcept { return attempt_of(control()); }
  [[nodiscard]] MeetingState state() const noexcept { return state_of(control()); }
  // Someone who came has still to drain its devices.
  [[nodiscard]] bool drains() const noexcept { return (low >> 3U & 1U) != 0; }
  [[nodiscard]] bool parity() const noexcept { return parity_of(control()); }
  [[nodiscard]] bool release_drains() const noexcept { return release_drains_of(control()); }

  [[nodiscard]] bool has(int member) const noexcept;
  [[nodiscard]] bool is_empty() const noexcept { return high == 0 && (low >> 32U) == 0; }
  [[nodiscard]] MeetingMembers members() const noexcept;

  [[nodiscard]] MeetingWord with(int member, bool drains) const noexcept;
  [[nodiscard]] MeetingWord without(int member) const noexcept;
  [[nodiscard]] MeetingWord ended(MeetingState state) const noexcept;
  // The attempt after this one, with nobody there.
  [[nodiscard]] MeetingWord next() const noexcept;

  friend bool operator==(const MeetingWord&, const MeetingWord&) = default;
};

// In shared memory; all zero is the first attempt, with nobody there.
struct alignas(16) AtomicMeetingWord {
  std::atomic<std::uint32_t> control;
  std::atomic<std::uint32_t> first_members;
  std::atomic<std::uint64_t> other_members;

  [[nodiscard]] MeetingWord load() noexcept;
  // Its parts may be of different times: only good for a first try at replace().
  [[nodiscard]] MeetingWord guess() const noexcept;
  // What stood there is in `expected` when it fails.
  bool replace(MeetingWord& expected, MeetingWord desired) noexcept;
};
static_assert(sizeof(AtomicMeetingWord) == 16);

}  // namespace tutti
