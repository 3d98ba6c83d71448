#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "control/served.h"

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

}  // namespace
}  // namespace tutti
