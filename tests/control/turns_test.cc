// Threads of one member take turns at reading its connection: who gives up hands the turn on.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <future>
#include <thread>

#include "control/raw_connection.h"
#include "control/served.h"

namespace tutti {
namespace {

// What happens inside the last look at the connection of the thread that set it; others look as always.
thread_local const std::function<void()>* in_last_look = nullptr;

// What happens on a thread that has received something from where `sender` listens.
std::atomic<const std::function<void()>*> on_receipt = nullptr;
std::atomic<std::uint16_t> sender = 0;

std::uint16_t port_at_other_end(int socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  const int rc = getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return rc == 0 && address.sin_family == AF_INET ? ntohs(address.sin_port) : std::uint16_t{0};
}

}  // namespace
}  // namespace tutti

// Instead of the C library's, in this program: schedules are put where a member looks at its connection and where it reads.
extern "C" ssize_t recv(int socket, void* data, std::size_t size, int flags) {
  const auto got = static_cast<ssize_t>(syscall(SYS_recvfrom, socket, data, size, flags, nullptr, nullptr));
  const std::function<void()>* const schedule = tutti::on_receipt;
  if (got > 0 && schedule != nullptr && tutti::port_at_other_end(socket) == tutti::sender) (*schedule)();
  return got;
}

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

// Ten seconds at most: then it has gone.
void wait_until_asleep(const std::atomic<pid_t>& thread) {
  const auto until = Clock::now() + milliseconds(10'000);
  for (int times = 0; times < 20 && Clock::now() < until;) {
    std::this_thread::yield();
    times = thread != 0 && sleeps(thread) ? times + 1 : 0;
  }
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
    wait_until_asleep(asker);
  };
  in_last_look = &schedule;
  EXPECT_THROW(zero->get("never", deadline_after(milliseconds(20))), DeadlineExceeded);
  in_last_look = nullptr;
  ASSERT_TRUE(answer.valid()) << "no last look was seen";
  one->put("key", "value");
  ASSERT_EQ(answer.wait_for(milliseconds(5'000)), std::future_status::ready) << "nobody reads";
  EXPECT_EQ(answer.get(), "value");
}

TEST(AThreadWhoseDeadlineHasPassed, WaitsForAnotherThatIsReadingItsAnswer) {
  // The member's own thread has received the answer, and goes on when the thread that wants it sleeps, or has gone.
  const pid_t late = gettid();
  std::atomic<pid_t> waiter = 0;
  std::atomic<bool> is_received = false;
  const std::function<void()> schedule = [&] {
    if (gettid() == late) return;
    on_receipt = nullptr;
    is_received = true;
    wait_until_asleep(waiter);
  };
  const Served served(2);
  MemberOptions options;
  options.heartbeat = milliseconds(60'000);  // the only other thing that it could receive
  const auto zero = served.join(0, options);
  RawConnection one(served.address());
  one.take_seat(secret_of_tests, 1, 2);
  const auto deadline = Clock::now() + milliseconds(1'000);
  const auto arrival = arrive_before_others(*zero, meeting_of(2, "barrier", deadline));
  sender = static_cast<std::uint16_t>(std::stoi(wire::Address::parse(served.address(), {}).port));
  on_receipt = &schedule;
  one.say_sealed(control::message(control::Request::arrive, [](wire::FieldWriter& out) {
    control::Call{"world", {0, 1}, "barrier", ""}.append_to(out.u64(7));
    out.u8(0).i64(-1).i64(control::never_gives_up).u64(0).u64(0);
  }));
  while (!is_received && Clock::now() < deadline) std::this_thread::yield();
  on_receipt = nullptr;
  EXPECT_TRUE(is_received) << "the machine is too slow for this test";
  while (Clock::now() < deadline + answer_takes_at_most) poll(nullptr, 0, 1);
  waiter = late;
  EXPECT_NO_THROW(arrival->wait());
}

}  // namespace
}  // namespace tutti
