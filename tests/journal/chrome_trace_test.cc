// The trace a viewer opens: read back as JSON, lane by lane and arrow by arrow.
#include "tutti/journal/chrome_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/journal/json_text.h"
#include "tutti/journal/trace_file.h"

namespace tutti::journal {
namespace {

using Json = nlohmann::json;

std::vector<Json> entries(const Recording& recording, std::string_view phase) {
  std::vector<Json> out;
  const Json trace = Json::parse(to_chrome_trace(recording));
  for (const Json& entry : trace.at("traceEvents")) {
    if (entry.at("ph") == phase) out.push_back(entry);
  }
  return out;
}

std::string lane_name(const Recording& recording, int process, std::uint64_t lane) {
  for (const Json& entry : entries(recording, "M")) {
    if (entry.at("name") == "thread_name" && entry.at("pid") == process && entry.at("tid") == lane)
      return entry.at("args").at("name");
  }
  return "";
}

Json only(const std::vector<Json>& found) { return found.size() == 1 ? found.front() : Json(); }

Recording recording_of(const std::vector<Event>& events) {
  return {{{100, "main", events, 0}}, {{StreamId{7}, "GPU:0 stream 0"}}};
}

TEST(ChromeTrace, IsValidWhenNothingWasRecorded) {
  const Json trace = Json::parse(to_chrome_trace({}));
  EXPECT_EQ(trace.at("traceEvents").size(), 2U) << "the names of the two processes";
  EXPECT_EQ(trace.at("otherData").at("dropped_events"), 0);
}

TEST(ChromeTrace, HasALanePerThreadAndPerStream) {
  const Event run{.kind = EventKind::run, .stream = StreamId{9}, .name = "add"};
  const Recording recording{{{100, "main", {{.kind = EventKind::place, .name = "add"}}, 0}, {101, "", {run}, 0}},
                            {{StreamId{7}, "GPU:0 stream 0"}}};
  EXPECT_EQ(lane_name(recording, 1, 100), "main");
  EXPECT_EQ(lane_name(recording, 1, 101), "thread 101");
  EXPECT_EQ(lane_name(recording, 2, 7), "GPU:0 stream 0");
  EXPECT_EQ(lane_name(recording, 2, 9), "stream 9");
}

TEST(ChromeTrace, PutsARunOnItsStreamWithItsNanoseconds) {
  const Json run = only(entries(recording_of({{.kind = EventKind::run,
                                               .stream = StreamId{7},
                                               .name = "matmul",
                                               .begin = 1'234'567'005,
                                               .end = 1'234'569'006,
                                               .value = 3}}),
                                "X"));
  ASSERT_FALSE(run.is_null());
  EXPECT_EQ(run.at("pid"), 2);
  EXPECT_EQ(run.at("tid"), 7);
  EXPECT_EQ(run.at("name"), "matmul");
  EXPECT_EQ(run.at("cat"), "run");
  EXPECT_DOUBLE_EQ(run.at("ts").get<double>(), 1'234'567.005);
  EXPECT_DOUBLE_EQ(run.at("dur").get<double>(), 2.001);
  EXPECT_EQ(run.at("args").at("point"), 3);
  EXPECT_EQ(run.at("args").at("thread"), "main");
}

TEST(ChromeTrace, KeepsEveryDigitOfALongUptime) {
  const std::string trace = to_chrome_trace(
      recording_of({{.kind = EventKind::sync, .name = "read", .begin = 9'876'543'210'987'654, .end = 9'876'543'210'987'654}}));
  EXPECT_NE(trace.find("\"ts\":9876543210987.654,\"dur\":0.000"), std::string::npos) << trace;
}

TEST(ChromeTrace, ShowsMemoryAndPlacementAsInstants) {
  const std::vector<Json> found =
      entries(recording_of({{.kind = EventKind::alloc, .name = "alloc", .detail = "CPU:0", .begin = 5, .end = 5, .value = 64},
                            {.kind = EventKind::place, .name = "add", .detail = "GPU:1", .begin = 6, .end = 6}}),
              "i");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].at("pid"), 1);
  EXPECT_EQ(found[0].at("tid"), 100);
  EXPECT_EQ(found[0].at("args").at("bytes"), 64);
  EXPECT_EQ(found[0].at("args").at("detail"), "CPU:0");
  EXPECT_EQ(found[1].at("name"), "place add");
  EXPECT_EQ(found[1].at("args").at("detail"), "GPU:1");
}

TEST(ChromeTrace, ShowsHowLongACollectiveWaitedForOtherProcesses) {
  const std::vector<Json> found = entries(recording_of({{.kind = EventKind::roll_call,
                                                         .stream = StreamId{7},
                                                         .name = "AllReduce",
                                                         .detail = "world",
                                                         .begin = 1'000,
                                                         .end = 3'001'000,
                                                         .value = 64},
                                                        {.kind = EventKind::exchange,
                                                         .stream = StreamId{7},
                                                         .name = "AllReduce",
                                                         .detail = "world",
                                                         .begin = 3'001'000,
                                                         .end = 3'001'000,
                                                         .value = 64}}),
                                          "X");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].at("name"), "roll call AllReduce");
  EXPECT_EQ(found[0].at("cat"), "roll call");
  EXPECT_EQ(found[0].at("dur"), 3000);
  EXPECT_EQ(found[1].at("name"), "exchange AllReduce");
  for (const Json& each : found) {
    EXPECT_EQ(each.at("tid"), 7);
    EXPECT_EQ(each.at("args").at("group"), "world");
    EXPECT_EQ(each.at("args").at("bytes"), 64);
  }
}

TEST(ChromeTrace, NamesTheUsersLineAndTheStreamASyncWaitedFor) {
  const Site site;
  const Json sync = only(entries(
      recording_of(
          {{.kind = EventKind::sync, .name = "read", .site = site, .begin = 1, .end = 2, .value = 9, .target = StreamId{7}}}),
      "X"));
  ASSERT_FALSE(sync.is_null());
  EXPECT_EQ(sync.at("args").at("site"), site.to_string());
  EXPECT_EQ(sync.at("args").at("waits_for"), "GPU:0 stream 0");
  EXPECT_EQ(sync.at("args").at("point"), 9);
}

TEST(ChromeTrace, DrawsAnArrowFromEachEnqueueToItsRun) {
  const StreamId one{1};
  const StreamId two{2};
  const Recording recording{
      {{100,
        "main",
        {{.kind = EventKind::enqueue, .name = "a", .begin = 1000, .end = 1100, .value = 1, .target = one},
         {.kind = EventKind::enqueue, .name = "b", .begin = 2000, .end = 2100, .value = 1, .target = two},
         {.kind = EventKind::enqueue, .name = "never run", .begin = 3000, .end = 3100, .value = 2, .target = two}},
        0},
       {101,
        "worker",
        {{.kind = EventKind::run, .stream = two, .name = "b", .begin = 5000, .end = 6000, .value = 1},
         {.kind = EventKind::run, .stream = one, .name = "a", .begin = 7000, .end = 8000, .value = 1}},
        0}},
      {}};
  const std::vector<Json> from = entries(recording, "s");
  const std::vector<Json> to = entries(recording, "f");
  ASSERT_EQ(from.size(), 2U);
  ASSERT_EQ(to.size(), 2U);
  EXPECT_NE(from[0].at("id"), from[1].at("id"));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(from[i].at("id"), to[i].at("id"));
    EXPECT_EQ(from[i].at("cat"), to[i].at("cat"));
    EXPECT_EQ(from[i].at("name"), to[i].at("name"));
    EXPECT_EQ(from[i].at("pid"), 1);
    EXPECT_EQ(from[i].at("tid"), 100);
    EXPECT_EQ(to[i].at("pid"), 2);
    EXPECT_EQ(to[i].at("tid"), i + 1);
    EXPECT_EQ(to[i].at("bp"), "e");
  }
  EXPECT_DOUBLE_EQ(from[0].at("ts").get<double>(), 1.0);
  EXPECT_DOUBLE_EQ(to[0].at("ts").get<double>(), 7.0);
  EXPECT_DOUBLE_EQ(to[1].at("ts").get<double>(), 5.0);
}

TEST(ChromeTrace, SaysHowManyEventsWereDropped) {
  const Recording recording{{{100, "main", {}, 12}, {101, "worker", {}, 0}}, {}};
  const Json trace = Json::parse(to_chrome_trace(recording));
  EXPECT_EQ(trace.at("otherData").at("dropped_events"), 12);
  std::vector<Json> found;
  for (const Json& entry : entries(recording, "M")) {
    if (entry.at("name") == "dropped_events") found.push_back(entry);
  }
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].at("tid"), 100);
  EXPECT_EQ(found[0].at("args").at("count"), 12);
}

TEST(ChromeTrace, IsValidWhateverNamesContain) {
  const char* const name = "q\"uote\\ back\n\t\x01 \xff\xc3 \xed\xa0\x80 \xc0\x80 \xf5 \xe2\x82 h\xc3\xa9llo \xf0\x9f\x8e\xbc";
  const Recording recording{{{100, name, {{.kind = EventKind::run, .stream = StreamId{7}, .name = name, .detail = name}}, 0}},
                            {{StreamId{7}, name}}};
  const std::string bad = "\xef\xbf\xbd";
  const std::string expected = "q\"uote\\ back\n\t\x01 " + bad + bad + " " + bad + bad + bad + " " + bad + bad + " " + bad + " " +
                               bad + bad + " h\xc3\xa9llo \xf0\x9f\x8e\xbc";
  EXPECT_EQ(only(entries(recording, "X")).at("name"), expected);
  EXPECT_EQ(lane_name(recording, 1, 100), expected);
  EXPECT_EQ(lane_name(recording, 2, 7), expected);
}

TEST(JsonText, KeepsEveryCodePointAndReplacesEveryLoneByte) {
  for (int byte = 0; byte < 256; ++byte) {
    std::string out;
    append_json_string(out, std::string(1, static_cast<char>(byte)));
    const std::string expected = byte < 128 ? std::string(1, static_cast<char>(byte)) : "\xef\xbf\xbd";
    EXPECT_EQ(Json::parse(out).get<std::string>(), expected) << byte;
  }
  for (const char* kept : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
                           "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    std::string out;
    append_json_string(out, kept);
    EXPECT_EQ(Json::parse(out).get<std::string>(), kept);
  }
}

class TraceFile : public testing::Test {
 protected:
  ~TraceFile() override { std::filesystem::remove(path_); }
  [[nodiscard]] Json written() const {
    std::ifstream in(path_);
    return Json::parse(in).at("traceEvents");
  }
  std::string path_ = (std::filesystem::temp_directory_path() / ("tutti_trace_" + std::to_string(::getpid()) + ".json")).string();
};

TEST_F(TraceFile, HoldsWhatWasRecordedHoweverMuchItIs) {
  constexpr int count = 20'000;
  start();
  for (int i = 0; i < count; ++i) record({.kind = EventKind::place, .name = "add", .begin = i, .end = i});
  stop();
  write_chrome_trace(path_);
  int found = 0;
  for (const Json& entry : written()) found += entry.at("ph") == "i" ? 1 : 0;
  EXPECT_EQ(found, count);
}

TEST_F(TraceFile, IsRefusedWithThePathAndTheReason) {
  for (const std::string path : {"/nowhere/at/all.json", "/dev/full"}) {
    try {
      write_chrome_trace(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("'" + path + "': "), std::string::npos) << error.what();
    }
  }
}

// The child is this program started anew, so the variable is there before its main().
TEST_F(TraceFile, IsWrittenAtExitWhenTheEnvironmentAsksForIt) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  ::setenv("TUTTI_TRACE", path_.c_str(), 0);  // in the child it is already there
  EXPECT_EXIT(
      {
        record({.kind = EventKind::place, .name = "from the child"});
        std::exit(is_recording() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  bool found = false;
  for (const Json& entry : written()) found = found || entry.at("name") == "place from the child";
  EXPECT_TRUE(found);
}

TEST_F(TraceFile, ThatCannotBeWrittenAtExitIsReportedAndTheProgramEndsAsItWould) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  ::setenv("TUTTI_TRACE", "/nowhere/at/all.json", 0);
  EXPECT_EXIT(
      {
        set_log_sink([](LogLevel, std::string_view) { std::abort(); });  // what it stands for is gone at exit
        std::exit(3);
      },
      testing::ExitedWithCode(3), "cannot be written to '/nowhere/at/all.json'");
}

}  // namespace
}  // namespace tutti::journal
