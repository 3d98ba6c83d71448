// A file is there as a whole or not at all.
#include "tutti/base/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace tutti {
namespace {

namespace fs = std::filesystem;

class WholeFiles : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ostringstream out;
    out << std::ifstream(path(name)).rdbuf();
    return out.str();
  }
  void put(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  [[nodiscard]] std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator{}); }

  fs::path folder_ = fs::path(::testing::TempDir()) / ("tutti_whole_file_" + std::to_string(::getpid()));
};

TEST_F(WholeFiles, TakeTheirNameWhenTheyAreFinished) {
  put("a", "before");
  WholeFile file(path("a"));
  file.write("one ");
  file.write("two");
  EXPECT_EQ(content("a"), "before");
  file.finish();
  EXPECT_EQ(content("a"), "one two");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFiles, TakeTheirNameWhenTheyAreFinishedOnTheDisk) {
  put("a", "before");
  WholeFile file(path("a"));
  file.write("after");
  file.finish_on_disk();
  EXPECT_EQ(content("a"), "after");
  EXPECT_EQ(files(), 1);
  WholeFile full("/dev/full");
  full.write("no room");
  EXPECT_THROW(full.finish_on_disk(), std::system_error);
}

TEST_F(WholeFiles, ThatAreNotFinishedLeaveNothing) {
  {
    WholeFile file(path("a"));
    file.write("half");
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(WholeFiles, KeepTheRightsAndTheLinksOfTheOnesTheyReplace) {
  put("a", "before");
  fs::permissions(path("a"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(path("a"), path("link"));
  WholeFile file(path("link"));
  file.write("after");
  file.finish();
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content("a"), "after");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WholeFiles, ThatAreNoFilesAreWrittenToAsTheyAre) {
  WholeFile file("/dev/null");
  file.write("gone");
  file.finish();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  WholeFile full("/dev/full");
  full.write("no room");
  EXPECT_THROW(full.finish(), std::system_error);
}

TEST_F(WholeFiles, ThatCannotBeMadeSayWhy) {
  EXPECT_THROW(WholeFile(path("no/such/folder")), std::system_error);
  EXPECT_THROW(WholeFile(folder_.string()), std::system_error) << "a folder";
}

TEST_F(WholeFiles, OfOneNameDoNotMixWhatTwoWrite) {
  WholeFile a(path("x"));
  WholeFile b(path("x"));
  a.write("aaaa");
  b.write("bb");
  a.finish();
  EXPECT_EQ(content("x"), "aaaa");
  b.finish();
  EXPECT_EQ(content("x"), "bb");
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace tutti
