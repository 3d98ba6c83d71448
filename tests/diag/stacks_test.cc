// Stacks of syncs: who called, kept on demand, named when the report is made. This file is compiled with line numbers.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "streams/gate.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using testing::Contains;
using testing::EndsWith;
using testing::Field;
using testing::HasSubstr;
using namespace std::chrono_literals;

// A stripped program has no names for its own functions.
bool has_symbols() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  Elf64_Ehdr head{};
  in.read(reinterpret_cast<char*>(&head), sizeof head);
  in.seekg(static_cast<std::streamoff>(head.e_shoff));
  for (int i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section{};
    in.read(reinterpret_cast<char*>(&section), sizeof section);
    if (section.sh_type == SHT_SYMTAB) return true;
  }
  return false;
}

SyncTotals totals_at(Site site) {
  for (const SyncTotals& each : sync_totals()) {
    if (each.site == site && is_demand(each.reason)) return each;
  }
  ADD_FAILURE() << "no site " << site.to_string();
  return {};
}

ReportedSync reported_at(Site site) {
  for (const ReportedSync& each : sync_report().sites) {
    if (each.totals.site == site && is_demand(each.totals.reason)) return each;
  }
  ADD_FAILURE() << "no site " << site.to_string();
  return {};
}

// Not inlined, and with something to do after the call: it stays on the stack.
[[gnu::noinline]] float reads_the_loss(const Tensor& loss, Site site) {
  const float value = item<float>(loss, site);
  return value + 1;
}

// What it calls is not inlined either, so its line is the call's; `line` is where that is.
[[gnu::noinline]] float asks_for_the_loss(const Tensor& loss, Site site, Site& line) {
  const float value = (line = Site(), reads_the_loss(loss, site));
  return value + 1;
}

[[gnu::noinline]] float calls_deeply(int depth, const Tensor& loss, Site site) {
  return depth == 0 ? reads_the_loss(loss, site) : calls_deeply(depth - 1, loss, site) + 1;
}

template <class... Long>
[[gnu::noinline]] float has_a_long_name(const Tensor& loss, Site site) {
  return reads_the_loss(loss, site) + static_cast<float>(sizeof...(Long));
}

// Blocks for the whole of the timeout; how long, as the caller sees it.
[[gnu::noinline]] std::chrono::nanoseconds waits_in_vain(const Tensor& held, std::chrono::nanoseconds timeout, Site site) {
  const Nanoseconds begin = now();
  EXPECT_THROW(held.sync({.timeout = timeout}, site), DeadlineExceeded);
  return std::chrono::nanoseconds(now() - begin);
}
[[gnu::noinline]] std::chrono::nanoseconds waits_briefly(const Tensor& held, Site site) {
  return waits_in_vain(held, 1ms, site) + 1ns;
}
[[gnu::noinline]] std::chrono::nanoseconds waits_long(const Tensor& held, std::chrono::nanoseconds timeout, Site site) {
  return waits_in_vain(held, timeout, site) + 1ns;
}

std::vector<std::string> names_of(const std::vector<NativeFrame>& stack) {
  std::vector<std::string> out;
  for (const NativeFrame& frame : stack) out.push_back(frame.name());
  return out;
}

}  // namespace

TEST(SyncStacks, AreNotKeptUnlessAskedFor) {
  const Site here;
  (void)reads_the_loss(sum(ones({3})), here);
  EXPECT_TRUE(totals_at(here).stack.empty());
  EXPECT_TRUE(reported_at(here).stack.empty());
  EXPECT_THAT(sync_report().to_text(), testing::Not(HasSubstr(" from:")));
}

TEST(SyncStacks, HoldTheFunctionThatReadTheValueWhereverItRuns) {
  simulate_gpus(1);
  set_sync_stacks(true);
  for (const char* device : {"CPU:0", "GPU:0"}) {
    const DeviceScope on(device);
    reset_sync_totals();
    const Site here;
    (void)reads_the_loss(sum(ones({3})), here);
    const std::vector<const void*> stack = totals_at(here).stack;
    // An address a little behind its beginning: this needs no names.
    const auto* const begin = reinterpret_cast<const char*>(&reads_the_loss);
    const auto is_inside = [&](const void* address) {
      return address > begin && static_cast<const char*>(address) < begin + 1000;
    };
    EXPECT_TRUE(std::any_of(stack.begin(), stack.end(), is_inside)) << device;
  }
}

TEST(SyncStacks, NameTheFunctionAndTheLineOfTheCall) {
  if (!has_symbols()) GTEST_SKIP() << "this program was stripped";
  if (!missing_for_names().empty()) GTEST_SKIP() << missing_for_names();
  set_sync_stacks(true);
  const Site here;
  Site line;
  (void)asks_for_the_loss(sum(ones({3})), here, line);
  const ReportedSync site = reported_at(here);
  ASSERT_THAT(names_of(site.stack), Contains(HasSubstr("reads_the_loss")));
  ASSERT_THAT(names_of(site.stack), Contains(HasSubstr("asks_for_the_loss")));
  ASSERT_THAT(names_of(site.stack), Contains("main"));
  for (const NativeFrame& frame : site.stack) {
    if (frame.function.find("reads_the_loss") == std::string::npos) continue;
    EXPECT_THAT(frame.file, EndsWith("diag/stacks_test.cc")) << "the line is the function's, though what it called was inlined";
  }
  const auto reader = std::find_if(site.stack.begin(), site.stack.end(), [](const NativeFrame& frame) {
    return frame.function.find("asks_for_the_loss") != std::string::npos;
  });
  EXPECT_THAT(reader->module, EndsWith("diag_tests"));
  EXPECT_THAT(reader->file, EndsWith("diag/stacks_test.cc"));
  EXPECT_EQ(reader->line, line.line());
  EXPECT_FALSE(reader->is_tuttis);
  EXPECT_THAT(site.stack, Contains(Field(&NativeFrame::is_tuttis, true))) << "the door itself";

  const auto json = nlohmann::json::parse(sync_report().to_json());
  bool found = false;
  for (const auto& each : json.at("sites")) {
    for (const auto& frame : each.at("stack")) {
      found |= frame.at("function").is_string() && frame.at("function") == reader->function && frame.at("line") == reader->line &&
               frame.at("file") == reader->file;
    }
  }
  EXPECT_TRUE(found);
}

TEST(SyncStacks, KeepThePassageThatBlockedLongest) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  set_sync_stacks(true);
  testing_streams::Gate gate;
  const Tensor held = gate.close("GPU:0");
  const Site here;
  const auto brief = waits_briefly(held, here);
  const std::vector<const void*> first = totals_at(here).stack;
  (void)waits_long(held, brief + 20ms, here);
  const std::vector<const void*> second = totals_at(here).stack;
  EXPECT_NE(first, second) << "the longer wait came from another function";
  const Nanoseconds longest = totals_at(here).longest;
  (void)waits_briefly(held, here);
  gate.open();
  held.sync({}, here);
  if (totals_at(here).longest == longest) {  // a machine may stand still for longer than that
    EXPECT_EQ(totals_at(here).stack, second);
  }
}

TEST(SyncStacks, AreBoundedHoweverDeepTheCallsAre) {
  set_sync_stacks(true);
  const Site here;
  (void)calls_deeply(1000, sum(ones({3})), here);
  EXPECT_EQ(totals_at(here).stack.size(), most_stack_frames);
  EXPECT_THAT(sync_report().to_text(), HasSubstr(" or more\n"));
}

TEST(SyncStacks, AreForgottenWithTheTotals) {
  set_sync_stacks(true);
  const Site here;
  const Tensor loss = sum(ones({3}));
  (void)reads_the_loss(loss, here);
  reset_sync_totals();
  set_sync_stacks(false);
  (void)reads_the_loss(loss, here);
  EXPECT_TRUE(totals_at(here).stack.empty());
}

TEST(SyncStacks, StandUnderTheirSiteIn80ColumnsWhateverTheNamesAre) {
  set_sync_stacks(true);
  const Site here;
  using Long = std::vector<std::vector<std::vector<std::vector<std::string>>>>;
  (void)has_a_long_name<Long, Long, Long>(sum(ones({3})), here);
  const std::string text = sync_report().to_text();
  std::istringstream in(text);
  bool is_here = false;
  int frames = 0;
  for (std::string line; std::getline(in, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    if (line.find(here.to_string()) != std::string::npos) is_here = true;
    if (line == "In all") is_here = false;
    if (is_here && line.compare(0, 6, "      ") == 0) ++frames;
  }
  EXPECT_GE(frames, 2) << text;
}

}  // namespace tutti
