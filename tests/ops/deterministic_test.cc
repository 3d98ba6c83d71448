// Results are the same bits on every run unless the program, or the environment, allows otherwise.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tutti/tutti.h"

namespace tutti {
namespace {

TEST(Deterministic, IsOnUntilGivenUpAndCanBeTakenBack) {
  EXPECT_TRUE(is_deterministic());
  set_deterministic(false);
  EXPECT_FALSE(is_deterministic());
  set_deterministic(true);
  EXPECT_TRUE(is_deterministic());
}

TEST(Deterministic, IsGivenUpByTheEnvironment) {
  setenv("TUTTI_DETERMINISTIC", "0", 1);
  EXPECT_FALSE(is_deterministic());
}

}  // namespace
}  // namespace tutti
