// Why a sync was allowed is told with the site.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tutti/tutti.h"

namespace tutti {

namespace {

using testing::HasSubstr;
using testing::Not;

nlohmann::json site_in(const SyncReport& report, Site site) {
  const auto json = nlohmann::json::parse(report.to_json());
  for (const auto& each : json.at("sites")) {
    if (each.at("demand") && each.at("site") == site.to_string()) return each;
  }
  ADD_FAILURE() << "no site " << site.to_string();
  return {};
}

}  // namespace

TEST(AllowedSyncs, AreReportedWithTheReasonThoughItsTextIsGone) {
  const Tensor x = sum(ones({3}));
  const Site here;
  {
    std::string why = "log the loss";
    const AllowSync once(why.c_str());
    (void)item<float>(x, here);
    why.assign("xxxxxxxxxxxx");
  }
  const SyncReport report = sync_report();
  EXPECT_THAT(report.to_text(), HasSubstr("\n    allowed: log the loss\n"));
  EXPECT_EQ(site_in(report, here).at("allowed"), 1);
  EXPECT_EQ(site_in(report, here).at("allowed_because"), "log the loss");
  EXPECT_THAT(report.to_html(), HasSubstr("log the loss"));
}

TEST(AllowedSyncs, TheLastAndInnermostReasonCountsAndSoDoTheCallsWithoutOne) {
  const Tensor x = sum(ones({3}));
  const Site here;
  const auto read = [&] { (void)item<float>(x, here); };
  read();
  {
    const AllowSync outer("outer");
    read();
    const AllowSync inner("inner");
    read();
  }
  read();
  const SyncReport report = sync_report();
  EXPECT_THAT(report.to_text(), HasSubstr("\n    allowed in 2 of 4 calls: inner\n"));
  EXPECT_EQ(site_in(report, here).at("allowed"), 2);
}

TEST(AllowedSyncs, WithoutAReasonSaySo) {
  const Site here;
  {
    const AllowSync silent(nullptr);
    (void)item<float>(sum(ones({3})), here);
  }
  const SyncReport report = sync_report();
  EXPECT_THAT(report.to_text(), HasSubstr("\n    allowed, without a reason\n"));
  EXPECT_TRUE(site_in(report, here).at("allowed_because").is_null());
}

TEST(AllowedSyncs, OthersSayNothing) {
  (void)item<float>(sum(ones({3})));
  EXPECT_THAT(sync_report().to_text(), Not(HasSubstr("\n    allowed")));
}

TEST(AllowedSyncs, ALongReasonIsCutAndAStrangeOneIsShownSafely) {
  const Site here;
  const std::string why = "</script>\n" + std::string(10'000, 'y');
  {
    const AllowSync once(why.c_str());
    (void)item<float>(sum(ones({3})), here);
  }
  const SyncReport report = sync_report();
  EXPECT_EQ(site_in(report, here).at("allowed_because"), why.substr(0, 120));
  EXPECT_THAT(report.to_text(), HasSubstr("\n    allowed: </script>\\x0ayyy"));
  std::istringstream lines(report.to_text());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(AllowedSyncs, ReasonsOfSeveralThreadsAreNeverMixed) {
  const Tensor x = sum(ones({3}));
  const Site here;
  const std::string a(120, 'a');
  const std::string b(120, 'b');
  std::vector<std::thread> threads;
  for (const std::string* why : {&a, &b}) {
    threads.emplace_back([&x, here, why] {
      for (int i = 0; i < 500; ++i) {
        const AllowSync meant(why->c_str());
        (void)item<float>(x, here);
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    for (const SyncTotals& each : sync_totals()) {
      if (each.site != here || each.allowed == 0 || each.allowed_because.empty()) continue;
      EXPECT_TRUE(each.allowed_because == a || each.allowed_because == b) << each.allowed_because;
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tutti
