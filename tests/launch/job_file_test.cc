// The note rank 0 leaves for the ranks of its host: for this user only, and never that of a coordinator that is gone.
#include "tutti/mesh/control/job_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>

#include "launch/launcher_environment.h"
#include "launch/temporary_folder.h"
#include "tutti/base/error.h"
#include "tutti/mesh/control/job_secret.h"

namespace {

using launch_tests::LauncherEnvironment;
using launch_tests::TemporaryFolder;
using testing::HasSubstr;
using tutti::InvalidArgument;
using tutti::InvalidState;
using tutti::JobFile;

class JobFiles : public testing::Test {
 protected:
  JobFiles() { environment_.set("XDG_RUNTIME_DIR", folder_.path().c_str()); }

  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  TemporaryFolder folder_;
  LauncherEnvironment environment_{};
};

std::string refusal(const std::string& job) {
  try {
    static_cast<void>(JobFile(job).read());
  } catch (const InvalidState& error) {
    return error.message();
  }
  return "not refused";
}

TEST_F(JobFiles, ANoteIsReadWhileItsWriterHoldsTheLockAndNotLater) {
  const JobFile reader("job");
  EXPECT_EQ(reader.read(), std::nullopt);
  {
    JobFile writer("job");
    ASSERT_TRUE(writer.claim());
    EXPECT_EQ(reader.read(), std::nullopt) << "claimed, and not written yet";
    writer.write({"127.0.0.1:4000", "secret"});
    const auto note = reader.read();
    ASSERT_TRUE(note.has_value());
    EXPECT_EQ(note->address, "127.0.0.1:4000");
    EXPECT_EQ(note->secret, "secret");
    JobFile second("job");
    EXPECT_FALSE(second.claim());
    EXPECT_EQ(JobFile("another job").read(), std::nullopt);
  }
  EXPECT_EQ(reader.read(), std::nullopt) << "it is still there, and its writer is not";
  JobFile next("job");
  EXPECT_TRUE(next.claim());
  EXPECT_EQ(reader.read(), std::nullopt) << "an old note is not the next one's";
}

TEST_F(JobFiles, ALockLivesAsLongAsAnyProcessThatInheritedIt) {
  auto writer = std::make_optional<JobFile>("job");
  ASSERT_TRUE(writer->claim());
  writer->write({"a:1", "s"});
  const int inherited = ::dup(writer->descriptor());
  writer.reset();
  EXPECT_TRUE(JobFile("job").read().has_value());
  JobFile::remove(JobFile("job").path());
  EXPECT_EQ(JobFile("job").read(), std::nullopt);
  JobFile next("job");
  EXPECT_TRUE(next.claim()) << "what was removed holds nobody up";
  ::close(inherited);
}

TEST_F(JobFiles, AClaimWithoutANoteLeavesNothingBehind) {
  {
    JobFile writer("job");
    ASSERT_TRUE(writer.claim());
    EXPECT_EQ(files(), 1U);
    EXPECT_THROW(writer.write({"two\nlines", "s"}), InvalidArgument);
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(JobFiles, TheFileIsForThisUserAlone) {
  JobFile writer("job");
  ASSERT_TRUE(writer.claim());
  struct stat found {};
  ASSERT_EQ(::stat(writer.path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
  writer.write({"a:1", "s"});
  ASSERT_EQ(::chmod(writer.path().c_str(), 0644), 0);
  EXPECT_THAT(refusal("job"), HasSubstr("is not a file for this user alone"));
}

TEST_F(JobFiles, ALinkInItsPlaceIsNotFollowed) {
  const std::string path = JobFile("job").path();
  std::ofstream(folder_.path() / "trap") << "a:1\ns\nend\n";
  std::filesystem::create_symlink(folder_.path() / "trap", path);
  EXPECT_THAT(refusal("job"), HasSubstr(path));
  JobFile writer("job");
  EXPECT_THROW(writer.claim(), InvalidState);
}

TEST_F(JobFiles, AFolderOthersCanWriteToIsRefused) {
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  EXPECT_THAT(refusal("job"), HasSubstr("chmod 700"));
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0700), 0);
  std::filesystem::create_directory(folder_.path() / "real");
  std::filesystem::create_directory_symlink(folder_.path() / "real", folder_.path() / "link");
  environment_.set("XDG_RUNTIME_DIR", (folder_.path() / "link").c_str());
  EXPECT_THAT(refusal("job"), HasSubstr("is no folder"));
  environment_.set("XDG_RUNTIME_DIR", (folder_.path() / "missing").c_str());
  EXPECT_THAT(refusal("job"), HasSubstr("missing"));
}

TEST_F(JobFiles, ANoteOfAKilledCoordinatorIsTakenAwayByTheNextThatLooks) {
  const auto leave = [](const char* job) {
    JobFile killed(job);
    ASSERT_TRUE(killed.claim());
    killed.write({"a:1", "s"});
  };
  leave("job");
  ASSERT_EQ(files(), 1U);
  EXPECT_EQ(JobFile("job").read(), std::nullopt);
  EXPECT_EQ(files(), 0U);
  // A run has a name of its own: whoever claims the next one comes across the note.
  leave("job");
  JobFile living("another");
  ASSERT_TRUE(living.claim());
  living.write({"a:1", "s"});
  JobFile next("next");
  ASSERT_TRUE(next.claim());
  EXPECT_EQ(files(), 2U);
  EXPECT_TRUE(JobFile("another").read().has_value());
  EXPECT_FALSE(std::filesystem::exists(JobFile("job").path()));
}

class SharedFolder : public JobFiles {
 protected:
  SharedFolder() {
    environment_.set("XDG_RUNTIME_DIR", nullptr);
    std::filesystem::permissions(folder_.path(), std::filesystem::perms::all | std::filesystem::perms::sticky_bit);
  }
  [[nodiscard]] JobFile file(const char* job) const { return {job, {}, folder_.path().string()}; }
  [[nodiscard]] std::filesystem::path own() const { return folder_.path() / ("tutti-" + std::to_string(::getuid())); }

  void expect_ranks_find_each_other() const {
    {
      JobFile writer = file("job");
      ASSERT_TRUE(writer.claim());
      writer.write({"a:1", "s"});
      struct stat found {};
      const std::filesystem::path folder = std::filesystem::path(writer.path()).parent_path();
      ASSERT_EQ(::lstat(folder.c_str(), &found), 0);
      EXPECT_EQ(found.st_uid, ::getuid());
      EXPECT_EQ(found.st_mode & 0077U, 0U) << "it is for this user alone";
      EXPECT_TRUE(file("job").read().has_value());
      EXPECT_FALSE(file("job").claim());
      JobFile second = file("another");
      EXPECT_TRUE(second.claim());
      EXPECT_EQ(std::filesystem::path(second.path()).parent_path(), folder) << "one folder is enough";
    }
    EXPECT_EQ(file("job").read(), std::nullopt);
  }
};

TEST_F(SharedFolder, HasAFolderOfTheUsersOwnForTheFiles) {
  EXPECT_EQ(file("job").read(), std::nullopt);
  EXPECT_EQ(files(), 0U) << "who only looks makes none";
  expect_ranks_find_each_other();
  EXPECT_TRUE(std::filesystem::exists(own()));
  EXPECT_EQ(files(), 1U);
}

TEST_F(SharedFolder, ThatAnotherUserHasPutAFolderInHoldsNobodyUp) {
  std::filesystem::create_directory(own());
  // Where this is no test of root's, who may give folders away, a folder that others can write to stands for it.
  constexpr uid_t nobody = 65'534;
  const bool is_given = ::chown(own().c_str(), nobody, nobody) == 0;
  ASSERT_TRUE(is_given || ::chmod(own().c_str(), 0777) == 0);
  expect_ranks_find_each_other();
  EXPECT_TRUE(std::filesystem::is_empty(own())) << "nothing is written to it";
}

TEST_F(SharedFolder, ThatSomebodyHasPutLinksIntoHoldsNobodyUp) {
  std::filesystem::create_directory(folder_.path() / "trap");
  std::filesystem::create_directory_symlink(folder_.path() / "trap", own());
  std::filesystem::create_directory_symlink(folder_.path() / "trap", own().string() + "-aaaaaa");
  expect_ranks_find_each_other();
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "trap"));
}

TEST_F(SharedFolder, ThatIsNotThereIsAnErrorWithItsName) {
  JobFile file("job", {}, (folder_.path() / "missing").string());
  EXPECT_EQ(file.read(), std::nullopt);
  try {
    file.claim();
    ADD_FAILURE() << "there is no folder";
  } catch (const InvalidState& error) {
    EXPECT_THAT(error.message(), HasSubstr("missing: No such file or directory"));
  }
}

TEST_F(JobFiles, EveryJobHasANameOfItsOwnWhateverStandsInIt) {
  const std::string path = JobFile("../../etc/passwd").path();
  EXPECT_EQ(std::filesystem::path(path).parent_path(), folder_.path());
  EXPECT_NE(JobFile("a/b").path(), JobFile("a_b").path());
  EXPECT_NE(JobFile(std::string(5'000, 'x')).path(), JobFile(std::string(5'001, 'x')).path());
  JobFile claimed(std::string(5'000, 'x'));
  EXPECT_TRUE(claimed.claim());
}

TEST(JobSecret, IsNeverTheSame) {
  const tutti::wire::Secret made = tutti::make_job_secret();
  const std::string& secret = made.text();
  EXPECT_EQ(secret.size(), 32U);
  EXPECT_EQ(secret.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(secret, tutti::make_job_secret().text());
}

}  // namespace
