#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "control/served.h"
#include "tutti/base/log.h"

namespace tutti {
namespace {

using testing::HasSubstr;

TEST(TheStore, GivesWhatWasPut) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  const std::string binary("\0\xff\n", 3);
  zero->put("key", binary);
  EXPECT_EQ(one->get("key", std::nullopt), binary);
  zero->put("key", "another");
  EXPECT_EQ(one->get("key", std::nullopt), "another");
  zero->put("large", std::string(100'000, 'x'));
  EXPECT_EQ(one->get("large", std::nullopt).size(), 100'000U);
}

TEST(TheStore, LetsWhoComesFirstWaitForTheKey) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  std::string got;
  std::thread waiting([&] { got = one->get("later", std::nullopt); });
  zero->put("later", "value");
  waiting.join();
  EXPECT_EQ(got, "value");
}

TEST(TheStore, SaysWhichKeyDidNotComeInTime) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  const auto begin = Clock::now();
  try {
    zero->get("never", deadline_after(milliseconds(50)));
    FAIL() << "there is such a key";
  } catch (const DeadlineExceeded& error) {
    EXPECT_THAT(error.what(), HasSubstr("'never'"));
    EXPECT_THAT(error.what(), HasSubstr("store_test.cc"));
  }
  EXPECT_LT(Clock::now() - begin, milliseconds(50) + slack);
  one->put("never", "after all");
  EXPECT_EQ(zero->get("never", std::nullopt), "after all");
}

TEST(TheStore, IsBoundedAndSaysSo) {
  CoordinatorOptions options;
  options.store_limit = 100'000;
  const Served served(1, options);
  const auto zero = served.join(0);
  zero->put("a", std::string(60'000, 'a'));
  try {
    zero->put("b", std::string(60'000, 'b'));
    FAIL() << "there was room";
  } catch (const InvalidState& error) {
    EXPECT_THAT(error.what(), HasSubstr("the store is full"));
  }
  zero->put("a", std::string(90'000, 'c'));
  EXPECT_EQ(zero->get("a", std::nullopt)[0], 'c');
  EXPECT_THROW(zero->put("c", std::string(1'000'000, 'c')), InvalidArgument);
  EXPECT_THROW(zero->put(std::string(5'000, 'k'), ""), InvalidArgument);
}

TEST(TheStore, CallsWhoDoesNotWaitForAKey) {
  std::promise<std::string> early;
  std::promise<std::string> late;
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  const auto give_to = [](std::promise<std::string>& to) { return [&to](const std::string& value) { to.set_value(value); }; };
  zero->when_put("early", give_to(early));
  one->tell("early", "a", {0, 1});
  EXPECT_EQ(early.get_future().get(), "a");
  one->put("late", "b");
  zero->when_put("late", give_to(late));
  EXPECT_EQ(late.get_future().get(), "b");
}

TEST(TheStore, CallsNobodyWhoHasForgotten) {
  std::atomic<int> calls = 0;
  std::promise<void> last;
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  zero->forget(zero->when_put("key", [&](const std::string&) { ++calls; }));
  zero->when_put("key", [&](const std::string&) { last.set_value(); });
  one->put("key", "value");
  last.get_future().wait();
  EXPECT_EQ(calls, 0);
}

TEST(TheStore, LetsACallAskAndTell) {
  const Served served(2);
  const auto zero = served.join(0);
  const auto one = served.join(1);
  one->when_put("question", [&](const std::string& asked) { one->tell("answer", asked + "!", {0, 1}); });
  zero->tell("question", "a", {0, 1});
  EXPECT_EQ(zero->get("answer", std::nullopt), "a!");
}

TEST(TheStore, LogsWhatItHasNoRoomForWhereNobodyWaits) {
  CoordinatorOptions options;
  options.store_limit = 1'000;
  const Served served(1, options);
  const auto zero = served.join(0);
  std::promise<std::string> logged;
  set_log_sink([&](LogLevel, std::string_view line) { logged.set_value(std::string(line)); });
  zero->tell("key", std::string(2'000, 'a'), {0});
  EXPECT_THAT(logged.get_future().get(), HasSubstr("the store is full"));
  set_log_sink({});
}

}  // namespace
}  // namespace tutti
