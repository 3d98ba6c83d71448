// Memory of several processes that leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <sstream>

#include "engines/processes.h"
#include "tutti/base/error.h"
#include "tutti/mesh/engines/shared_segment.h"

namespace tutti::testing_engines {

namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

std::string refusal_of(const std::string& location, std::size_t bytes) {
  try {
    (void)SharedSegment::attach(location, bytes);
  } catch (const InvalidState& e) {
    return e.message();
  }
  return "nothing was thrown";
}

std::string with_word(const std::string& location, int place, const std::string& word) {
  std::istringstream in(location);
  std::string out;
  std::string each;
  for (int i = 0; in >> each; ++i) out += (i == place ? word : each) + " ";
  return out;
}

std::set<std::string> in_dev_shm() {
  std::set<std::string> out;
  std::error_code none;
  for (const auto& each : std::filesystem::directory_iterator("/dev/shm", none)) out.insert(each.path().filename());
  return out;
}

}  // namespace

TEST(SharedSegment, IsSeenByOtherProcesses) {
  Blackboard board;
  Processes processes(3, [&](int index) {
    const SharedSegment segment = SharedSegment::meet(board, "segment", 8192, index == 0, in(20s));
    auto& sum = *static_cast<std::atomic<int>*>(segment.data());
    sum.fetch_add(index + 1);
    board.put("added" + std::to_string(index), "");
    for (int other = 0; other < 3; ++other) (void)board.get("added" + std::to_string(other), in(20s));
    require(sum.load() == 6, "the others' additions are not seen");
    require(static_cast<const char*>(segment.data())[8191] == 0, "not zero at first");
  });
  processes.expect_success();
}

TEST(SharedSegment, SaysWhyItCannotBeReached) {
  const SharedSegment segment = SharedSegment::create(4096);
  const std::string here = segment.location();
  EXPECT_THAT(refusal_of(with_word(here, 0, "another-boot"), 4096), HasSubstr("is on another host"));
  EXPECT_THAT(refusal_of(with_word(here, 1, "pid:[1]"), 4096), HasSubstr("is in another container"));
  EXPECT_THAT(refusal_of(with_word(here, 3, "1000000"), 4096), HasSubstr("is gone"));
  EXPECT_THAT(refusal_of(with_word(here, 4, "1"), 4096), HasSubstr("is not the one that made it"));
  EXPECT_THAT(refusal_of(here, 8192), HasSubstr("it has 4096 bytes where 8192 were expected"));
  EXPECT_THAT(refusal_of("nonsense", 4096), HasSubstr("is not known"));
  EXPECT_EQ(SharedSegment::attach(here, 4096).size(), 4096U);
}

TEST(SharedSegment, OfADeadProcessIsSaidToBeGone) {
  Blackboard board;
  std::string location;
  {
    Processes processes(1, [&](int) {
      const SharedSegment segment = SharedSegment::create(4096);
      board.put("location", segment.location());
      (void)board.get("never", std::nullopt);
    });
    location = board.get("location", in(20s));
    EXPECT_EQ(SharedSegment::attach(location, 4096).size(), 4096U);
  }
  EXPECT_THAT(refusal_of(location, 4096), HasSubstr("is gone"));
}

TEST(SharedSegment, LeavesNothingInDevShmWhenItsProcessesAreKilled) {
  const std::set<std::string> before = in_dev_shm();
  {
    Blackboard board;
    Processes processes(2, [&](int index) {
      const SharedSegment segment = SharedSegment::meet(board, "segment", 1 << 20, index == 0, in(20s));
      board.put("has" + std::to_string(index), "");
      (void)board.get("never", std::nullopt);
    });
    (void)board.get("has1", in(20s));
    processes.signal(0, SIGKILL);
    EXPECT_EQ(processes.status(0), -SIGKILL);
    processes.signal(1, SIGKILL);
    EXPECT_EQ(processes.status(1), -SIGKILL);
  }
  std::set<std::string> left;
  for (const std::string& each : in_dev_shm()) {
    if (each.find("tutti") != std::string::npos && !before.contains(each)) left.insert(each);
  }
  EXPECT_THAT(left, testing::IsEmpty());
}

}  // namespace tutti::testing_engines
