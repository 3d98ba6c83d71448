// A thread that another needs the core of goes to one of its other cores, and may use the same ones as before.
#include "tutti/backends/strand/leave_core.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace tutti {
namespace {

cpu_set_t own_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  EXPECT_EQ(::sched_getaffinity(0, sizeof cores, &cores), 0);
  return cores;
}

TEST(LeaveCore, TheThreadIsOnAnotherCoreAndMayUseTheSameOnesAsBefore) {
  const cpu_set_t before = own_cores();
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "there is one core";
  for (int round = 0; round < 20; ++round) {
    const int core = ::sched_getcpu();
    const std::optional<int> arrived = leave_core(core);
    ASSERT_TRUE(arrived.has_value());
    EXPECT_NE(*arrived, core);
    const cpu_set_t after = own_cores();
    ASSERT_TRUE(CPU_EQUAL(&before, &after));
  }
}

TEST(LeaveCore, AThreadWithOneCoreStays) {
  const int core = ::sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(leave_core(core), std::nullopt);
  const cpu_set_t after = own_cores();
  EXPECT_TRUE(CPU_EQUAL(&one, &after));
}

TEST(LeaveCore, ACoreThatIsNoneIsRefused) {
  EXPECT_EQ(leave_core(-1), std::nullopt);
  EXPECT_EQ(leave_core(CPU_SETSIZE), std::nullopt);
}

}  // namespace
}  // namespace tutti
