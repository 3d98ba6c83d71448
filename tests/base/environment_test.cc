#include "tutti/base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tutti/base/log.h"

namespace tutti {
namespace {

constexpr std::uint64_t kib = 1024;

// Collects warnings while it lives.
class Warnings {
 public:
  Warnings() {
    set_log_sink([this](LogLevel level, std::string_view line) {
      if (level == LogLevel::warning) lines.emplace_back(line);
    });
  }
  ~Warnings() { set_log_sink({}); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  std::vector<std::string> lines;
};

void set(const char* variable, const char* value) { ASSERT_EQ(setenv(variable, value, 1), 0); }

TEST(ParseBool, KnowsTheUsualWords) {
  for (const char* word : {"true", "1", "on", "yes", "TRUE", "Yes", " on "}) EXPECT_EQ(parse_bool(word), true) << word;
  for (const char* word : {"false", "0", "off", "no", "OFF", "\tno\n"}) EXPECT_EQ(parse_bool(word), false) << word;
}

TEST(ParseBool, RefusesTheRest) {
  for (const char* word : {"", " ", "2", "tru", "truee", "ja", "01", "on off"}) EXPECT_EQ(parse_bool(word), std::nullopt) << word;
}

TEST(ParseUnsigned, TakesWholeNumbersWithinTheRange) {
  EXPECT_EQ(parse_unsigned("0"), 0U);
  EXPECT_EQ(parse_unsigned(" 42 "), 42U);
  EXPECT_EQ(parse_unsigned("18446744073709551615"), no_upper_bound);
  EXPECT_EQ(parse_unsigned("4", 1, 4), 4U);
  EXPECT_EQ(parse_unsigned("5", 1, 4), std::nullopt);
  EXPECT_EQ(parse_unsigned("0", 1, 4), std::nullopt);
}

TEST(ParseUnsigned, RefusesSignsFractionsAndOverflow) {
  for (const char* word : {"", "-1", "+1", "1.0", "0x10", "1e3", "four", "1 2", "18446744073709551616"}) {
    EXPECT_EQ(parse_unsigned(word), std::nullopt) << word;
  }
}

TEST(ParseBytes, KnowsBothFamiliesOfUnits) {
  const std::vector<std::pair<const char*, std::uint64_t>> cases{{"0", 0},
                                                                 {"4096", 4096},
                                                                 {"7B", 7},
                                                                 {"512MiB", 512 * kib * kib},
                                                                 {"512 MiB", 512 * kib * kib},
                                                                 {"2GB", 2'000'000'000},
                                                                 {"2gb", 2'000'000'000},
                                                                 {"1k", kib},
                                                                 {"3KiB", 3 * kib},
                                                                 {"1KB", 1000},
                                                                 {"1.5GiB", 3 * kib * kib * kib / 2},
                                                                 {"0.25M", kib * kib / 4},
                                                                 {"1T", kib * kib * kib * kib},
                                                                 {"1TB", 1'000'000'000'000},
                                                                 {"1P", kib * kib * kib * kib * kib}};
  for (const auto& [word, bytes] : cases) EXPECT_EQ(parse_bytes(word), bytes) << word;
}

TEST(ParseBytes, RefusesWhatItCannotRepresent) {
  for (const char* word : {"", "MiB", "-1", "1.5", "1.5B", "1.", ".5G", "1.2345G", "1XB", "1KiBB", "1 2", "18446744073709551616",
                           "16384P", "16777216TiB"}) {
    EXPECT_EQ(parse_bytes(word), std::nullopt) << word;
  }
}

TEST(ParseDeviceList, ReadsNumbersAndUuids) {
  EXPECT_EQ(parse_device_list("0,2"), (DeviceList{0U, 2U}));
  EXPECT_EQ(parse_device_list(" 3 , 1 "), (DeviceList{3U, 1U}));
  EXPECT_EQ(parse_device_list("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,1"),
            (DeviceList{"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 1U}));
  EXPECT_EQ(parse_device_list("MIG-GPU-8932f937/1/2"), (DeviceList{"MIG-GPU-8932f937/1/2"}));
}

TEST(ParseDeviceList, NothingAndMinusOneMeanNoDevice) {
  EXPECT_EQ(parse_device_list(""), DeviceList{});
  EXPECT_EQ(parse_device_list("-1"), DeviceList{});
  EXPECT_EQ(parse_device_list("1,-1,2"), DeviceList{1U});  // the list ends there, as with CUDA
}

TEST(ParseDeviceList, RefusesGarbageAndRepetition) {
  for (const char* word :
       {",", "0,", ",0", "0,,1", "a", "0;1", "0,0", "GPU-", "GPU-a b", "-0", "--1", "4294967296", "GPU-a,GPU-a"}) {
    EXPECT_EQ(parse_device_list(word), std::nullopt) << word;
  }
}

TEST(Environment, AVariableThatIsNotSetIsNothingAndSaysNothing) {
  const Warnings warnings;
  unsetenv("TUTTI_TEST_UNSET");
  EXPECT_EQ(environment_bool("TUTTI_TEST_UNSET"), std::nullopt);
  EXPECT_EQ(environment_unsigned("TUTTI_TEST_UNSET"), std::nullopt);
  EXPECT_EQ(environment_bytes("TUTTI_TEST_UNSET"), std::nullopt);
  EXPECT_EQ(environment_device_list("TUTTI_TEST_UNSET"), std::nullopt);
  EXPECT_EQ(environment_text("TUTTI_TEST_UNSET"), std::nullopt);
  EXPECT_TRUE(warnings.lines.empty());
}

TEST(Environment, AVariableThatParsesGivesItsValue) {
  const Warnings warnings;
  set("TUTTI_TEST_A", "yes");
  EXPECT_EQ(environment_bool("TUTTI_TEST_A"), true);
  set("TUTTI_TEST_A", "4");
  EXPECT_EQ(environment_unsigned("TUTTI_TEST_A", 1, 64), 4U);
  set("TUTTI_TEST_A", "2KiB");
  EXPECT_EQ(environment_bytes("TUTTI_TEST_A"), 2048U);
  EXPECT_EQ(environment_text("TUTTI_TEST_A"), "2KiB");
  set("TUTTI_TEST_A", "");
  EXPECT_EQ(environment_device_list("TUTTI_TEST_A"), DeviceList{});
  EXPECT_EQ(environment_text("TUTTI_TEST_A"), std::nullopt);
  EXPECT_TRUE(warnings.lines.empty());
}

TEST(Environment, AVariableThatDoesNotParseIsReportedOnceAndIgnored) {
  const Warnings warnings;
  set("TUTTI_TEST_B", "f\x01ur");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(environment_unsigned("TUTTI_TEST_B", 1, 64), std::nullopt);
  ASSERT_EQ(warnings.lines.size(), 1U);
  EXPECT_EQ(warnings.lines[0], "TUTTI_TEST_B='f\\x01ur' is ignored: a whole number from 1 to 64 expected");
  set("TUTTI_TEST_C", "perhaps");
  EXPECT_EQ(environment_bool("TUTTI_TEST_C"), std::nullopt);
  ASSERT_EQ(warnings.lines.size(), 2U);
  EXPECT_EQ(warnings.lines[1], "TUTTI_TEST_C='perhaps' is ignored: true, false, 1, 0, on, off, yes or no expected");
}

TEST(Environment, AMegabyteOfGarbageIsReportedInALine) {
  const Warnings warnings;
  set("TUTTI_TEST_D", std::string(100'000, ',').c_str());
  EXPECT_EQ(environment_device_list("TUTTI_TEST_D"), std::nullopt);
  ASSERT_EQ(warnings.lines.size(), 1U);
  EXPECT_LT(warnings.lines[0].size(), 400U);
  const std::string digits(1'000'000, '9');
  EXPECT_EQ(parse_bytes(digits), std::nullopt);
  EXPECT_EQ(parse_unsigned(digits), std::nullopt);
  EXPECT_EQ(parse_device_list(digits), std::nullopt);
  EXPECT_EQ(parse_bool(digits), std::nullopt);
}

TEST(Environment, RandomTextGivesValuesThatParseToThemselvesAgain) {
  static constexpr std::string_view alphabet = "0123456789.,-kKMGTiBb GPU\xff";
  unsigned accepted = 0;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::string word;
    for (unsigned i = random() % 8; i > 0; --i) word += alphabet[random() % alphabet.size()];
    if (const auto bytes = parse_bytes(word)) {
      ++accepted;
      EXPECT_EQ(parse_bytes(std::to_string(*bytes)), bytes) << word;
    }
    if (const auto number = parse_unsigned(word)) {
      EXPECT_EQ(parse_bytes(word), number) << word;
    }
    if (const auto list = parse_device_list(word)) {
      EXPECT_LE(list->size(), word.size());
    }
    parse_bool(word);
  }
  EXPECT_GT(accepted, 1000U);
}

}  // namespace
}  // namespace tutti
