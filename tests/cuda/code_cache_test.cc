// Compiled code on disk: what was stored is found again, and whatever else lies there is taken for nothing.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tutti/kernels/cuda/code_cache.h"

namespace tutti::kernels::cuda {
namespace {

class CodeCache : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tutti_code_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string only_file() const {
    std::string out;
    for (const auto& each : std::filesystem::directory_iterator(folder_)) {
      EXPECT_EQ(out, "") << "more than one file";
      out = each.path().string();
    }
    return out;
  }
  std::string folder_;
};

TEST_F(CodeCache, GivesBackWhatWasStoredForThatKeyAlone) {
  const std::string code(
      "\0\x7f"
      "ELF\n and more",
      15);
  EXPECT_FALSE(load_code(folder_, "a key"));
  EXPECT_TRUE(store_code(folder_ + "/below", "a key", code));
  EXPECT_EQ(load_code(folder_ + "/below", "a key"), code);
  EXPECT_FALSE(load_code(folder_ + "/below", "another key"));
}

TEST_F(CodeCache, TakesDamagedAndForeignFilesForNone) {
  ASSERT_TRUE(store_code(folder_, "key", "some code"));
  const std::string path = only_file();
  std::ifstream in(path, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t length = 0; length < good.size(); ++length) {
    std::ofstream(path, std::ios::binary) << good.substr(0, length);
    EXPECT_FALSE(load_code(folder_, "key")) << "cut off at " << length;
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x15);
    std::ofstream(path, std::ios::binary) << bad;
    EXPECT_FALSE(load_code(folder_, "key")) << "byte " << at << " changed";
  }
  std::ofstream(path, std::ios::binary) << good << "!";
  EXPECT_FALSE(load_code(folder_, "key"));
  EXPECT_TRUE(store_code(folder_, "key", "some code"));
  EXPECT_EQ(load_code(folder_, "key"), "some code");
}

TEST_F(CodeCache, DoesWithoutAFolderThatCannotBeWritten) {
  std::ofstream(folder_ + "/file") << "in the way";
  EXPECT_FALSE(store_code(folder_ + "/file", "key", "code"));
  EXPECT_FALSE(load_code(folder_ + "/file", "key"));
  EXPECT_FALSE(store_code("", "key", "code"));
  EXPECT_FALSE(load_code("", "key"));
  if (geteuid() == 0) return;  // who may write anywhere
  ASSERT_EQ(chmod(folder_.c_str(), 0500), 0);
  EXPECT_FALSE(store_code(folder_, "key", "code"));
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
}

TEST_F(CodeCache, KeepsWhatWasUsedLastWhereItGrowsTooLarge) {
  const std::string code(1000, 'x');
  const auto age = [&](const char* key, int hours) {  // files are told apart by what they hold
    for (const auto& each : std::filesystem::directory_iterator(folder_)) {
      std::ifstream file(each.path(), std::ios::binary);
      const std::string held{std::istreambuf_iterator<char>(file), {}};
      if (held.find(key) != std::string::npos)
        std::filesystem::last_write_time(each.path(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
    }
  };
  for (const char* key : {"first", "second", "third"}) ASSERT_TRUE(store_code(folder_, key, code));
  age("first", 3);
  age("second", 2);
  age("third", 1);
  EXPECT_TRUE(load_code(folder_, "first"));  // used now
  EXPECT_TRUE(store_code(folder_, "fourth", code, 3500));
  EXPECT_TRUE(load_code(folder_, "first"));
  EXPECT_FALSE(load_code(folder_, "second"));
  EXPECT_TRUE(load_code(folder_, "third"));
  EXPECT_TRUE(load_code(folder_, "fourth"));
}

TEST_F(CodeCache, ManyWhoStoreTheSameLeaveOneWholeFile) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(store_code(folder_, "key", std::string(10'000, 'x')));
        EXPECT_EQ(load_code(folder_, "key"), std::string(10'000, 'x'));
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_NE(only_file(), "");
}

TEST_F(CodeCache, LiesWhereTheEnvironmentSays) {
  ASSERT_EQ(::setenv("HOME", "/at/home", 1), 0);
  ASSERT_EQ(::unsetenv("XDG_CACHE_HOME"), 0);
  ASSERT_EQ(::unsetenv("TUTTI_CACHE_DIR"), 0);
  EXPECT_EQ(cache_folder(), "/at/home/.cache/tutti");
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", "/caches", 1), 0);
  EXPECT_EQ(cache_folder(), "/caches/tutti");
  ASSERT_EQ(::setenv("TUTTI_CACHE_DIR", "/mine", 1), 0);
  EXPECT_EQ(cache_folder(), "/mine");
}

}  // namespace
}  // namespace tutti::kernels::cuda
