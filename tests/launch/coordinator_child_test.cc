// The coordinator that rank 0 starts: found, told what it must know and nothing more, and nobody's child.
#include "tutti/mesh/control/coordinator_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>

#include "launch/started_coordinators.h"
#include "tutti/base/error.h"

namespace {

using launch_tests::bytes_of;
using launch_tests::JobFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using tutti::CoordinatorChild;
using tutti::DeadlineExceeded;
using tutti::InvalidState;
using tutti::start_coordinator;

class CoordinatorChildTest : public testing::Test {
 protected:
  [[nodiscard]] CoordinatorChild child() const {
    CoordinatorChild child;
    child.world = 2;
    child.job = "a job";
    child.secret = "not for the others, who may look";
    child.job_file = (jobs_.path() / "note").string();
    return child;
  }

  std::string refusal(const CoordinatorChild& child) {
    try {
      return start_coordinator(child, tutti::deadline_after(std::chrono::seconds(60)));
    } catch (const InvalidState& error) {
      return error.message();
    }
  }

  void run_instead(const std::string& script) {
    const std::string path = (jobs_.path() / "instead").string();
    std::ofstream(path) << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    jobs_.environment().set("TUTTI_COMMAND", path.c_str());
  }

  JobFolder jobs_;
};

TEST_F(CoordinatorChildTest, IsFoundBesideTheLibrary) {
  jobs_.environment().set("PATH", "/nowhere");
  EXPECT_THAT(tutti::find_command(), testing::EndsWith("/bin/tutti"));
}

TEST_F(CoordinatorChildTest, IsTheCommandTheUserNames) {
  run_instead("exit 0");
  EXPECT_EQ(tutti::find_command(), (jobs_.path() / "instead").string());
  jobs_.environment().set("TUTTI_COMMAND", "/nowhere/tutti");
  EXPECT_THAT(refusal(child()), HasSubstr("TUTTI_COMMAND='/nowhere/tutti' cannot be run: No such file"));
}

TEST_F(CoordinatorChildTest, ListensAndIsNobodysChild) {
  EXPECT_THAT(start_coordinator(child(), std::nullopt), StartsWith("127.0.0.1:"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  ASSERT_EQ(jobs_.coordinators().size(), 1U);
  EXPECT_NE(::getsid(jobs_.coordinators()[0]), ::getsid(0)) << "what ends this session does not end it";
}

TEST_F(CoordinatorChildTest, ShowsItsSecretToNobodyNotInItsEnvironmentEitherAndIsAskedForNoReport) {
  jobs_.environment().set("TUTTI_TRACE", "trace.json");
  start_coordinator(child(), std::nullopt);
  ASSERT_EQ(jobs_.coordinators().size(), 1U);
  const std::filesystem::path process = "/proc/" + std::to_string(jobs_.coordinators()[0]);
  EXPECT_THAT(bytes_of(process / "cmdline"), Not(HasSubstr("not for the others, who may look")));
  EXPECT_THAT(
      bytes_of(process / "environ"),
      AllOf(HasSubstr("TUTTI_JOB_SECRET="), Not(HasSubstr("not for the others, who may look")), Not(HasSubstr("TUTTI_TRACE"))));
}

TEST_F(CoordinatorChildTest, HoldsNothingOpenThatThisProcessHas) {
  const std::filesystem::path file = jobs_.path() / "open";
  const std::ofstream open(file);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  start_coordinator(child(), std::nullopt);
  ::close(ends[1]);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "the end of the pipe is seen: nobody else has it open";
  ::close(ends[0]);
  ASSERT_EQ(jobs_.coordinators().size(), 1U);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(jobs_.coordinators()[0]) + "/fd")) {
    std::error_code gone;
    EXPECT_NE(std::filesystem::read_symlink(entry, gone), file);
  }
}

TEST_F(CoordinatorChildTest, EndsByItselfWhereNobodyComes) {
  CoordinatorChild alone = child();
  alone.idle_limit = std::chrono::milliseconds(200);
  start_coordinator(alone, std::nullopt);
  EXPECT_TRUE(jobs_.all_end_within(std::chrono::seconds(20)));
}

TEST_F(CoordinatorChildTest, TellsWhyItCannotListen) {
  CoordinatorChild first = child();
  first.listen = start_coordinator(first, std::nullopt);
  EXPECT_THAT(refusal(first),
              AllOf(HasSubstr("could not be started"), HasSubstr(first.listen), HasSubstr("Address already in use")));
}

TEST_F(CoordinatorChildTest, ThatSaysSomethingElseOrNothingIsAnError) {
  run_instead("exit 3");
  EXPECT_THAT(refusal(child()), HasSubstr("it ended without a word"));
  run_instead("echo 'tutti: error: something'");
  EXPECT_THAT(refusal(child()), HasSubstr("could not be started: something"));
  run_instead("exec sleep 60");
  EXPECT_THROW(start_coordinator(child(), tutti::deadline_after(std::chrono::milliseconds(100))), DeadlineExceeded);
}

}  // namespace
