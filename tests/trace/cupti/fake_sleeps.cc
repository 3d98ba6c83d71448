// Waits that make no call into the driver: a thread that sleeps, and what wakes it, as a driver's thread would in a host
// callback.
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <thread>

namespace {

// What the GPU takes for its work.
void work(std::uint64_t nanoseconds) {
  const timespec time{static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
  ::nanosleep(&time, nullptr);
}

class Gate {
 public:
  virtual ~Gate() = default;
  virtual void sleep() = 0;
  virtual void wake() = 0;
};

class FutexGate : public Gate {
 public:
  void sleep() override {
    while (word_.load() == 0) ::syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
  void wake() override {
    word_ = 1;
    ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  std::atomic<std::uint32_t> word_{0};
};

class ConditionGate : public Gate {
 public:
  void sleep() override {
    ::pthread_mutex_lock(&mutex_);
    while (!is_open_) ::pthread_cond_wait(&condition_, &mutex_);
    ::pthread_mutex_unlock(&mutex_);
  }
  void wake() override {
    ::pthread_mutex_lock(&mutex_);
    is_open_ = true;
    ::pthread_cond_broadcast(&condition_);
    ::pthread_mutex_unlock(&mutex_);
  }

 private:
  pthread_mutex_t mutex_{};
  pthread_cond_t condition_{};
  bool is_open_ = false;
};

class SemaphoreGate : public Gate {
 public:
  SemaphoreGate() { ::sem_init(&semaphore_, 0, 0); }
  void sleep() override {
    while (::sem_wait(&semaphore_) != 0) {}
  }
  void wake() override { ::sem_post(&semaphore_); }

 private:
  sem_t semaphore_{};
};

void be_called(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

}  // namespace

extern "C" {

// The calling thread sleeps by "futex", "condition" or "semaphore" until a thread of this name wakes it.
void fake_sleep(const char* how, const char* waker, std::uint64_t nanoseconds) {
  FutexGate futex;
  ConditionGate condition;
  SemaphoreGate semaphore;
  Gate& gate = std::strcmp(how, "futex") == 0       ? static_cast<Gate&>(futex)
               : std::strcmp(how, "condition") == 0 ? static_cast<Gate&>(condition)
                                                    : semaphore;
  std::thread other([&] {
    be_called(waker);
    work(nanoseconds);
    gate.wake();
  });
  gate.sleep();
  other.join();
}

// The same through a worker, which sleeps until the driver's thread has woken it.
void fake_sleep_for_worker(std::uint64_t nanoseconds) {
  FutexGate first;
  ConditionGate second;
  std::atomic<bool> is_asleep{false};
  std::thread worker([&] {
    is_asleep = true;
    is_asleep.notify_all();
    first.sleep();
    second.wake();
  });
  std::thread driver([&] {
    be_called("cuda-fake");
    is_asleep.wait(false);  // a thread may begin late
    work(nanoseconds);
    first.wake();
  });
  second.sleep();
  driver.join();
  worker.join();
}

// A host callback: `function` on a thread of the driver's, which the caller does not wait for here.
void fake_host_callback(void (*function)()) {
  std::thread([=] {
    be_called("cuda-fake");
    function();
  }).detach();
}

}  // extern "C"
