// Threads of one member take turns at reading its connection: who gives up hands the turn on.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <ctime>
#include <functional>
#include <future>
#include <thread>

#include "control/served.h"

namespace tutti {
namespace {

// What happens inside the last look at the connection of the thread that set it; others look as always.
thread_local const std::function<void()>* in_last_look = nullptr;

}  // namespace
}  // namespace tutti

// Instead of the C library's, in this program: a schedule is put where a member looks at its connection.
extern "C" int poll(pollfd* entries, nfds_t count, int timeout) {
  if (timeout == 0 && tutti::in_last_look != nullptr) (*tutti::in_last_look)();
  const timespec limit{timeout / 1000, timeout % 1000 * 1'000'000L};
  return static_cast<int>(syscall(SYS_ppoll, entries, count, timeout < 0 ? nullptr : &limit, nullptr, 0));
}

namespace tutti {
namespace {

// What a thread does, from the system's account of it.
bool sleeps(pid_t thread) {
  FILE* const file = std::fopen(("/proc/self/task/" + std::to_string(thread) + "/stat").c_str(), "r");
  char state = 0;
  const bool is_known = file != nullptr && std::fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
  if (file != nullptr) std::fclose(file);
  return is_known && state == 'S';
}

TEST(AThreadThatGivesUp, LeavesTheReadingToOneThatStillWaits) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  std::atomic<pid_t> asker = 0;
  std::future<std::string> answer;
  // The second asks, and finds the first reading, while that one looks for the last time.
  const std::function<void()> schedule = [&] {
    if (asker != 0) return;
    answer = std::async(std::launch::async, [&] {
      asker = gettid();
      return zero->get("key", deadline_after(milliseconds(30'000)));
    });
    const auto until = Clock::now() + milliseconds(10'000);
    for (int times = 0; times < 20 && Clock::now() < until;) {
      std::this_thread::yield();
      times = asker != 0 && sleeps(asker) ? times + 1 : 0;
    }
  };
  in_last_look = &schedule;
  EXPECT_THROW(zero->get("never", deadline_after(milliseconds(20))), DeadlineExceeded);
  in_last_look = nullptr;
  ASSERT_TRUE(answer.valid()) << "no last look was seen";
  one->put("key", "value");
  ASSERT_EQ(answer.wait_for(milliseconds(5'000)), std::future_status::ready) << "nobody reads";
  EXPECT_EQ(answer.get(), "value");
}

}  // namespace
}  // namespace tutti
