// Products of float32 are float32 all the way unless the program, or the environment, allows less.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tutti/tutti.h"

namespace tutti {
namespace {

TEST(Tf32, IsOffUntilAllowedAndCanBeTakenBack) {
  EXPECT_FALSE(allows_tf32());
  set_allow_tf32(true);
  EXPECT_TRUE(allows_tf32());
  set_allow_tf32(false);
  EXPECT_FALSE(allows_tf32());
}

TEST(Tf32, IsAllowedByTheEnvironment) {
  setenv("TUTTI_ALLOW_TF32", "1", 1);
  EXPECT_TRUE(allows_tf32());
}

// 1 + 2^-20 is a float32 and no tf32.
TEST(Tf32, ChangesNothingOnTheCpu) {
  const DeviceScope on("CPU:0");
  const float fine = 1.F + 0x1p-20F;
  set_allow_tf32(true);
  EXPECT_EQ(read<float>(matmul(constant({{fine}}), constant({{1.F}}))), std::vector<float>{fine});
}

}  // namespace
}  // namespace tutti
