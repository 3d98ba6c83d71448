// Processes of a job write files of their own under one name.
#include "tutti/base/rank_files.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tutti {
namespace {

// Where each test runs in a process of its own the rest of the process is not touched; within one it is put back.
class RankOfFiles : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

  static void launched_as(const char* rank, const char* world) {
    ::setenv("TUTTI_RANK", rank, 1);
    ::setenv("TUTTI_WORLD_SIZE", world, 1);
  }

 private:
  static void clear() {
    ::unsetenv("TUTTI_RANK");
    ::unsetenv("TUTTI_WORLD_SIZE");
  }
};

TEST_F(RankOfFiles, IsNotThereForAProcessThatIsAlone) {
  EXPECT_EQ(rank_of_files(), std::nullopt);
  EXPECT_EQ(path_of_this_process("trace.json"), "trace.json");
  launched_as("0", "1");
  EXPECT_EQ(rank_of_files(), std::nullopt);
  ::unsetenv("TUTTI_WORLD_SIZE");
  EXPECT_EQ(rank_of_files(), std::nullopt) << "a rank of how many?";
  launched_as("two", "4");
  EXPECT_EQ(rank_of_files(), std::nullopt) << "reported, and no rank";
}

TEST_F(RankOfFiles, StandsBeforeTheLastPartOfAFilesName) {
  launched_as("3", "4");
  EXPECT_EQ(rank_of_files(), 3U);
  EXPECT_EQ(path_of_this_process("trace.json"), "trace.rank3.json");
  EXPECT_EQ(path_of_this_process("/tmp/run.1/a.b.html"), "/tmp/run.1/a.b.rank3.html");
  EXPECT_EQ(path_of_this_process("run.1/trace"), "run.1/trace.rank3");
  EXPECT_EQ(path_of_this_process(".trace"), ".trace.rank3");
}

TEST_F(RankOfFiles, LeavesDevicesAndFoldersAlone) {
  launched_as("3", "4");
  for (const char* path : {"/dev/stderr", "/dev/fd/63", "/dev/null", "folder/", ""}) EXPECT_EQ(path_of_this_process(path), path);
}

TEST_F(RankOfFiles, IsWhatTheMeshReadOfAnotherLauncher) {
  EXPECT_EXIT(
      {
        set_rank_of_files(11);
        std::exit(path_of_this_process("t.json") == "t.rank11.json" ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tutti
