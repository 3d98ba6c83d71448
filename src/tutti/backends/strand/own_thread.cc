#include "tutti/backends/strand/own_thread.h"

#include <limits>
#include <utility>

#include "tutti/backends/strand/host_waiter.h"
#include "tutti/backends/strand/strand.h"
#include "tutti/journal/journal.h"

namespace tutti {

OwnThread::~OwnThread() { stop(); }

void OwnThread::attach(Strand& strand) {
  strand_ = &strand;
  thread_ = std::thread([this] { work(); });
}

void OwnThread::submitted(Strand& strand) {
  if (strand.claimed.exchange(true, std::memory_order_seq_cst)) return;
  // Nobody is woken for work that cannot start yet.
  if (!strand.has_work() || !strand.must_wait()) make_ready(strand);
}

void OwnThread::resumed(Strand& strand) noexcept { make_ready(strand); }

void OwnThread::make_ready(Strand& strand) noexcept {
  Word* helper = nullptr;
  {
    std::unique_lock lock(mutex_);
    if (stopped_) [[unlikely]] {
      lock.unlock();
      return strand.resolve_rest();
    }
    is_ready_ = true;
    helper = std::exchange(helper_, nullptr);
    if (helper != nullptr) helper->store(1, std::memory_order_release);  // it stays until it has had the lock
  }
  if (helper != nullptr) {
    wake_host(helper);
  } else {
    wake_.notify_one();
  }
}

bool OwnThread::take() noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(is_ready_, false);
}

void OwnThread::drive(Strand& strand, std::uint64_t value) noexcept {
  for (;;) {
    const Strand::Progress progress = strand.run_one();
    if (progress == Strand::Progress::waiting) return;
    if (progress == Strand::Progress::ran) {
      if (strand.line().completed() < value) continue;
      if (strand.has_work()) return make_ready(strand);
    }
    strand.claimed.store(false, std::memory_order_seq_cst);
    if (!strand.has_work() || strand.claimed.exchange(true, std::memory_order_seq_cst)) return;
  }
}

void OwnThread::work() {
  journal::name_this_thread(name_);
  std::unique_lock held(mutex_);
  for (;;) {
    wake_.wait(held, [this] { return is_ready_ || stopping_; });
    if (!std::exchange(is_ready_, false)) return;
    held.unlock();
    drive(*strand_, std::numeric_limits<std::uint64_t>::max());
    held.lock();
  }
}

void OwnThread::pause(Strand& strand, std::uint64_t value) {
  Timeline& line = timeline(strand.id());
  Word woken{0};
  if (!line.when_reached(value, notify_host, &woken)) return;
  {
    const std::lock_guard lock(mutex_);
    if (is_ready_) woken.store(1, std::memory_order_relaxed);
    if (!is_ready_ && helper_ == nullptr) helper_ = &woken;
  }
  sleep_until_woken(woken);
  {
    const std::lock_guard lock(mutex_);
    if (helper_ == &woken) helper_ = nullptr;
  }
  line.forget(&woken);
}

bool OwnThread::block_until(Strand& strand, std::uint64_t value, Deadline deadline) {
  // What runs cannot be left at a deadline.
  if (deadline) return wait_on_host(timeline(strand.id()), value, deadline);
  while (!strand.line().is_done(value)) {
    if (take()) {
      drive(strand, value);
    } else {
      pause(strand, value);
    }
  }
  // Work that came after this value may have been left to this host.
  const std::lock_guard lock(mutex_);
  if (is_ready_) wake_.notify_one();
  return true;
}

void OwnThread::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
  }
  if (strand_ == nullptr) return;
  strand_->cancel();
  wait_on_host(timeline(strand_->id()), strand_->last().value, std::nullopt);
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  bool is_left = false;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    is_left = std::exchange(is_ready_, false);
  }
  if (is_left) strand_->resolve_rest();
}

}  // namespace tutti
