// The program's own definitions come before the C library's for every library it loads; each forwards to the next one.
#include "door/blocking_calls.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>

#include <atomic>
#include <cstdarg>

#include "tutti/hal/door.h"

namespace {

thread_local std::uint64_t calls = 0;
thread_local std::uint64_t calls_outside = 0;
thread_local bool is_watched = false;
std::atomic<int> asleep_now{0};

class Call {
 public:
  Call() noexcept {
    ++calls;
    if (tutti::detail::door_depth() == 0) ++calls_outside;
    if (is_watched) asleep_now.fetch_add(1, std::memory_order_acq_rel);
  }
  ~Call() {
    if (is_watched) asleep_now.fetch_sub(1, std::memory_order_acq_rel);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

// The C library's function behind one of ours. Two threads that come first may both look it up: a static of the function's own
// would make the second wait, and a guarded static waits through syscall, which is one of ours.
template <class Result, class... Arguments>
class Next {
 public:
  explicit constexpr Next(const char* name, Result (*)(Arguments...) = nullptr) noexcept : name_(name) {}

  Result operator()(Arguments... arguments) noexcept {
    Function* function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
      function_.store(function, std::memory_order_relaxed);
    }
    return function(arguments...);
  }

 private:
  using Function = Result(Arguments...);
  const char* name_;
  std::atomic<Function*> function_{nullptr};
};

}  // namespace

namespace tutti::blocking_calls {
std::uint64_t of_this_thread() noexcept { return calls; }
std::uint64_t outside_the_door() noexcept { return calls_outside; }
int asleep() noexcept { return asleep_now.load(std::memory_order_acquire); }
Watch::Watch() noexcept { is_watched = true; }
Watch::~Watch() { is_watched = false; }
}  // namespace tutti::blocking_calls

extern "C" {

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static constinit Next real("pthread_cond_wait", &pthread_cond_wait);
  const Call call;
  return real(condition, mutex);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  static constinit Next real("pthread_cond_timedwait", &pthread_cond_timedwait);
  const Call call;
  return real(condition, mutex, until);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  static constinit Next real("pthread_cond_clockwait", &pthread_cond_clockwait);
  const Call call;
  return real(condition, mutex, clock, until);
}

int pthread_join(pthread_t thread, void** result) {
  static constinit Next real("pthread_join", &pthread_join);
  const Call call;
  return real(thread, result);
}

int sem_wait(sem_t* semaphore) {
  static constinit Next real("sem_wait", &sem_wait);
  const Call call;
  return real(semaphore);
}

int nanosleep(const timespec* wanted, timespec* left) {
  static constinit Next real("nanosleep", &nanosleep);
  const Call call;
  return real(wanted, left);
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* wanted, timespec* left) {
  static constinit Next real("clock_nanosleep", &clock_nanosleep);
  const Call call;
  return real(clock, flags, wanted, left);
}

int usleep(useconds_t wanted) {
  static constinit Next real("usleep", &usleep);
  const Call call;
  return real(wanted);
}

unsigned sleep(unsigned wanted) {
  static constinit Next real("sleep", &sleep);
  const Call call;
  return real(wanted);
}

int poll(pollfd* files, nfds_t count, int timeout) {
  static constinit Next real("poll", &poll);
  const Call call;
  return real(files, count, timeout);
}

int epoll_wait(int epoll, epoll_event* events, int count, int timeout) {
  static constinit Next real("epoll_wait", &epoll_wait);
  const Call call;
  return real(epoll, events, count, timeout);
}

pid_t waitpid(pid_t child, int* status, int options) {
  static constinit Next real("waitpid", &waitpid);
  const Call call;
  return real(child, status, options);
}

int select(int count, fd_set* in, fd_set* out, fd_set* except, timeval* timeout) {
  static constinit Next real("select", &select);
  const Call call;
  return real(count, in, out, except, timeout);
}

// std::atomic's wait comes this way; a mutex that is contended does not, and short mutexes are exempt. Six arguments are read
// whether or not so many were given, as the C library does.
__attribute__((no_sanitize("address"))) long syscall(long number, ...) noexcept {
  static constinit Next<long, long, long, long, long, long, long, long> real("syscall");
  std::va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (long& each : a) each = va_arg(arguments, long);
  va_end(arguments);
  const long operation = a[1] & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
  if (number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET)) {
    const Call call;
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // extern "C"
