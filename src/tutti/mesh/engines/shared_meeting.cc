#include "tutti/mesh/engines/shared_meeting.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/engines/patience.h"

namespace tutti {

namespace {

constexpr std::size_t kept_attempts = 8;
constexpr std::size_t kept_texts = 4;
constexpr std::size_t report_words = SharedMeeting::longest_text / sizeof(std::uint64_t);

}  // namespace

// What one member says at one attempt. Kept for a few attempts more, for members that look late.
struct alignas(64) SharedMeeting::Slot {
  std::atomic<std::uint64_t> attempt;  // plus one; 0: being written
  std::atomic<std::uint64_t> hash;
  std::atomic<std::uint64_t> length;
  std::atomic<std::uint64_t> drains;
  std::atomic<Clock::rep> since;  // one clock for all processes of a host
  std::array<std::atomic<std::uint64_t>, report_words> text;
};

struct SharedMeeting::Shared {
  alignas(64) AtomicMeetingWord word;
  std::atomic<std::uint32_t> sleepers;
  // How earlier attempts ended. Written, with the same value by whoever, before the next one is opened.
  alignas(64) std::array<AtomicMeetingWord, kept_attempts> ended;
};

SharedMeeting::Slot& SharedMeeting::slot(int member, std::uint32_t attempt) const noexcept {
  auto* const slots = reinterpret_cast<Slot*>(reinterpret_cast<std::byte*>(shared_) + sizeof(Shared));
  return slots[static_cast<std::size_t>(member) * kept_texts + attempt % kept_texts];
}

std::size_t SharedMeeting::bytes_for(int members) noexcept {
  return sizeof(Shared) + static_cast<std::size_t>(members) * kept_texts * sizeof(Slot);
}

std::unique_ptr<SharedMeeting> SharedMeeting::open(Rendezvous& rendezvous, const std::string& key, int members, int index,
                                                   Deadline deadline) {
  if (members < 1 || members > most_members || index < 0 || index >= members) {
    throw InvalidArgument(
        text("Member ", index, " of ", members, " cannot meet in shared memory, which has room for ", most_members, "."), Site());
  }
  return std::make_unique<SharedMeeting>(SharedSegment::meet(rendezvous, key, bytes_for(members), index == 0, deadline), members,
                                         index);
}

SharedMeeting::SharedMeeting(SharedSegment segment, int members, int index)
    : segment_(std::move(segment)), shared_(static_cast<Shared*>(segment_.data())), members_(members), index_(index) {}

void SharedMeeting::say(std::uint32_t attempt) const noexcept {
  Slot& mine = slot(index_, attempt);
  // Whoever sees one of the stores that follow sees this one too.
  mine.attempt.store(0, std::memory_order_relaxed);
  mine.hash.store(hash_, std::memory_order_release);
  mine.drains.store(drains_ ? 1 : 0, std::memory_order_release);
  mine.since.store(since_.time_since_epoch().count(), std::memory_order_release);
  mine.length.store(what_.size(), std::memory_order_release);
  for (std::size_t at = 0; at < what_.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t part = 0;
    std::memcpy(&part, what_.data() + at, std::min(sizeof part, what_.size() - at));
    mine.text[at / sizeof part].store(part, std::memory_order_release);
  }
  mine.attempt.store(std::uint64_t{attempt} + 1, std::memory_order_release);
}

bool SharedMeeting::all_agree(std::uint32_t attempt) const noexcept {
  for (int member = 0; member < members_; ++member) {
    if (slot(member, attempt).hash.load(std::memory_order_relaxed) != hash_) return false;
  }
  return true;
}

std::vector<MeetingSide> SharedMeeting::sides(std::uint32_t attempt) const {
  const auto text_of = [&](int member) {
    const Slot& said = slot(member, attempt);
    std::string words(said.length.load(std::memory_order_acquire) % (longest_text + 1), '\0');
    for (std::size_t at = 0; at < words.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t part = said.text[at / sizeof part].load(std::memory_order_acquire);
      std::memcpy(words.data() + at, &part, std::min(sizeof part, words.size() - at));
    }
    // It has gone on meanwhile and says something else there.
    return said.attempt.load(std::memory_order_relaxed) == std::uint64_t{attempt} + 1 ? words : std::string("(gone on since)");
  };
  const std::uint64_t first = slot(0, attempt).hash.load(std::memory_order_relaxed);
  for (int member = 1; member < members_; ++member) {
    if (slot(member, attempt).hash.load(std::memory_order_relaxed) == first) continue;
    return {{0, text_of(0)}, {member, text_of(member)}};
  }
  return {};
}

MeetingMembers SharedMeeting::draining_at(std::uint32_t attempt) const noexcept {
  MeetingMembers out;
  for (int member = 0; member < members_; ++member) {
    const Slot& said = slot(member, attempt);
    if (said.attempt.load(std::memory_order_acquire) != std::uint64_t{attempt} + 1) continue;
    out[static_cast<std::size_t>(member)] = said.drains.load(std::memory_order_relaxed) != 0;
  }
  return out;
}

void SharedMeeting::note_first(Deadline& since, std::uint32_t attempt) const noexcept {
  for (int member = 0; member < members_; ++member) {
    const Slot& said = slot(member, attempt);
    const Clock::time_point came{Clock::duration(said.since.load(std::memory_order_acquire))};
    if (said.attempt.load(std::memory_order_acquire) != std::uint64_t{attempt} + 1) continue;
    if (!since || came < *since) since = came;
  }
}

// The word with this member there; the last to come decides.
MeetingWord SharedMeeting::joined(MeetingWord word, bool drains) const noexcept {
  const MeetingWord after = word.with(index_, drains);
  if (after.members().count() != static_cast<std::size_t>(members_)) return after;
  return after.ended(all_agree(after.attempt()) ? MeetingState::released : MeetingState::mismatch);
}

// Before the next attempt takes the place of one that was given up. A release leaves its mark in the word itself.
void SharedMeeting::keep(MeetingWord& word) noexcept {
  if (word.state() == MeetingState::released) return;
  word = shared_->word.load();  // was a guess
  if (word.state() == MeetingState::open || word.state() == MeetingState::released) return;
  AtomicMeetingWord& kept = shared_->ended[word.attempt() % kept_attempts];
  MeetingWord stands = kept.load();
  while (stands != word && !kept.replace(stands, word)) {}
}

bool SharedMeeting::put(MeetingWord& before, MeetingWord after) noexcept {
  if (!shared_->word.replace(before, after)) return false;
  if (after.state() != MeetingState::open) wake_all(&shared_->word.control, shared_->sleepers);
  return true;
}

void SharedMeeting::arrive(std::uint64_t hash, std::string_view what, bool drains, Clock::time_point now) {
  since_ = now;
  hash_ = hash;
  what_.assign(what.substr(0, longest_text));
  drains_ = drains;
  MeetingWord word = shared_->word.guess();
  for (;;) {
    if (word.state() != MeetingState::open) keep(word);
    const MeetingWord base = word.state() == MeetingState::open ? word : word.next();
    say(base.attempt());
    const MeetingWord after = joined(base, drains);
    if (put(word, after)) {
      attempt_ = base.attempt();
      parity_ = base.parity();
      return;
    }
  }
}

void SharedMeeting::ready() noexcept {
  drains_ = false;
  slot(index_, attempt_).drains.store(0, std::memory_order_relaxed);
}

// The second half of a meeting that drains is the attempt right after the first. False: it was given up already, without this
// one.
bool SharedMeeting::join_only(std::uint32_t attempt) noexcept {
  say(attempt);
  MeetingWord word = shared_->word.load();
  for (;;) {
    MeetingWord base = word;
    if (word.attempt() != attempt) {
      if (word.attempt() != ((attempt - 1) & MeetingWord::attempt_mask)) return false;
      base = word.next();
    } else if (word.state() != MeetingState::open) {
      return false;
    }
    const MeetingWord after = joined(base, false);
    if (put(word, after)) return true;
  }
}

void SharedMeeting::end(std::uint32_t attempt, MeetingState state) noexcept {
  MeetingWord word = shared_->word.load();
  while (word.attempt() == attempt && word.state() == MeetingState::open) {
    if (put(word, word.ended(state))) return;
  }
}

// Of an attempt that was not released.
MeetingOutcome SharedMeeting::given_up(std::uint32_t attempt) const {
  MeetingOutcome out;
  out.attempt = attempt;
  out.ending = MeetingState::timed_out;
  MeetingWord word = shared_->word.load();
  if (word.attempt() != attempt) word = shared_->ended[attempt % kept_attempts].load();
  if (word.attempt() == attempt && word.state() > MeetingState::released) {  // else it is too long ago
    out.ending = word.state();
    out.came = word.members();
  }
  out.draining = draining_at(attempt);
  note_first(out.since, attempt);
  if (out.ending == MeetingState::mismatch) out.sides = sides(attempt);
  return out;
}

// Comes back with the word as it was when it was decided, or later.
std::uint32_t SharedMeeting::wait_for(std::uint32_t attempt, Deadline deadline, MeetingDelay& delay) {
  std::atomic<std::uint32_t>& control = shared_->word.control;
  for (;;) {
    const bool is_delay_first = delay.call && (!deadline || delay.at < *deadline);
    Patience patience(&control, shared_->sleepers, is_delay_first ? Deadline(delay.at) : deadline);
    for (;;) {
      const std::uint32_t seen = control.load(std::memory_order_acquire);
      if (MeetingWord::attempt_of(seen) != attempt || MeetingWord::state_of(seen) != MeetingState::open) return seen;
      if (failed_.load(std::memory_order_relaxed)) {
        end(attempt, MeetingState::failed);
        continue;
      }
      if (patience.once_more(seen)) continue;
      if (is_delay_first) break;
      end(attempt, MeetingState::timed_out);
    }
    delay.at = delay.call(shared_->word.load().members());
  }
}

// Of the second half: some are not at it yet, and say when they came where the first was.
MeetingOutcome SharedMeeting::not_drained() const {
  MeetingOutcome out = given_up(attempt_);
  out.is_draining = true;
  note_first(out.since, (attempt_ - 1) & MeetingWord::attempt_mask);
  return out;
}

MeetingOutcome SharedMeeting::wait(Deadline deadline, const MeetingDelay& delay) {
  if (drains_) throw InvalidState("A member that drains waits at a meeting before it said that it is ready.", Site());
  MeetingDelay next = delay;
  std::uint32_t seen = wait_for(attempt_, deadline, next);
  if (MeetingWord::parity_of(seen) == parity_) return given_up(attempt_);
  parity_ = !parity_;
  const bool has_second = MeetingWord::release_drains_of(seen);
  if (has_second) {
    attempt_ = (attempt_ + 1) & MeetingWord::attempt_mask;
    if (join_only(attempt_)) seen = wait_for(attempt_, deadline, next);
    if (MeetingWord::parity_of(seen) == parity_) {
      return not_drained();
    }
    parity_ = !parity_;
  }
  MeetingOutcome out;
  out.attempt = attempt_;
  out.is_draining = has_second;
  MeetingMembers all;
  for (int member = 0; member < members_; ++member) all.set(static_cast<std::size_t>(member));
  out.came = all;
  return out;
}

void SharedMeeting::withdraw() noexcept {
  drains_ = false;
  MeetingWord word = shared_->word.load();
  while (word.attempt() == attempt_ && word.state() == MeetingState::open) {
    if (shared_->word.replace(word, word.without(index_))) return;
  }
  if (word.parity() != parity_ && word.release_drains()) end_second(MeetingState::failed);
}

// All are here already and wait for this one to be ready.
void SharedMeeting::end_second(MeetingState state) noexcept {
  const std::uint32_t second = (attempt_ + 1) & MeetingWord::attempt_mask;
  MeetingWord word = shared_->word.load();
  while ((word.attempt() == attempt_ && word.state() == MeetingState::released) ||
         (word.attempt() == second && word.state() == MeetingState::open)) {
    const MeetingWord base = word.attempt() == second ? word : word.next();
    if (put(word, base.ended(state))) return;
  }
}

MeetingOutcome SharedMeeting::give_up() {
  drains_ = false;
  end(attempt_, MeetingState::timed_out);
  if (shared_->word.load().parity() == parity_) return given_up(attempt_);
  end_second(MeetingState::timed_out);
  parity_ = !parity_;
  attempt_ = (attempt_ + 1) & MeetingWord::attempt_mask;
  return not_drained();
}

bool SharedMeeting::is_waiting() const noexcept {
  const MeetingWord word = shared_->word.load();
  return word.state() == MeetingState::open && word.has(index_);
}

void SharedMeeting::end_for_all() noexcept {
  MeetingWord word = shared_->word.load();
  while (word.state() == MeetingState::open && word.has(index_)) {
    if (put(word, word.ended(MeetingState::failed))) return;
  }
}

void SharedMeeting::fail() noexcept {
  failed_.store(true);
  end_for_all();
}

}  // namespace tutti
