#include "tutti/backends/strand/worker_pool.h"

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "tutti/backends/strand/host_waiter.h"
#include "tutti/backends/strand/leave_core.h"
#include "tutti/backends/strand/strand.h"
#include "tutti/journal/journal.h"

namespace tutti {

namespace {

// Longer than the gap between two ops of a busy host, shorter than anyone would notice.
constexpr std::chrono::microseconds spell_before_parking{50};
constexpr int looks_before_release = 600;  // at a strand that ran empty
// Work a strand may run before others of its priority get their turn.
constexpr int turn = 64;
constexpr int pauses_between_looks = 24;
constexpr int looks_between_turns = 16;

// The pool this thread works for.
thread_local const WorkerPool* own_pool = nullptr;

// Gives the core away. True: somebody took it, perhaps of another process, so whoever spins here is in the way.
bool is_core_wanted() noexcept {
  constexpr std::chrono::microseconds nobody_came{3};
  const auto begin = Clock::now();
  std::this_thread::yield();
  return Clock::now() - begin > nobody_came;
}

// Whether it came true within the spell. Now and then it asks whether to go on.
template <class Condition, class GoesOn>
bool spin_until(Condition&& is_true, GoesOn&& goes_on) {
  constexpr int pauses_between_questions = 64;
  const auto end = Clock::now() + spell_before_parking;
  for (;;) {
    for (int i = 0; i < pauses_between_questions; ++i) {
      if (is_true()) return true;
      _mm_pause();
    }
    if (Clock::now() >= end || !goes_on()) return is_true();
  }
}

}  // namespace

WorkerPool::WorkerPool(unsigned workers, const char* name, bool lends_cores)
    : workers_(std::max(1U, workers)), name_(name), width_(lends_cores ? workers_ : 1) {}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::attach(Strand& strand) {
  const std::lock_guard lock(mutex_);
  strands_.push_back(&strand);
  start_threads();
}

void WorkerPool::start_threads() {
  if (!threads_.empty()) return;
  threads_.reserve(workers_);
  for (unsigned i = 0; i < workers_; ++i) threads_.emplace_back([this] { work(); });
}

// Written only when it changes, so that the line stays shared.
void WorkerPool::note_caller() noexcept {
  const int core = ::sched_getcpu();
  if (core_of_caller_.load(std::memory_order_relaxed) != core) core_of_caller_.store(core, std::memory_order_relaxed);
}

bool WorkerPool::is_in_the_way() const noexcept { return core_of_caller_.load(std::memory_order_relaxed) == ::sched_getcpu(); }

void WorkerPool::submitted(Strand& strand) {
  note_caller();
  if (!strand.claimed.exchange(true, std::memory_order_seq_cst)) make_ready(strand);
}

void WorkerPool::resumed(Strand& strand) noexcept { make_ready(strand); }

void WorkerPool::ReadyList::add(Strand& strand) noexcept {
  const int priority = strand.options().priority;
  Strand** link = &first;
  if (last != nullptr && last->options().priority >= priority) {
    link = &last->next_ready;
  } else {
    while (*link != nullptr && (*link)->options().priority >= priority) link = &(*link)->next_ready;
  }
  strand.next_ready = *link;
  *link = &strand;
  if (strand.next_ready == nullptr) last = &strand;
}

Strand* WorkerPool::ReadyList::take() noexcept {
  Strand* strand = first;
  if (strand == nullptr) return nullptr;
  first = strand->next_ready;
  if (first == nullptr) last = nullptr;
  return strand;
}

void WorkerPool::make_ready(Strand& strand) noexcept {
  {
    std::unique_lock lock(mutex_);
    if (stopped_) [[unlikely]] {
      lock.unlock();
      return strand.resolve_rest();
    }
    ready_.add(strand);
    ready_count_.fetch_add(1, std::memory_order_seq_cst);
  }
  // A worker of this pool looks at what is ready itself, before it runs anything else.
  if (own_pool != this) wake_for_ready(1);
}

void WorkerPool::wake_for_ready(std::size_t most) noexcept {
  const std::size_t ready = ready_count_.load(std::memory_order_seq_cst);
  const std::size_t searching = searching_.load(std::memory_order_seq_cst);
  if (ready <= searching || parked_.load(std::memory_order_relaxed) == 0) return;
  for (std::size_t left = std::min(most, ready - searching); left > 0; --left) wake_.notify_one();
}

std::unique_lock<std::mutex> WorkerPool::hold() noexcept {
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    std::unique_lock held(mutex_, std::try_to_lock);
    if (held) return held;
    _mm_pause();
  }
  return std::unique_lock(mutex_);
}

WorkerPool::Team* WorkerPool::join_team() noexcept {
  while (teams_ != nullptr && teams_->chunks.is_empty()) close(*teams_);
  Team* team = teams_;
  if (team == nullptr) return nullptr;
  team->helpers.fetch_add(1, std::memory_order_relaxed);
  team->core_of_helper.store(::sched_getcpu(), std::memory_order_relaxed);
  const std::size_t left = team->seats.load(std::memory_order_relaxed) - 1;
  if (left == 0) teams_ = team->next_team;
  ready_count_.fetch_sub(1, std::memory_order_relaxed);
  team->seats.store(left, std::memory_order_release);
  return team;
}

void WorkerPool::close(Team& team) noexcept {
  const std::size_t left = team.seats.load(std::memory_order_relaxed);
  if (left == 0) return;
  Team** link = &teams_;
  while (*link != &team) link = &(*link)->next_team;
  *link = team.next_team;
  ready_count_.fetch_sub(left, std::memory_order_relaxed);
  team.seats.store(0, std::memory_order_release);
}

void WorkerPool::work() {
  journal::name_this_thread(name_);
  own_pool = this;
  std::unique_lock held = hold();
  for (;;) {
    if (teams_ != nullptr && is_in_the_way()) {
      held.unlock();
      (void)leave_core(core_of_caller_.load(std::memory_order_relaxed));
      held = hold();
    }
    Team* team = join_team();
    Strand* strand = team == nullptr ? ready_.take() : nullptr;
    if (team == nullptr && strand == nullptr) {
      if (stopping_.load(std::memory_order_relaxed)) return;
      search(held);
      continue;
    }
    if (strand != nullptr) ready_count_.fetch_sub(1, std::memory_order_seq_cst);
    held.unlock();
    wake_for_ready(1);  // for the rest, while this worker is busy
    if (team != nullptr) {
      team->work();
      held = hold();
      if (team->helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) team_done_.notify_all();
    } else {
      drive(*strand);
      held = hold();
    }
  }
}

void WorkerPool::search(std::unique_lock<std::mutex>& held) noexcept {
  const auto is_wanted = [this] {
    return ready_count_.load(std::memory_order_acquire) > 0 || stopping_.load(std::memory_order_relaxed);
  };
  // As many as a kernel's caller can use; more of them would only take the cores of those who work.
  if (searching_.load(std::memory_order_relaxed) < std::max<std::size_t>(1, width() - 1)) {
    searching_.fetch_add(1, std::memory_order_seq_cst);
    held.unlock();
    // Who helps kernels is wanted again within microseconds, and is not there in time if it has to be woken.
    (void)spin_until([&] { return is_wanted() || is_in_the_way(); }, [&] { return width() > 1 || !is_core_wanted(); });
    held = hold();
    searching_.fetch_sub(1, std::memory_order_seq_cst);
    if (is_wanted()) return;
  }
  parked_.fetch_add(1, std::memory_order_relaxed);
  wake_.wait(held, is_wanted);
  parked_.fetch_sub(1, std::memory_order_relaxed);
}

void WorkerPool::drive(Strand& strand) noexcept {
  int ran = 0;
  for (;;) {
    switch (strand.run_one()) {
      case Strand::Progress::waiting: return;
      case Strand::Progress::ran:
        if (ready_count_.load(std::memory_order_relaxed) == 0) continue;
        if (++ran >= turn) {
          make_ready(strand);
          return;
        }
        if (strand.can_run()) wake_for_ready(1);
        continue;
      case Strand::Progress::empty: break;
    }
    // The host is probably about to submit more: a strand that is still claimed is fed without a lock or a wake-up.
    searching_.fetch_add(1, std::memory_order_seq_cst);
    for (int i = 1; i < looks_before_release && !strand.has_work(); ++i) {
      if (ready_count_.load(std::memory_order_relaxed) > 0 || stopping_.load(std::memory_order_relaxed) || is_in_the_way()) break;
      if (i % looks_between_turns == 0 && is_core_wanted()) break;
      // Every look takes the counter's cache line from the host, which then pays for it with its next op.
      for (int pause = 0; pause < pauses_between_looks; ++pause) _mm_pause();
    }
    searching_.fetch_sub(1, std::memory_order_seq_cst);
    if (!strand.has_work()) {
      strand.claimed.store(false, std::memory_order_seq_cst);
      if (!strand.has_work() || strand.claimed.exchange(true, std::memory_order_seq_cst)) return;
    }
    wake_for_ready(1);
  }
}

bool WorkerPool::block_until(Strand& strand, std::uint64_t value, Deadline deadline) {
  return wait_on_host(timeline(strand.id()), value, deadline);
}

void WorkerPool::stop() noexcept {
  std::vector<Strand*> strands;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_.load(std::memory_order_relaxed)) return;
    strands = strands_;
  }
  for (Strand* strand : strands) strand->cancel();
  for (Strand* strand : strands) wait_on_host(timeline(strand->id()), strand->last().value, std::nullopt);
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true, std::memory_order_relaxed);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  ReadyList left;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    left = std::exchange(ready_, {});
  }
  while (Strand* strand = left.take()) strand->resolve_rest();
}

std::size_t WorkerPool::limit_width(std::size_t width) noexcept {
  width_.store(std::clamp<std::size_t>(width, 1, workers_), std::memory_order_relaxed);
  return width_.load(std::memory_order_relaxed);
}

void WorkerPool::Team::work() noexcept {
  const std::size_t share = chunks.claim(::sched_getcpu());
  while (const std::optional<std::size_t> chunk = chunks.take(share)) {
    try {
      body(context, *chunk);
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      chunks.clear();
    }
  }
}

void WorkerPool::run(std::size_t chunks, Body body, void* context) {
  const std::size_t members = std::min(chunks, width());
  if (members <= 1 || chunks > Shares::most_chunks || stopping_.load(std::memory_order_relaxed)) {
    for (std::size_t i = 0; i < chunks; ++i) body(context, i);
    return;
  }
  Team team{.body = body, .context = context, .chunks = Shares(chunks, members)};
  note_caller();
  const std::size_t seats = members - 1;
  team.seats.store(seats, std::memory_order_relaxed);
  {
    const auto held = hold();
    team.next_team = teams_;
    teams_ = &team;
    ready_count_.fetch_add(seats, std::memory_order_seq_cst);
  }
  wake_for_ready(seats);
  team.work();
  if (team.seats.load(std::memory_order_acquire) != 0) {
    const auto held = hold();
    close(team);
  }
  // Computing, not waiting: helpers are inside their last chunk. The core is left only to one of them: on one that another
  // program uses too, a yield gives that one its whole turn, milliseconds.
  const auto all_left = [&] { return team.helpers.load(std::memory_order_acquire) == 0; };
  const auto lets_helper_run = [&] {
    if (team.core_of_helper.load(std::memory_order_relaxed) == ::sched_getcpu()) std::this_thread::yield();
    return true;
  };
  if (!spin_until(all_left, lets_helper_run)) {
    std::unique_lock held = hold();
    team_done_.wait(held, all_left);
  }
  if (team.error) std::rethrow_exception(team.error);
}

}  // namespace tutti
