// The report says what the ledger and the journal know, as text, as JSON and as one page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "streams/gate.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

// The site's own lines: from its row to the next site's or the totals.
std::string part_about(const std::string& text, Site site) {
  const std::size_t at = text.find("\n    " + site.to_string());
  if (at == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', at - 1) + 1;
  std::size_t end = text.find('\n', at + 1) + 1;
  while (text.compare(end, 4, "    ") == 0) end = text.find('\n', end) + 1;
  return text.substr(begin, end - begin);
}

// A long path folds its line.
std::string unfolded(std::string part) {
  for (std::size_t at = part.find("\n    "); at != std::string::npos; at = part.find("\n    ", at)) part.replace(at, 5, " ");
  return part;
}

Json json_of(const SyncReport& report) { return Json::parse(report.to_json()); }

Json site_in(const Json& report, Site site) {
  for (const Json& each : report.at("sites")) {
    if (each.at("demand") && each.at("site") == site.to_string()) return each;  // memory may be mapped there too
  }
  ADD_FAILURE() << "no site " << site.to_string();
  return {};
}

// The device has nothing to do for this long after the sync.
void leave_idle(std::chrono::nanoseconds time) {
  for (const Nanoseconds until = now() + time.count(); now() < until;) {}
}

}  // namespace

TEST(SyncReport, OfAProgramThatNeverWaitedSaysSo) {
  EXPECT_EQ(sync_report().to_text(), "Syncs of the host: none.\n");
  const Json json = json_of(sync_report());
  EXPECT_TRUE(json.at("sites").empty());
  EXPECT_TRUE(json.at("timeline").is_null());
}

TEST(SyncReport, TextGivesEachSiteItsReasonClassFiguresEvidenceAndFixIn80Columns) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  (void)item<bool>(sum(ones({3})) > 2);  // memory is mapped here
  const Site decided;
  for (int i = 0; i < 3; ++i) (void)item<bool>(sum(ones({3})) > 2, decided);
  const SyncReport report = sync_report();
  const std::string text = report.to_text();
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), 80U) << line;
  const std::string part = unfolded(part_about(text, decided));
  EXPECT_THAT(part, testing::ContainsRegex("value read +control flow +3 +[0-3] "));
  EXPECT_THAT(part,
              HasSubstr(decided.to_string() + ", for what greater made on /device:GPU:0 each of the 3 calls read a value that "
                                              "decides what the host does fix: where(), cond() and while_loop() decide on "
                                              "the device\n"));
  std::ostringstream streamed;
  streamed << report;
  EXPECT_EQ(streamed.str(), text);
}

TEST(SyncReport, RanksDemandBeforeFlowAndEachByIdleCausedThenByTimeBlocked) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  testing_streams::Gate gate;
  const Tensor held = gate.close("GPU:0");
  const Site longest;
  EXPECT_THROW(held.sync({.timeout = 20ms}, longest), DeadlineExceeded);
  gate.open();
  const Site idle;
  // Whether the host had to wait is a matter of the moment; that it did once in many times is not.
  for (int i = 0; i < 50 && site_in(json_of(sync_report()), longest).at("device_idle_ns") == 0; ++i) {
    (void)item<float>(sum(matmul(ones({128, 128}), ones({128, 128}))), idle);
    leave_idle(1ms);
    (void)ones({1});
    if (site_in(json_of(sync_report()), idle).at("device_idle_ns") > 0) break;
  }
  sync_devices();
  sync_devices();  // costs nothing, unlike the memory that was mapped
  const SyncReport report = sync_report();
  ASSERT_GT(report.flow.blocked_time, 0);
  EXPECT_EQ(report.sites[0].totals.site, idle);
  EXPECT_GE(report.sites[0].totals.device_idle, 1'000'000);
  EXPECT_EQ(report.sites[1].totals.site, longest);
  EXPECT_GT(report.sites[1].totals.blocked_time, 0);
  EXPECT_THAT(unfolded(part_about(report.to_text(), longest)), HasSubstr("1 timed out"));
  for (std::size_t i = 1; i < report.sites.size(); ++i) {
    const SyncTotals& before = report.sites[i - 1].totals;
    const SyncTotals& after = report.sites[i].totals;
    EXPECT_GE(std::tuple(is_demand(before.reason), before.device_idle, before.blocked_time),
              std::tuple(is_demand(after.reason), after.device_idle, after.blocked_time))
        << i;
  }
}

TEST(SyncReport, SumsDemandAndFlowApart) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({1000});
  x.sync();
  synchronize("GPU:0");
  const SyncReport report = sync_report();
  EXPECT_EQ(report.demand.calls, sync_counts().demand);
  EXPECT_EQ(report.demand.calls, 2U);
  EXPECT_EQ(report.flow.calls, sync_counts().flow);
  EXPECT_GT(report.flow.calls, 0U) << "memory was mapped";
  EXPECT_EQ(report.demand.blocked_time + report.flow.blocked_time, sync_counts().blocked_time);
  EXPECT_EQ(report.demand.sites + report.flow.sites, report.sites.size());
  EXPECT_THAT(report.to_text(), testing::ContainsRegex("\n    demand +2 sites +2 "));
  EXPECT_THAT(report.to_text(), testing::ContainsRegex("\n    flow +[0-9]+ sites? +[0-9]+ "));
}

TEST(SyncReport, TellsTwoCallsOnOneLineApart) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor a = ones({}) + 1;
  const Tensor b = ones({}) + 2;
  const Site line;
  (void)item<float>(a), (void)item<float>(b);  // the second could have come with the first
  const std::uint32_t wanted = line.line() + 1;
  std::vector<std::string> classes;
  const SyncReport report = sync_report();
  for (const ReportedSync& each : report.sites) {
    if (each.totals.site.line() != wanted || each.totals.reason != SyncReason::value_read) continue;
    classes.emplace_back(to_string(each.verdict.kind));
    EXPECT_THAT(report.to_text(), HasSubstr(each.totals.site.to_string() + ":" + std::to_string(each.totals.site.column())));
  }
  EXPECT_THAT(classes, testing::UnorderedElementsAre("unknown", "coalescible"));
}

TEST(SyncReport, JsonHasTheDocumentedFieldsWithTheLedgersValues) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Site here;
  (void)item<float>(sum(ones({3})), Intent::log, here);
  const SyncReport report = sync_report();
  const auto json = nlohmann::ordered_json::parse(report.to_json());
  const auto keys = [](const auto& object) {
    std::vector<std::string> out;
    for (const auto& [key, value] : object.items()) out.push_back(key);
    return out;
  };
  EXPECT_THAT(keys(json), ElementsAre("tutti", "program", "demand", "flow", "about_stacks", "sites", "timeline"));
  EXPECT_EQ(json.at("tutti"), version());
  for (const char* sum : {"demand", "flow"})
    EXPECT_THAT(keys(json.at(sum)), ElementsAre("sites", "calls", "blocked", "refused", "blocked_ns", "device_idle_ns"));
  for (const auto& site : json.at("sites")) {
    EXPECT_THAT(keys(site),
                ElementsAre("site", "file", "line", "column", "function", "reason", "demand", "class", "evidence", "fix",
                            "may_be", "calls", "blocked", "timed_out", "refused", "waiting", "blocked_ns", "longest_ns",
                            "device_idle_ns", "bytes", "deepest_queue", "op", "several_ops", "device", "stream",
                            "several_streams", "thread", "several_threads", "allowed", "allowed_because", "stack"));
  }
  const Json site = site_in(Json::parse(report.to_json()), here);
  EXPECT_EQ(site.at("reason"), "value read");
  EXPECT_EQ(site.at("demand"), true);
  EXPECT_EQ(site.at("class"), "deferrable");
  EXPECT_EQ(site.at("fix"), "read_async() here, and get() or try_get() it a step later");
  EXPECT_EQ(site.at("calls"), 1);
  EXPECT_EQ(site.at("bytes"), sizeof(float));
  EXPECT_EQ(site.at("op"), "Sum");
  EXPECT_EQ(site.at("device"), "/job:localhost/replica:0/task:0/device:GPU:0");
  EXPECT_EQ(site.at("line"), here.line());
}

TEST(SyncReport, TimelineHasALanePerThreadAndStreamAndTiesASyncToItsWork) {
  simulate_gpus(1);
  journal::start();
  journal::name_this_thread("the host");
  const DeviceScope on("GPU:0");
  const Stream beside("GPU:0");
  testing_streams::Gate gate;
  Tensor held;
  const Site site;
  {
    const StreamScope use(beside);
    (void)ones({4});
    held = gate.close("GPU:0");
  }
  {
    const NamedScope scope("waiting");
    EXPECT_THROW(held.sync({.timeout = 1ms}, site), DeadlineExceeded);  // the gate is closed: it had to wait
  }
  gate.open();
  synchronize("GPU:0");
  journal::stop();

  const Json json = json_of(sync_report());
  const Json& timeline = json.at("timeline");
  EXPECT_EQ(timeline.at("dropped"), 0);
  const auto name = [&](const Json& bars, const char* column, std::size_t bar) {
    return timeline.at("names").at(bars.at(column).at(bar).get<std::size_t>()).get<std::string>();
  };
  std::vector<std::string> lanes;
  for (const Json& lane : timeline.at("lanes")) lanes.push_back(lane.at("name"));
  ASSERT_THAT(lanes, testing::Contains("the host"));
  ASSERT_THAT(lanes, testing::Contains("GPU:0 stream 1"));

  int found = 0;
  for (const Json& lane : timeline.at("lanes")) {
    const Json& bars = lane.at("bars");
    for (const Json& tie : bars.at("waited_for")) {
      const auto bar = tie.at(0).get<std::size_t>();
      if (timeline.at("places").at(bars.at("place").at(bar).get<std::size_t>()) != site.to_string()) continue;
      ++found;
      EXPECT_EQ(lane.at("name"), "the host");
      EXPECT_EQ(name(bars, "what", bar), "demand");
      EXPECT_EQ(name(bars, "name", bar), "tensor sync");
      EXPECT_EQ(bars.at("row").at(bar), 1) << "below the scope it lies in";
      EXPECT_GT(bars.at("length_ns").at(bar), 0);
      EXPECT_EQ(json.at("sites").at(bars.at("site").at(bar).get<std::size_t>()).at("site"), site.to_string());
      const Json& other = timeline.at("lanes").at(tie.at(1).get<std::size_t>());
      EXPECT_EQ(other.at("name"), "GPU:0 stream 1");
      EXPECT_EQ(name(other.at("bars"), "name", tie.at(2)), "TestGate");
      EXPECT_EQ(name(other.at("bars"), "what", tie.at(2)), "run");
    }
  }
  EXPECT_EQ(found, 1);
}

TEST(SyncReport, BarsOfOneRowNeverOverlapAndEveryColumnHasOneValueABar) {
  simulate_gpus(1);
  journal::start();
  const DeviceScope on("GPU:0");
  for (int i = 0; i < 20; ++i) {
    const NamedScope outer("outer");
    const NamedScope inner("inner");
    (void)item<float>(sum(ones({10})));
  }
  journal::stop();
  const Json timeline = json_of(sync_report()).at("timeline");
  for (const Json& lane : timeline.at("lanes")) {
    const Json& bars = lane.at("bars");
    const std::size_t count = bars.at("begin_ns").size();
    for (const char* column : {"what", "name", "detail", "place", "length_ns", "row", "site"})
      ASSERT_EQ(bars.at(column).size(), count) << column;
    std::vector<std::int64_t> free_from(lane.at("rows").get<std::size_t>(), 0);
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t& end = free_from.at(bars.at("row").at(i).get<std::size_t>());
      const auto begin = bars.at("begin_ns").at(i).get<std::int64_t>();
      ASSERT_GE(begin, end);
      end = begin + bars.at("length_ns").at(i).get<std::int64_t>();
      ASSERT_LE(end, timeline.at("length_ns").get<std::int64_t>());
    }
  }
}

TEST(SyncReport, PageHoldsTheJsonWhateverANameSays) {
  simulate_gpus(1);
  journal::start();
  const DeviceScope on("GPU:0");
  {
    const NamedScope scope("</script><b onclick=x>&\"");
    ones({1}).sync();
  }
  journal::stop();
  const SyncReport report = sync_report();
  const std::string page = report.to_html();
  EXPECT_EQ(page.find("{{"), std::string::npos) << "a part of the page is missing";
  EXPECT_EQ(page.find("<b onclick"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  const std::string open = "<script type=\"application/json\" id=\"report\">";
  const std::size_t begin = page.find(open) + open.size();
  EXPECT_EQ(Json::parse(page.substr(begin, page.find("</script>", begin) - begin)), json_of(report));
}

TEST(SyncReportAtExit, IsWrittenByTheProcessThatAskedForItAndNotByItsForks) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("tutti_sync_" + std::to_string(::getpid()) + ".json");
  EXPECT_EXIT(
      {
        sync_report_at_exit(SyncReportForm::json, path.string());
        const pid_t child = ::fork();
        if (child == 0) std::exit(0);
        ::waitpid(child, nullptr, 0);
        std::exit(std::filesystem::exists(path) ? 1 : 4);
      },
      testing::ExitedWithCode(4), "the sync report is in");
  std::ifstream in(path);
  EXPECT_EQ(Json::parse(in).at("demand").at("calls"), 0);
  std::filesystem::remove(path);
}

}  // namespace tutti
