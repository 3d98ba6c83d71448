// Whether a thread is behind the door can be asked, so that tests can match what blocks with the door's account.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "streams/gate.h"

namespace tutti {

namespace {

int depth_inside_region() {
  const BlockingRegion inside(SyncReason::memory_mapping, Site{});
  return detail::door_depth();
}

}  // namespace

TEST(DoorDepth, IsRaisedInsideARegionAndLeftAsItWas) {
  EXPECT_EQ(detail::door_depth(), 0);
  {
    const BlockingRegion outer(SyncReason::module_load, Site{});
    EXPECT_EQ(detail::door_depth(), 1);
    EXPECT_EQ(depth_inside_region(), 2);
    EXPECT_EQ(detail::door_depth(), 1);
  }
  EXPECT_EQ(detail::door_depth(), 0);
}

TEST(DoorDepth, IsLeftByAnExceptionToo) {
  EXPECT_THROW(
      {
        const BlockingRegion inside(SyncReason::module_load, Site{});
        throw std::runtime_error("driver");
      },
      std::runtime_error);
  EXPECT_EQ(detail::door_depth(), 0);
}

TEST(DoorDepth, BelongsToTheThread) {
  const BlockingRegion here(SyncReason::module_load, Site{});
  int there = -1;
  std::thread([&] { there = detail::door_depth(); }).join();
  EXPECT_EQ(there, 0);
}

TEST(DoorDepth, IsLeftByAWaitThatTimedOut) {
  set_synchronous_execution(false);
  simulate_gpus(0);
  testing_streams::Gate gate;
  const Tensor held = gate.close("CPU:0");
  EXPECT_THROW(held.sync({.timeout = std::chrono::milliseconds(5)}), DeadlineExceeded);
  EXPECT_EQ(detail::door_depth(), 0);
  gate.open();
  held.sync();
  EXPECT_EQ(detail::door_depth(), 0);
}

}  // namespace tutti
