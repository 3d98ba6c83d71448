#include "tutti/mesh/wire/fields.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti::wire {
namespace {

TEST(Fields, ComeBackAsTheyWereWritten) {
  std::string out;
  FieldWriter(out)
      .u8(7)
      .u16(0x1234)
      .u32(0xdeadbeef)
      .u64(~0ULL)
      .i64(-5)
      .text("hello")
      .text("")
      .ranks({0, 1, 2, 9, 40, 41})
      .ranks({});
  FieldReader in(out);
  EXPECT_EQ(in.u8(), 7);
  EXPECT_EQ(in.u16(), 0x1234);
  EXPECT_EQ(in.u32(), 0xdeadbeefU);
  EXPECT_EQ(in.u64(), ~0ULL);
  EXPECT_EQ(in.i64(), -5);
  EXPECT_EQ(in.text(5), "hello");
  EXPECT_EQ(in.text(0), "");
  EXPECT_EQ(in.ranks(42), (std::vector<int>{0, 1, 2, 9, 40, 41}));
  EXPECT_TRUE(in.ranks(1).empty());
  EXPECT_TRUE(in.done());
}

TEST(Fields, AreLittleEndian) {
  std::string out;
  FieldWriter(out).u16(0x0102).u32(3);
  EXPECT_EQ(out, std::string("\x02\x01\x03\x00\x00\x00", 6));
}

TEST(Fields, OfAWorldCostTwelveBytes) {
  std::vector<int> world;
  for (int rank = 0; rank < 1000; ++rank) world.push_back(rank);
  std::string out;
  FieldWriter(out).ranks(world);
  EXPECT_EQ(out.size(), 12U);
}

TEST(Fields, CutAnywhereFailAndStayFailed) {
  std::string out;
  FieldWriter(out).u32(1).text("some text").u64(5).ranks({1, 3});
  for (std::size_t cut = 0; cut < out.size(); ++cut) {
    FieldReader in(std::string_view(out).substr(0, cut));
    in.u32();
    in.text(100);
    in.u64();
    in.ranks(10);
    EXPECT_FALSE(in.ok()) << cut;
    EXPECT_FALSE(in.done());
    EXPECT_EQ(in.u64(), 0U);
    EXPECT_EQ(in.text(100), "");
  }
}

TEST(Fields, ThatAreLongerThanAllowedAreNotRead) {
  std::string out;
  FieldWriter(out).text("twelve bytes");
  FieldReader in(out);
  EXPECT_EQ(in.text(11), "");
  EXPECT_FALSE(in.ok());
}

TEST(Ranks, ThatDoNotAscendOrAreOutsideAreNotRead) {
  const auto refused = [](std::initializer_list<std::uint32_t> numbers, int limit) {
    std::string out;
    FieldWriter writer(out);
    for (const std::uint32_t number : numbers) writer.u32(number);
    FieldReader in(out);
    return in.ranks(limit).empty() && !in.ok();
  };
  EXPECT_TRUE(refused({1, 0, 0}, 10));                    // an empty run
  EXPECT_TRUE(refused({1, 0, 11}, 10));                   // past the end
  EXPECT_TRUE(refused({1, 10, 1}, 10));                   // at the end
  EXPECT_TRUE(refused({2, 3, 2, 4, 1}, 10));              // overlapping
  EXPECT_TRUE(refused({2, 5, 1, 1, 1}, 10));              // backwards
  EXPECT_TRUE(refused({1, 0xffffffff, 0xffffffff}, 10));  // overflowing
  EXPECT_TRUE(refused({0xffffffff, 0, 1}, 10));           // more runs than there are bytes
}

}  // namespace
}  // namespace tutti::wire
