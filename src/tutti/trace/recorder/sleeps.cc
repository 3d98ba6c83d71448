#include "tutti/trace/recorder/sleeps.h"

#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "tutti/trace/recorder/recorder.h"

// Under the C library's names. Declared by others, so that its headers' declarations of them may say what they like.
#define TUTTI_INSTEAD_OF(name) __asm__(name) __attribute__((visibility("default")))

extern "C" {

long tutti_syscall(long number, long a, long b, long c, long d, long e, long f) TUTTI_INSTEAD_OF("syscall");
int tutti_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) TUTTI_INSTEAD_OF("pthread_cond_wait");
int tutti_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until)
    TUTTI_INSTEAD_OF("pthread_cond_timedwait");
int tutti_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until)
    TUTTI_INSTEAD_OF("pthread_cond_clockwait");
int tutti_cond_signal(pthread_cond_t* condition) TUTTI_INSTEAD_OF("pthread_cond_signal");
int tutti_cond_broadcast(pthread_cond_t* condition) TUTTI_INSTEAD_OF("pthread_cond_broadcast");
int tutti_sem_wait(sem_t* semaphore) TUTTI_INSTEAD_OF("sem_wait");
int tutti_sem_timedwait(sem_t* semaphore, const timespec* until) TUTTI_INSTEAD_OF("sem_timedwait");
int tutti_sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) TUTTI_INSTEAD_OF("sem_clockwait");
int tutti_sem_post(sem_t* semaphore) TUTTI_INSTEAD_OF("sem_post");
int tutti_create(pthread_t* thread, const pthread_attr_t* with, void* (*start)(void*), void* argument)
    TUTTI_INSTEAD_OF("pthread_create");

}  // extern "C"

namespace tutti::tracing {

namespace {

constexpr std::uint64_t shortest_sleep = 5'000;  // ns: a lock that two threads want at once takes as long
constexpr long longest_delay = 10'000'000;       // ns: a spin lock sleeps so long at most before it looks again
constexpr std::uint8_t most_looks = 4;           // at a thread's name, which it may be given late
constexpr unsigned tick = 8;                     // bits of a nanosecond that a time handed on does without
constexpr std::uint64_t time_bits = 48;          // two years of ticks
constexpr std::uint64_t time_mask = (std::uint64_t{1} << time_bits) - 1;

constinit std::atomic<bool> is_watching{false};
constinit CodeRange driver{};  // written before is_watching

// When the GPU's progress reached what sleeps at an address, from who woke it: a time, and above it what tells the address from
// others that fall into the same place. One word, so that neither a lock nor memory is needed, in a signal handler either.
constexpr std::size_t places = 4096;
constinit std::array<std::atomic<std::uint64_t>, places> handed_on{};

// What there was to see, should it come to nothing.
constinit std::atomic<std::uint64_t> wakes{0};    // by the driver's threads
constinit std::atomic<std::uint64_t> reached{0};  // sleeps that the GPU's progress ended
constinit std::atomic<std::uint64_t> recorded{0};

enum class Origin : std::uint8_t { unknown, drivers, others };

// In the thread's fixed part, which is there from its first instruction on: small, because a library that is not preloaded takes
// it from what little is left.
struct Sleeper {
  std::uint64_t progress = 0;  // of the GPU: when it reached this thread last; 0: never
  Origin origin = Origin::unknown;
  std::uint8_t looks = 0;
  bool is_recording = false;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit Sleeper sleeper{};

std::uint64_t hash_of(const void* address) noexcept {
  return (reinterpret_cast<std::uintptr_t>(address) >> 2U) * 0x9e3779b97f4a7c15ULL;
}
std::atomic<std::uint64_t>& place_of(std::uint64_t hash) noexcept { return handed_on[(hash >> 32U) % places]; }

// A thread of the driver, which runs host callbacks.
bool is_drivers() noexcept {
  if (sleeper.origin == Origin::unknown) {
    std::array<char, 17> name{};
    ::prctl(PR_GET_NAME, name.data());
    if (std::string_view(name.data()).starts_with("cuda")) {
      sleeper.origin = Origin::drivers;
    } else if (++sleeper.looks == most_looks) {
      sleeper.origin = Origin::others;
    }
  }
  return sleeper.origin == Origin::drivers;
}

void before_wake(const void* address) noexcept {
  if (!is_watching.load(std::memory_order_relaxed)) return;
  const int before = errno;
  const bool is_first = is_drivers();
  const std::uint64_t progress = is_first ? now() : sleeper.progress;
  if (is_first) wakes.fetch_add(1, std::memory_order_relaxed);
  errno = before;
  if (progress == 0) return;
  const std::uint64_t hash = hash_of(address);
  place_of(hash).store((hash << time_bits) | ((progress >> tick) & time_mask), std::memory_order_release);
}

// 0: who woke it knew of no progress since it fell asleep.
std::uint64_t progress_during(const void* address, std::uint64_t begin, std::uint64_t end) noexcept {
  const std::uint64_t hash = hash_of(address);
  const std::uint64_t word = place_of(hash).load(std::memory_order_acquire);
  if (word == 0 || (word >> time_bits) != ((hash << time_bits) >> time_bits)) return 0;
  const std::uint64_t time = (((end >> tick) & ~time_mask) | (word & time_mask)) << tick;
  return time >= begin && time <= end ? time : 0;
}

// Who waits for a result: a thread that runs Python, or the one that runs main(). Others are workers, which sleep as their trade.
bool is_users(Recorder& all) noexcept {
  std::array<PythonFrame, 1> frame;
  return ::gettid() == ::getpid() || all.stacks.python().walk(frame) != 0;
}

void after_sleep(const void* address, const void* caller, std::uint64_t begin) {
  const std::uint64_t end = now();
  if (end - begin < shortest_sleep) return;
  const std::uint64_t progress = progress_during(address, begin, end);
  if (progress == 0 || driver.contains(caller)) return;
  sleeper.progress = progress;
  reached.fetch_add(1, std::memory_order_relaxed);
  Recorder& all = recorder();
  if (!all.output.is_open() || is_in_call() || !is_users(all)) return;
  sleeper.progress = 0;  // this is the wait; whoever this thread wakes waits for it, not for the GPU
  sleeper.is_recording = true;
  try {
    all.add_sleep(begin, end, reinterpret_cast<std::uintptr_t>(caller));
    recorded.fetch_add(1, std::memory_order_relaxed);
  } catch (...) {
    ++all.unkept;
  }
  sleeper.is_recording = false;
}

bool is_watched() noexcept { return is_watching.load(std::memory_order_relaxed) && !sleeper.is_recording; }

// Python's own lock: what it protects is no result of a GPU.
bool is_of_interpreter(const void* caller) noexcept {
  return recorder().stacks.python().is_in_interpreter(reinterpret_cast<std::uintptr_t>(caller));
}

// `sleep` may not come back: these functions are where threads are cancelled.
template <class Sleep>
int timed(const void* address, const void* caller, Sleep sleep) {
  const std::uint64_t begin = now();
  const int result = sleep();
  const int before = errno;
  after_sleep(address, caller, begin);
  errno = before;
  return result;
}

long raw_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
#if defined(__x86_64__)
  long result = number;
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long which __asm__("x8") = number;
  register long first __asm__("x0") = a;
  register long second __asm__("x1") = b;
  register long third __asm__("x2") = c;
  register long fourth __asm__("x3") = d;
  register long fifth __asm__("x4") = e;
  register long sixth __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(first) : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth) : "memory");
  return first;
#else
#error "a recorder for this processor needs its system call"
#endif
}

constexpr long highest_error = 4095;

long given_back(long result) noexcept {
  if (result >= 0 || result < -highest_error) return result;
  errno = static_cast<int>(-result);
  return -1;
}

bool is_delay(int command, const timespec* limit) noexcept {
  return command == FUTEX_WAIT && limit != nullptr && limit->tv_sec == 0 && limit->tv_nsec < longest_delay;
}

// What the C library has under these names, or another library that is preloaded, too.
#if defined(__x86_64__)
constexpr const char* condition_version = "GLIBC_2.3.2";  // an older one of the same name is something else
#else
constexpr const char* condition_version = "GLIBC_2.17";
#endif

template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name, const char* version = nullptr) : name_(name), version_(version) {}
  Function* operator*() noexcept {
    Function* found = found_.load(std::memory_order_relaxed);
    if (found != nullptr) return found;
    void* symbol = version_ == nullptr ? nullptr : ::dlvsym(RTLD_NEXT, name_, version_);
    if (symbol == nullptr) symbol = ::dlsym(RTLD_NEXT, name_);
    found = reinterpret_cast<Function*>(symbol);
    found_.store(found, std::memory_order_relaxed);
    return found;
  }

 private:
  const char* name_;
  const char* version_;
  std::atomic<Function*> found_{nullptr};
};

constinit Next<int(pthread_cond_t*, pthread_mutex_t*)> next_wait("pthread_cond_wait", condition_version);
constinit Next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> next_timedwait("pthread_cond_timedwait",
                                                                                       condition_version);
constinit Next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> next_clockwait("pthread_cond_clockwait");
constinit Next<int(pthread_cond_t*)> next_signal("pthread_cond_signal", condition_version);
constinit Next<int(pthread_cond_t*)> next_broadcast("pthread_cond_broadcast", condition_version);
constinit Next<int(sem_t*)> next_sem_wait("sem_wait");
constinit Next<int(sem_t*)> next_sem_trywait("sem_trywait");
constinit Next<int(sem_t*, const timespec*)> next_sem_timedwait("sem_timedwait");
constinit Next<int(sem_t*, clockid_t, const timespec*)> next_sem_clockwait("sem_clockwait");
constinit Next<int(sem_t*)> next_sem_post("sem_post");
using Start = void* (*)(void*);
constinit Next<int(pthread_t*, const pthread_attr_t*, Start, void*)> next_create("pthread_create");

// Looked up before anything can be in a signal handler, or hold the loader's lock.
[[gnu::constructor]] void look_up() {
  (void)*next_wait, (void)*next_timedwait, (void)*next_clockwait, (void)*next_signal, (void)*next_broadcast;
  (void)*next_sem_wait, (void)*next_sem_trywait, (void)*next_sem_timedwait, (void)*next_sem_clockwait, (void)*next_sem_post;
  (void)*next_create;
}

struct DriversThread {
  Start start;
  void* with;
};

void* run_drivers_thread(void* data) {
  const DriversThread thread = *static_cast<DriversThread*>(data);
  std::free(data);
  sleeper.origin = Origin::drivers;
  return thread.start(thread.with);
}

int find_driver(dl_phdr_info* info, std::size_t, void*) {
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (!path.substr(path.rfind('/') + 1).starts_with("libcuda.so")) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    driver = {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz};
  }
  return 1;
}

}  // namespace

void watch_sleeps() {
  ::dl_iterate_phdr(find_driver, nullptr);
  is_watching = true;
}

void leave_sleeps_alone() noexcept { is_watching = false; }

std::string why_no_sleeps() {
  if (recorded.load() != 0) return "";
  const void* const seen = ::dlsym(RTLD_DEFAULT, "sem_post");
  if (seen != reinterpret_cast<const void*>(&tutti_sem_post))
    return "the recorder is not preloaded: sleeps that a host callback ends are not seen";
  return "threads of the driver have woken others " + std::to_string(wakes.load()) + " times, and " +
         std::to_string(reached.load()) + " sleeps ended by that, none of them of a thread that runs Python or main()";
}

}  // namespace tutti::tracing

namespace tracing = tutti::tracing;

// Declared with all the arguments a system call can have: they are passed as those of a variadic function are.
long tutti_syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (number != SYS_futex || !tracing::is_watched()) return tracing::given_back(tracing::raw_syscall(number, a, b, c, d, e, f));
  const auto* const address = reinterpret_cast<const void*>(a);
  const int command = static_cast<int>(b) & FUTEX_CMD_MASK;
  switch (command) {
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_WAKE_OP:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE: tracing::before_wake(address); break;
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
      if (tracing::is_delay(command, reinterpret_cast<const timespec*>(d))) break;
      const std::uint64_t begin = tracing::now();
      const long result = tracing::raw_syscall(number, a, b, c, d, e, f);
      const int before = errno;
      tracing::after_sleep(address, __builtin_return_address(0), begin);
      errno = before;
      return tracing::given_back(result);
    }
    default: break;
  }
  return tracing::given_back(tracing::raw_syscall(number, a, b, c, d, e, f));
}

int tutti_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  const void* const caller = __builtin_return_address(0);
  if (!tracing::is_watched() || tracing::is_of_interpreter(caller)) return (*tracing::next_wait)(condition, mutex);
  return tracing::timed(condition, caller, [&] { return (*tracing::next_wait)(condition, mutex); });
}

int tutti_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
  const void* const caller = __builtin_return_address(0);
  if (!tracing::is_watched() || tracing::is_of_interpreter(caller)) return (*tracing::next_timedwait)(condition, mutex, until);
  return tracing::timed(condition, caller, [&] { return (*tracing::next_timedwait)(condition, mutex, until); });
}

int tutti_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  const void* const caller = __builtin_return_address(0);
  if (*tracing::next_clockwait == nullptr) return ENOSYS;  // a C library that has none: nobody asks it for one
  if (!tracing::is_watched() || tracing::is_of_interpreter(caller))
    return (*tracing::next_clockwait)(condition, mutex, clock, until);
  return tracing::timed(condition, caller, [&] { return (*tracing::next_clockwait)(condition, mutex, clock, until); });
}

int tutti_cond_signal(pthread_cond_t* condition) {
  tracing::before_wake(condition);
  return (*tracing::next_signal)(condition);
}

int tutti_cond_broadcast(pthread_cond_t* condition) {
  tracing::before_wake(condition);
  return (*tracing::next_broadcast)(condition);
}

// Python's locks are semaphores, which mostly are free: then nobody looks at a clock.
int tutti_sem_wait(sem_t* semaphore) {
  if (!tracing::is_watched()) return (*tracing::next_sem_wait)(semaphore);
  if ((*tracing::next_sem_trywait)(semaphore) == 0) return 0;
  return tracing::timed(semaphore, __builtin_return_address(0), [&] { return (*tracing::next_sem_wait)(semaphore); });
}

int tutti_sem_timedwait(sem_t* semaphore, const timespec* until) {
  if (!tracing::is_watched()) return (*tracing::next_sem_timedwait)(semaphore, until);
  if ((*tracing::next_sem_trywait)(semaphore) == 0) return 0;
  return tracing::timed(semaphore, __builtin_return_address(0), [&] { return (*tracing::next_sem_timedwait)(semaphore, until); });
}

int tutti_sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  if (*tracing::next_sem_clockwait == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  if (!tracing::is_watched()) return (*tracing::next_sem_clockwait)(semaphore, clock, until);
  if ((*tracing::next_sem_trywait)(semaphore) == 0) return 0;
  return tracing::timed(semaphore, __builtin_return_address(0),
                        [&] { return (*tracing::next_sem_clockwait)(semaphore, clock, until); });
}

int tutti_sem_post(sem_t* semaphore) {
  tracing::before_wake(semaphore);
  return (*tracing::next_sem_post)(semaphore);
}

int tutti_create(pthread_t* thread, const pthread_attr_t* with, void* (*start)(void*), void* argument) {
  if (tracing::is_watched() && tracing::driver.contains(reinterpret_cast<const void*>(start))) {
    if (auto* const own = static_cast<tracing::DriversThread*>(std::malloc(sizeof(tracing::DriversThread)))) {
      *own = {start, argument};
      const int result = (*tracing::next_create)(thread, with, tracing::run_drivers_thread, own);
      if (result != 0) std::free(own);
      return result;
    }
  }
  return (*tracing::next_create)(thread, with, start, argument);
}
