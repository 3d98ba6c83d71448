// A save that fails, or dies half-way, leaves what was there before.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>

#include "data/saved_files.h"
#include "tutti/train/safetensors.h"

namespace tutti::testing_data {
namespace {

using FailingSaves = SavedFiles;

void limit_files_to(rlim_t bytes) {
  const rlimit limit{bytes, bytes};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

std::string failure_of(const std::string& path, const Tensor& x) {
  try {
    save(path, x);
  } catch (const FileError& error) {
    return error.message();
  }
  return "";
}

TEST_F(FailingSaves, ForWantOfRoomLeaveTheOldFileAndNoOther) {
  save(path(), arange(3));
  const std::string before = content_of(path());
  std::signal(SIGXFSZ, SIG_IGN);  // writing fails instead
  limit_files_to(100'000);
  EXPECT_THAT(failure_of(path(), zeros({100'000})), testing::HasSubstr(path() + " cannot be written: File too large"));
  EXPECT_EQ(content_of(path()), before);
  EXPECT_EQ(files(), 1);
  EXPECT_THAT(failure_of("/dev/full", zeros({100'000})), testing::HasSubstr("No space left on device"));
}

TEST_F(FailingSaves, WhoseProcessDiesLeaveTheOldFileWhole) {
  const auto in_child = [&](auto&& body) {
    const pid_t child = fork();
    if (child == 0) {
      body();
      std::_Exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  };
  EXPECT_EQ(in_child([&] { save(path(), arange(3)); }), 0);
  const std::string before = content_of(path());
  ASSERT_FALSE(before.empty());
  const int status = in_child([&] {
    limit_files_to(100'000);
    save(path(), zeros({100'000}));
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
  EXPECT_EQ(content_of(path()), before);
  save(path(), arange(4));
  EXPECT_EQ(load_tensors(path()).at("").shape(), Shape{4});
}

TEST_F(FailingSaves, IntoFoldersThatCannotBeWrittenSaySo) {
  EXPECT_THAT(failure_of(path("no/such/folder"), arange(3)), testing::HasSubstr("No such file or directory"));
  EXPECT_THAT(failure_of(folder_.string(), arange(3)), testing::HasSubstr("Is a directory"));
  EXPECT_EQ(files(), 0);
  EXPECT_THAT(failure_of("/proc/weights.safetensors", arange(3)), testing::HasSubstr("cannot be written"));
}

TEST_F(FailingSaves, OfValuesThatFailedWriteNothing) {
  save(path(), arange(3));
  const std::string before = content_of(path());
  const Tensor spoiled = take(constant({1.F, 2.F}), constant({std::int64_t{5}}), 0);
  EXPECT_THROW(save(path(), spoiled), AsyncError);
  EXPECT_EQ(content_of(path()), before);
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace tutti::testing_data
