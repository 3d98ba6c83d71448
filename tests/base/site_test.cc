// A place in a source that no compiler of ours has seen works wherever one of ours does.
#include "tutti/base/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "place/captured_log.h"
#include "tutti/journal/chrome_trace.h"
#include "tutti/memory/memory_report.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

static_assert(sizeof(Site) == sizeof(void*) && std::is_trivially_copyable_v<Site>);
constexpr Site known_when_compiled;
static_assert(known_when_compiled.line() == __LINE__ - 1);

Site train_line(std::uint32_t line = 31) { return Site::at("train.py", line, "step"); }

TEST(RunTimeSite, SaysItsFileLineAndFunction) {
  const Site site = Site::at("model/train.py", 7, "step");
  EXPECT_STREQ(site.file(), "model/train.py");
  EXPECT_STREQ(site.function(), "step");
  EXPECT_EQ(site.line(), 7U);
  EXPECT_EQ(site.column(), 0U);
  EXPECT_EQ(site.to_string(), "model/train.py:7");
  EXPECT_STREQ(Site::at("train.py", 7).function(), "");
  EXPECT_EQ(Site::at("", 0).to_string(), ":0");
}

TEST(RunTimeSite, IsOneForEqualTextsWhereverTheyLie) {
  const std::string file = "train.py";
  const std::string again = "train.py";
  const Site site = Site::at(file, 7, "step");
  EXPECT_EQ(site, Site::at(again, 7, "step"));
  EXPECT_EQ(site.hash(), Site::at(again, 7, "step").hash());
  EXPECT_EQ(site.file(), Site::at(again, 8, "other").file()) << "equal files compare by their address";
  EXPECT_FALSE(site == Site::at(file, 8, "step"));
  EXPECT_FALSE(site == Site::at("other.py", 7, "step"));
}

TEST(RunTimeSite, KeepsItsTextsWhenTheCallersAreGone) {
  auto file = std::make_unique<std::string>("gone.py");
  const Site site = Site::at(*file, 3);
  file->assign("xxxxxxx");
  file.reset();
  EXPECT_EQ(site.to_string(), "gone.py:3");
}

TEST(RunTimeSite, IsPrintedLikeACompiledOne) {
  const Site compiled;
  const Site made = Site::at(compiled.file(), compiled.line(), compiled.function());
  EXPECT_EQ(made.to_string(), compiled.to_string());
  EXPECT_STREQ(made.function(), compiled.function());
}

TEST(RunTimeSite, StaysOnOneLineWhateverTheFileIsCalled) {
  EXPECT_EQ(Site::at("<stdin>\n\x1b[2J", 1).to_string(), "<stdin>\\x0a\\x1b[2J:1");
  EXPECT_EQ(Site::at("Bücher/ü.py", 1).to_string(), "Bücher/ü.py:1");
}

TEST(RunTimeSite, IsFoundByManyThreadsAtOnce) {
  constexpr std::uint32_t lines = 2000;
  constexpr int count = 8;
  std::vector<std::vector<Site>> found(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&mine = found[static_cast<std::size_t>(i)]] {
      for (std::uint32_t line = 0; line < lines; ++line)
        mine.push_back(Site::at("file" + std::to_string(line % 7) + ".py", line, "f" + std::to_string(line % 3)));
    });
  }
  for (std::thread& each : threads) each.join();
  for (std::uint32_t line = 0; line < lines; ++line) {
    for (const std::vector<Site>& each : found) {
      ASSERT_EQ(each[line], found[0][line]);
      ASSERT_EQ(each[line].function(), found[0][line].function());
    }
    ASSERT_EQ(found[0][line].to_string(), "file" + std::to_string(line % 7) + ".py:" + std::to_string(line));
  }
}

TEST(RunTimeSite, HasItsOwnAccountInTheLedger) {
  simulate_gpus(1);
  for (int i = 0; i < 3; ++i) sum(ones({4}), train_line()).sync({}, train_line());
  ones({4}).sync({}, train_line(32));
  std::vector<std::string> seen;
  for (const SyncTotals& each : sync_totals()) {
    if (!is_demand(each.reason)) continue;
    seen.push_back(each.site.to_string() + " " + std::to_string(each.calls));
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAre("train.py:31 3", "train.py:32 1"));
}

TEST(RunTimeSite, IsInTheReportAsTextJsonAndPage) {
  simulate_gpus(1);
  journal::start();
  const Site site = Site::at("</script><b onclick=x>.py", 5, "step<\"T\">");
  ones({4}).sync({}, train_line());
  ones({4}).sync({}, site);
  journal::stop();
  const SyncReport report = sync_report();
  EXPECT_THAT(report.to_text(), HasSubstr("train.py:31"));
  bool is_found = false;
  const Json json = Json::parse(report.to_json());
  for (const Json& each : json.at("sites")) {
    if (each.at("site") != site.to_string()) continue;
    is_found = true;
    EXPECT_EQ(each.at("file"), site.file());
    EXPECT_EQ(each.at("line"), 5);
    EXPECT_EQ(each.at("function"), "step<\"T\">");
  }
  EXPECT_TRUE(is_found);
  EXPECT_THAT(report.to_html(), HasSubstr("train.py:31"));
  EXPECT_THAT(report.to_html(), Not(HasSubstr("<b onclick")));
}

TEST(RunTimeSite, IsInTheJournalAndItsTrace) {
  journal::start();
  add(ones({4}), 1, train_line()).sync({}, train_line(32));
  journal::stop();
  std::size_t placed = 0;
  const journal::Recording recording = journal::snapshot();
  for (const journal::ThreadEvents& thread : recording.threads) {
    for (const journal::Event& event : thread.events) {
      if (event.kind == journal::EventKind::place && event.site == train_line()) ++placed;
    }
  }
  EXPECT_EQ(placed, 1U);
  const Json trace = Json::parse(journal::to_chrome_trace(recording));
  std::size_t synced = 0;
  for (const Json& entry : trace.at("traceEvents")) {
    if (entry.contains("args") && entry.at("args").contains("site") && entry.at("args").at("site") == "train.py:32") ++synced;
  }
  EXPECT_GE(synced, 1U);
}

TEST(RunTimeSite, IsInErrorsAtTheCallAndInThoseOfWorkInFlight) {
  simulate_gpus(1);
  try {
    static_cast<void>(matmul(ones({2, 3}), ones({2, 3}), train_line()));
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_EQ(e.site(), train_line());
    EXPECT_THAT(e.what(), HasSubstr("[at train.py:31]"));
  }
  const Tensor spoiled = take(ones({3}), constant({7}), 0, train_line(32));
  try {
    spoiled.sync({}, train_line(33));
    FAIL();
  } catch (const KernelFailed& e) {
    EXPECT_EQ(e.site(), train_line(32));
    EXPECT_THAT(e.what(), HasSubstr("[at train.py:32]"));
  }
  try {
    const SyncScope strict(OnSync::error, Site::at("train.py", 40));
    ones({1}).sync({}, train_line(41));
    FAIL();
  } catch (const SyncForbidden& e) {
    EXPECT_EQ(e.site(), train_line(41));
  }
}

TEST(RunTimeSite, OwnsMemoryInTheLeakReport) {
  const Tensor kept = empty({1000}, DType::f32, train_line());
  const Tensor more = empty({1000}, DType::f32, train_line());
  EXPECT_THAT(leak_report(runtime(Site{}).cpu().memory()), HasSubstr("train.py:31"));
  EXPECT_THAT(leak_report(runtime(Site{}).cpu().memory()), HasSubstr("in 2 buffers"));
}

TEST(RunTimeSite, IsInThePlacementRecordAndItsLog) {
  simulate_gpus(1);
  set_soft_device_placement(true);
  set_copy_policy(CopyPolicy::warn);
  const CapturedLog log;
  const Tensor here = ones({2});
  EXPECT_EQ(add(here, 1, train_line()).device(), here.device());
  EXPECT_EQ(last_placement().site, train_line());
  const DeviceScope on("GPU:9");
  for (int i = 0; i < 2; ++i) static_cast<void>(empty({2}, DType::f32, train_line(32)));
  static_cast<void>(empty({2}, DType::f32, train_line(33)));
  EXPECT_EQ(log.count("at train.py:32 asked for"), 1U) << "said once a line";
  EXPECT_EQ(log.count("at train.py:33 asked for"), 1U);
  const DeviceScope cpu("CPU:0");
  static_cast<void>(add(here, 1, train_line(34)));
  EXPECT_EQ(log.count("(train.py:34)"), 1U);
}

}  // namespace
}  // namespace tutti
