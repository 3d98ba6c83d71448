// How far words are apart.
#include "tutti/base/edit_distance.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("demo", ""), 4U);
  EXPECT_EQ(edit_distance("demo", "demos"), 1U);
  EXPECT_EQ(edit_distance("demo", "dmo"), 1U);
  EXPECT_EQ(edit_distance("demo", "dema"), 1U);
  EXPECT_EQ(edit_distance("demo", "dmeo"), 1U);
  EXPECT_EQ(edit_distance("devices", "divices"), 1U);
}

TEST(EditDistance, IgnoresCaseAndIsTheSameBothWays) {
  EXPECT_EQ(edit_distance("MatMul", "matmul"), 0U);
  EXPECT_EQ(edit_distance("gpu", "CPU"), edit_distance("CPU", "gpu"));
}

}  // namespace
}  // namespace tutti
