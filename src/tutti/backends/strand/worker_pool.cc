#include "tutti/backends/strand/worker_pool.h"

#include <immintrin.h>

#include <algorithm>

#include "tutti/backends/strand/host_waiter.h"
#include "tutti/backends/strand/strand.h"
#include "tutti/journal/journal.h"

namespace tutti {

namespace {

// About 20 us: longer than the gap between two ops of a busy host, shorter than anyone would notice.
constexpr int spins_before_parking = 600;
// Work a strand may run before others of its priority get their turn.
constexpr int turn = 64;

std::size_t list_of(int priority) { return priority > 0 ? 0 : priority == 0 ? 1 : 2; }

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

void WorkerPool::submitted(Strand& strand) {
  if (!strand.claimed.exchange(true, std::memory_order_seq_cst)) make_ready(strand);
}

void WorkerPool::resumed(Strand& strand) noexcept { make_ready(strand); }

void WorkerPool::make_ready(Strand& strand) noexcept {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    ReadyList& list = ready_[list_of(strand.options().priority)];
    strand.next_ready = nullptr;
    (list.last != nullptr ? list.last->next_ready : list.first) = &strand;
    list.last = &strand;
    ready_count_.fetch_add(1, std::memory_order_release);
    wake = parked_.load(std::memory_order_relaxed) == workers_ || ready_count_.load(std::memory_order_relaxed) > 1;
  }
  if (wake) wake_.notify_one();
}

Strand* WorkerPool::take_ready() noexcept {
  for (ReadyList& list : ready_) {
    Strand* strand = list.first;
    if (strand == nullptr) continue;
    list.first = strand->next_ready;
    if (list.first == nullptr) list.last = nullptr;
    ready_count_.fetch_sub(1, std::memory_order_relaxed);
    return strand;
  }
  return nullptr;
}

WorkerPool::Team* WorkerPool::join_team() noexcept {
  while (teams_ != nullptr && !teams_->has_chunks()) close(*teams_);
  if (teams_ != nullptr) teams_->helpers.fetch_add(1, std::memory_order_relaxed);
  return teams_;
}

void WorkerPool::close(Team& team) noexcept {
  if (!team.is_open) return;
  Team** link = &teams_;
  while (*link != &team) link = &(*link)->next_team;
  *link = team.next_team;
  team.is_open = false;
  ready_count_.fetch_sub(1, std::memory_order_relaxed);
}

bool WorkerPool::spin_for_work() const noexcept {
  for (int i = 0; i < spins_before_parking; ++i) {
    if (ready_count_.load(std::memory_order_acquire) > 0 || stopping_.load(std::memory_order_relaxed)) return true;
    _mm_pause();
  }
  return false;
}

void WorkerPool::work() {
  journal::name_this_thread(name_);
  for (;;) {
    Strand* strand = nullptr;
    Team* team = nullptr;
    {
      std::unique_lock lock(mutex_);
      for (;;) {
        team = join_team();
        if (team != nullptr) break;
        strand = take_ready();
        if (strand != nullptr) break;
        if (stopping_.load(std::memory_order_relaxed)) return;
        lock.unlock();
        const bool found = spin_for_work();
        lock.lock();
        if (found || ready_count_.load(std::memory_order_relaxed) > 0) continue;
        parked_.fetch_add(1, std::memory_order_relaxed);
        wake_.wait(lock, [&] { return ready_count_.load(std::memory_order_relaxed) > 0 || stopping_.load(std::memory_order_relaxed); });
        parked_.fetch_sub(1, std::memory_order_relaxed);
      }
    }
    if (team != nullptr) {
      team->work();
      const std::lock_guard lock(mutex_);
      if (team->helpers.fetch_sub(1, std::memory_order_acq_rel) == 1) team_done_.notify_all();
    } else {
      drive(*strand);
    }
  }
}

void WorkerPool::drive(Strand& strand) noexcept {
  int idle_spins = 0;
  int ran = 0;
  for (;;) {
    switch (strand.run_one()) {
      case Strand::Progress::waiting: return;
      case Strand::Progress::ran:
        idle_spins = 0;
        if (++ran >= turn && ready_count_.load(std::memory_order_relaxed) > 0) {
          make_ready(strand);
          return;
        }
        continue;
      case Strand::Progress::empty: break;
    }
    // The host is probably about to submit more: a strand that is still claimed is fed without a lock or a wake-up.
    if (idle_spins++ < spins_before_parking && ready_count_.load(std::memory_order_relaxed) == 0 && !stopping_.load(std::memory_order_relaxed)) {
      _mm_pause();
      continue;
    }
    strand.claimed.store(false, std::memory_order_seq_cst);
    if (!strand.has_work() || strand.claimed.exchange(true, std::memory_order_seq_cst)) return;
  }
}

bool WorkerPool::block_until(Strand& strand, std::uint64_t value, Deadline deadline) { return wait_on_host(timeline(strand.id()), value, deadline); }

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
}

std::size_t WorkerPool::limit_width(std::size_t width) noexcept {
  width_.store(std::clamp<std::size_t>(width, 1, workers_), std::memory_order_relaxed);
  return width_.load(std::memory_order_relaxed);
}

void WorkerPool::Team::work() noexcept {
  for (;;) {
    const std::size_t chunk = next.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= chunks) return;
    try {
      body(context, chunk);
    } catch (...) {
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
      next.store(chunks, std::memory_order_relaxed);
    }
  }
}

void WorkerPool::run(std::size_t chunks, Body body, void* context) {
  if (chunks <= 1 || width() <= 1 || stopping_.load(std::memory_order_relaxed)) {
    for (std::size_t i = 0; i < chunks; ++i) body(context, i);
    return;
  }
  Team team;
  team.body = body;
  team.context = context;
  team.chunks = chunks;
  const std::size_t wanted = std::min<std::size_t>(chunks, width()) - 1;
  {
    const std::lock_guard lock(mutex_);
    team.next_team = teams_;
    teams_ = &team;
    ready_count_.fetch_add(1, std::memory_order_release);
  }
  for (std::size_t i = 0; i < wanted; ++i) wake_.notify_one();
  team.work();
  {
    const std::lock_guard lock(mutex_);
    close(team);
  }
  // Computing, not waiting: helpers are inside their last chunk.
  for (int i = 0; i < spins_before_parking && team.helpers.load(std::memory_order_acquire) != 0; ++i) _mm_pause();
  if (team.helpers.load(std::memory_order_acquire) != 0) {
    std::unique_lock lock(mutex_);
    team_done_.wait(lock, [&] { return team.helpers.load(std::memory_order_acquire) == 0; });
  }
  if (team.error) std::rethrow_exception(team.error);
}

}  // namespace tutti
