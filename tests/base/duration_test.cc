// Lengths of time as people write them.
#include "tutti/base/duration.h"

#include <gtest/gtest.h>

namespace {

using std::chrono::milliseconds;
using tutti::parse_duration;

TEST(Duration, IsReadWithItsUnit) {
  EXPECT_EQ(parse_duration("5s"), milliseconds(5'000));
  EXPECT_EQ(parse_duration("500ms"), milliseconds(500));
  EXPECT_EQ(parse_duration("2m"), milliseconds(120'000));
  EXPECT_EQ(parse_duration("2min"), milliseconds(120'000));
  EXPECT_EQ(parse_duration("1h"), milliseconds(3'600'000));
  EXPECT_EQ(parse_duration("1.5s"), milliseconds(1'500));
  EXPECT_EQ(parse_duration("0.25m"), milliseconds(15'000));
  EXPECT_EQ(parse_duration("1.0009s"), milliseconds(1'000));
  EXPECT_EQ(parse_duration("0s"), milliseconds(0));
  EXPECT_EQ(parse_duration("8784h"), milliseconds(366LL * 24 * 3'600'000));
}

TEST(Duration, WhatIsNoneIsRefused) {
  for (const char* text : {"", "5", "s", "-5s", "+5s", "5 s", "5S", "5sec", "1.s", ".5s", "1..5s", "8785h", "999999999999h",
                           "99999999999999999999s", "5s ", "0x5s", "nan", "inf"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

}  // namespace
