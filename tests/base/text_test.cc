#include "tutti/base/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tutti {
namespace {

TEST(Text, JoinsPartsOfEveryKind) {
  EXPECT_EQ(text("limit ", 12, " B, ", std::string("of "), std::string_view("all"), ' ', true, ' ', -3, ' ', 1.5),
            "limit 12 B, of all true -3 1.5");
  EXPECT_EQ(text(), "");
  EXPECT_EQ(text(std::numeric_limits<std::int64_t>::min(), '/', std::numeric_limits<std::uint64_t>::max()),
            "-9223372036854775808/18446744073709551615");
}

TEST(HumanBytes, PicksTheUnitThatReadsBest) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1024), "1 KiB");
  EXPECT_EQ(human_bytes(1536), "1.50 KiB");
  EXPECT_EQ(human_bytes(std::uint64_t{3} << 29U), "1.50 GiB");
  EXPECT_EQ(human_bytes(std::uint64_t{1} << 40U), "1 TiB");
  EXPECT_EQ(human_bytes(std::numeric_limits<std::uint64_t>::max()), "16384 PiB");
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("plain"), "plain");
  EXPECT_EQ(printable("a\nb\x1b[0m\x7f\xff"), "a\\x0ab\\x1b[0m\\x7f\\xff");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
}

TEST(Printable, CutsLongTextInTheMiddleAndSaysHowLongItWas) {
  const std::string megabyte(1'000'000, 'x');
  const std::string shown = printable(megabyte);
  EXPECT_LT(shown.size(), 200U);
  EXPECT_NE(shown.find("(1000000 characters)"), std::string::npos);
  EXPECT_EQ(printable(std::string(120, 'y')), std::string(120, 'y'));
  EXPECT_LT(printable(std::string(121, '\n'), 120).size(), 121U * 4);
}

}  // namespace
}  // namespace tutti
