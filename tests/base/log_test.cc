#include "tutti/base/log.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tutti/base/error.h"

namespace tutti {
namespace {

TEST(Log, GivesTheSinkWholeLinesFromTheLevelUpwards) {
  std::vector<std::pair<LogLevel, std::string>> lines;
  set_log_sink([&lines](LogLevel level, std::string_view line) { lines.emplace_back(level, line); });
  set_log_level(LogLevel::warning);
  log(LogLevel::info, "not this");
  log(LogLevel::warning, "this");
  log(LogLevel::error, "and this");
  set_log_level(LogLevel::off);
  log(LogLevel::error, "nothing any more");
  set_log_level(LogLevel::info);
  set_log_sink({});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], std::pair(LogLevel::warning, std::string("this")));
  EXPECT_EQ(lines[1], std::pair(LogLevel::error, std::string("and this")));
}

TEST(Log, GoesToStderrWithoutASinkAndWhenTheSinkThrows) {
  testing::internal::CaptureStderr();
  log(LogLevel::warning, "plain");
  set_log_sink([](LogLevel, std::string_view) { throw std::runtime_error("full"); });
  log(LogLevel::warning, "rescued");
  set_log_sink({});
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_NE(shown.find("plain\n"), std::string::npos);
  EXPECT_NE(shown.find("rescued\n"), std::string::npos);
}

TEST(Error, CarriesTheMessageAndTheUsersLine) {
  const Site here;
  const InvalidDeviceName error("what was asked", here);
  EXPECT_EQ(std::string(error.what()), "what was asked [at " + here.to_string() + "]");
  EXPECT_NE(here.to_string().find("log_test.cc:"), std::string::npos);
  EXPECT_EQ(error.site(), here);
}

TEST(Error, IsOneFamily) {
  const Site here;
  EXPECT_THROW(throw UnknownDevice("x", here), InvalidArgument);
  EXPECT_THROW(throw ConfigurationFrozen("x", here), InvalidState);
  EXPECT_THROW(throw KernelFailed("x", here), AsyncError);
  EXPECT_THROW(throw OutOfMemory("x", here), Error);
  EXPECT_THROW(throw DeadlineExceeded("x", here), std::runtime_error);
}

}  // namespace
}  // namespace tutti
