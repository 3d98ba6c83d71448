// A build without NCCL says so where it is asked for.
#include <gtest/gtest.h>

#include "engines/processes.h"
#include "tutti/mesh/nccl/nccl_exchange.h"

namespace tutti::testing_engines {

TEST(Nccl, WhereItIsMissingSaysWhatToInstall) {
  if (has_nccl()) GTEST_SKIP() << "this build has NCCL";
  Blackboard board;
  try {
    (void)open_nccl_exchange(board, "exchange", 1, 0, 0, in(std::chrono::seconds(1)));
    FAIL() << "opened";
  } catch (const InvalidState& e) {
    EXPECT_NE(e.message().find("nccl.h"), std::string::npos) << e.message();
  }
}

}  // namespace tutti::testing_engines
