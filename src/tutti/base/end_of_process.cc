#include "tutti/base/end_of_process.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tutti/base/clock.h"

namespace tutti {

namespace {

constexpr std::array signals{SIGINT, SIGTERM};
constexpr time_t most_seconds = 30;
// A signal to a group of processes may come twice, sent on by the one that started this one.
constexpr Nanoseconds one_signal = 1'000'000'000;

using Write = void (*)() noexcept;

struct Writers {
  std::mutex asking;   // guards `all`
  std::mutex writing;  // held while they write: exit() waits for what a signal began
  std::vector<Write> all;
};

// Leaked on purpose: read when the process exits.
Writers& writers() {
  static Writers& instance = *new Writers;
  return instance;
}

// What a signal handler touches.
constinit std::atomic<pid_t> process{0};      // that asked; a fork has another
constinit std::atomic<Nanoseconds> since{0};  // when the first signal came
constinit std::atomic<int> ended_by{0};       // which it was
sem_t has_come;
sem_t is_there;  // the thread that watches

void write_all() noexcept {
  if (::getpid() != process.load()) return;
  Writers& ours = writers();
  const std::lock_guard lock(ours.writing);
  for (;;) {
    Write next = nullptr;
    {
      const std::lock_guard asking(ours.asking);
      if (ours.all.empty()) return;
      next = ours.all.back();
      ours.all.pop_back();
    }
    next();
  }
}

// On a thread of its own: the calling one may hold a lock that a writer wants.
void write_all_in_time() noexcept {
  if (::getpid() != process.load()) return;
  sem_t& done = *new sem_t;  // the writer may outlast the wait for it
  ::sem_init(&done, 0, 0);
  try {
    std::thread([&done] {
      write_all();
      ::sem_post(&done);
    }).detach();
  } catch (const std::system_error&) {
    return;
  }
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += most_seconds;
  while (::sem_clockwait(&done, CLOCK_MONOTONIC, &until) != 0) {
    if (errno == EINTR) continue;
    std::fputs("tutti: error: the process ends without its report or trace, which took more than 30 s to write\n", stderr);
    return;
  }
}

void note_signal(int number);

// The signal's default action, unless the program has put a handler in the place of ours since.
void end_by(int number) noexcept {
  struct sigaction present {};
  ::sigaction(number, nullptr, &present);
  if (present.sa_handler == note_signal) ::signal(number, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, number);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(number);
}

// Calls only what a signal handler may.
void note_signal(int number) {
  const int kept = errno;
  const Nanoseconds time = now();
  Nanoseconds first = 0;
  const bool is_fork = ::getpid() != process.load();  // which has no thread that would write
  if (!is_fork && since.compare_exchange_strong(first, time)) {
    ended_by.store(number);
    ::sem_post(&has_come);
  } else if (is_fork || time - first > one_signal) {
    end_by(number);
  }
  errno = kept;
}

[[noreturn]] void watch() {
  ::sem_post(&is_there);
  for (;;) {
    if (::sem_wait(&has_come) != 0) continue;
    write_all_in_time();
    end_by(ended_by.load());
  }
}

void write_at_exit() {
  write_all();
  // What the signal interrupted may have led the program to its end before the thread that watches could.
  if (const int number = ended_by.load(); number != 0 && ::getpid() == process.load()) end_by(number);
}

std::terminate_handler terminate_before = nullptr;

[[noreturn]] void write_at_terminate() {
  write_all_in_time();
  if (terminate_before != nullptr) terminate_before();
  std::abort();
}

void watch_signals() {
  ::sem_init(&has_come, 0, 0);
  ::sem_init(&is_there, 0, 0);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // no signal meant for the program's threads ends up there
  bool is_watching = true;
  try {
    std::thread(watch).detach();
  } catch (const std::system_error&) {
    is_watching = false;
  }
  // A fork must not meet a thread that is being started: under a sanitizer it may hold a lock that nobody gives back to the
  // child.
  while (is_watching && ::sem_wait(&is_there) != 0) continue;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const int number : signals) {
    struct sigaction present {};
    ::sigaction(number, nullptr, &present);
    if (!is_watching || present.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = note_signal;
    ours.sa_flags = SA_RESTART;
    ::sigaction(number, &ours, nullptr);
  }
}

}  // namespace

void write_at_end_of_process(Write write) {
  Writers& ours = writers();
  const std::lock_guard lock(ours.asking);
  if (process.load() != ::getpid()) {
    ours.all.clear();  // a fork does not write what its parent asked for
    since.store(0);
    ended_by.store(0);
    const bool is_first = process.exchange(::getpid()) == 0;
    if (is_first) {
      std::atexit(write_at_exit);
      terminate_before = std::set_terminate(write_at_terminate);
    }
    watch_signals();
  }
  ours.all.push_back(write);
}

}  // namespace tutti
