#include "tutti/mesh/engines/meeting_word.h"

namespace tutti {

namespace {

__extension__ typedef unsigned __int128 __attribute__((may_alias)) Wide;  // NOLINT(modernize-use-using): the attribute

Wide wide(MeetingWord word) noexcept { return static_cast<Wide>(word.high) << 64U | word.low; }
MeetingWord narrow(Wide wide) noexcept { return {static_cast<std::uint64_t>(wide), static_cast<std::uint64_t>(wide >> 64U)}; }

// Not the thread sanitizer's: it would take a lock of this process instead, and the others would not see it.
__attribute__((no_sanitize("thread"))) Wide swap_if(Wide* at, Wide expected, Wide desired) noexcept {
  return __sync_val_compare_and_swap(at, expected, desired);
}

// Members 0 to 31 follow the control word, the others fill the upper half.
MeetingWord bit_of(int member) noexcept {
  const auto place = static_cast<unsigned>(member) + 32U;
  return place < 64U ? MeetingWord{1ULL << place, 0} : MeetingWord{0, 1ULL << (place - 64U)};
}

}  // namespace

bool MeetingWord::has(int member) const noexcept {
  const MeetingWord bit = bit_of(member);
  return (low & bit.low) != 0 || (high & bit.high) != 0;
}

MeetingMembers MeetingWord::members() const noexcept { return MeetingMembers(high) << 32U | MeetingMembers(low >> 32U); }

MeetingWord MeetingWord::with(int member, bool drains) const noexcept {
  const MeetingWord bit = bit_of(member);
  return {low | bit.low | (drains ? 8U : 0U), high | bit.high};
}

MeetingWord MeetingWord::without(int member) const noexcept {
  const MeetingWord bit = bit_of(member);
  return {low & ~bit.low, high & ~bit.high};
}

MeetingWord MeetingWord::ended(MeetingState state) const noexcept {
  MeetingWord out{(low & ~7ULL) | static_cast<std::uint64_t>(state), high};
  if (state == MeetingState::released) {
    out.low ^= 16U;
    out.low = (out.low & ~32ULL) | (drains() ? 32U : 0U);
  }
  return out;
}

MeetingWord MeetingWord::next() const noexcept {
  const std::uint64_t kept = low & 48U;  // parity and release_drains
  return {static_cast<std::uint64_t>((attempt() + 1) & attempt_mask) << 6U | kept, 0};
}

MeetingWord AtomicMeetingWord::load() noexcept { return narrow(swap_if(reinterpret_cast<Wide*>(this), Wide{0}, Wide{0})); }

MeetingWord AtomicMeetingWord::guess() const noexcept {
  const std::uint64_t first = control.load(std::memory_order_acquire);
  return {static_cast<std::uint64_t>(first_members.load(std::memory_order_acquire)) << 32U | first,
          other_members.load(std::memory_order_acquire)};
}

bool AtomicMeetingWord::replace(MeetingWord& expected, MeetingWord desired) noexcept {
  const Wide before = wide(expected);
  const Wide found = swap_if(reinterpret_cast<Wide*>(this), before, wide(desired));
  if (found == before) return true;
  expected = narrow(found);
  return false;
}

}  // namespace tutti
