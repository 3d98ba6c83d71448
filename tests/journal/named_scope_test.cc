// Named scopes: spans of their thread in a recording, ranges in a tool, and nothing at all otherwise.
#include "tutti/journal/named_scope.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tutti/journal/chrome_trace.h"

namespace tutti::journal {
namespace {

std::vector<Event> scopes(const ThreadEvents& thread) {
  std::vector<Event> out;
  for (const Event& event : thread.events) {
    if (event.kind == EventKind::scope) out.push_back(event);
  }
  return out;
}

TEST(NamedScope, IsASpanWithItsSite) {
  start();
  const Site here;
  const Nanoseconds before = now();
  { const NamedScope scope("forward", here); }
  stop();
  const Recording recording = snapshot();
  ASSERT_EQ(recording.threads.size(), 1U);
  const std::vector<Event> found = scopes(recording.threads[0]);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_STREQ(found[0].name, "forward");
  EXPECT_EQ(found[0].site, here);
  EXPECT_EQ(found[0].stream, StreamId::none);
  EXPECT_LE(before, found[0].begin);
  EXPECT_LE(found[0].begin, found[0].end);
}

TEST(NamedScope, InnerOnesLieWithinTheOuterOfTheirThread) {
  start();
  {
    const NamedScope outer("outer");
    { const NamedScope inner("first"); }
    std::thread([] { const NamedScope other("other thread"); }).join();
    { const NamedScope inner("second"); }
  }
  stop();
  const Recording recording = snapshot();
  ASSERT_EQ(recording.threads.size(), 2U);
  const std::vector<Event> here = scopes(recording.threads[0]);
  ASSERT_EQ(here.size(), 3U);
  EXPECT_STREQ(here[0].name, "first");
  EXPECT_STREQ(here[1].name, "second");
  EXPECT_STREQ(here[2].name, "outer");
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_LE(here[2].begin, here[i].begin);
    EXPECT_LE(here[i].end, here[2].end);
  }
  EXPECT_LE(here[0].end, here[1].begin);
  const std::vector<Event> there = scopes(recording.threads[1]);
  ASSERT_EQ(there.size(), 1U);
  EXPECT_STREQ(there[0].name, "other thread");
}

TEST(NamedScope, KeepsANameThatIsGoneByTheTimeOfTheTrace) {
  start();
  for (int i = 0; i < 3; ++i) {
    std::string name = "step " + std::to_string(i);
    const NamedScope scope(name);
    name.assign("overwritten");
  }
  stop();
  const Recording recording = snapshot();
  const std::vector<Event> found = scopes(recording.threads.at(0));
  ASSERT_EQ(found.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i].name, "step " + std::to_string(i));
}

TEST(NamedScope, OpenWhenTheRecordingBeginsOrEndsIsNotInIt) {
  {
    const NamedScope before("began before");
    start();
  }
  {
    const NamedScope after("ends after");
    stop();
  }
  EXPECT_TRUE(snapshot().threads.empty());
}

TEST(NamedScope, IsASpanOnTheHostsLaneOfATrace) {
  start();
  { const NamedScope scope("for\"ward"); }
  stop();
  const auto trace = nlohmann::json::parse(to_chrome_trace(snapshot()));
  int found = 0;
  for (const auto& entry : trace.at("traceEvents")) {
    if (entry.at("name") != "for\"ward") continue;
    ++found;
    EXPECT_EQ(entry.at("ph"), "X");
    EXPECT_EQ(entry.at("cat"), "scope");
    EXPECT_EQ(entry.at("pid"), 1);
    EXPECT_GE(entry.at("dur").get<double>(), 0);
    EXPECT_NE(entry.at("args").at("site").get<std::string>().find("named_scope_test.cc"), std::string::npos);
  }
  EXPECT_EQ(found, 1);
}

TEST(LastingName, IsOneTextForEqualNamesAndBounded) {
  const std::string name = "a name";
  const char* kept = lasting_name(name.c_str());
  EXPECT_NE(kept, name.c_str());
  EXPECT_EQ(kept, lasting_name(std::string("a name").c_str()));
  for (int i = 0; i < 70'000; ++i) (void)lasting_name(std::to_string(i).c_str());
  EXPECT_STREQ(lasting_name("one too many"), "(more names)");
  EXPECT_EQ(lasting_name("a name"), kept) << "what is known stays";
}

std::vector<std::string>& calls() {
  static std::vector<std::string> made;
  return made;
}
constexpr RangeHooks noted{[](const char* name) noexcept { calls().emplace_back(name); },
                           []() noexcept { calls().emplace_back("pop"); }};

// Puts back what a backend has installed.
struct WithHooks {
  const RangeHooks* before = detail::range_hooks.load();
  explicit WithHooks(const RangeHooks* hooks) { set_range_hooks(hooks); }
  ~WithHooks() { set_range_hooks(before); }
};

TEST(NamedScope, OpensAndClosesARangeOfTheToolRecordingOrNot) {
  const WithHooks installed(&noted);
  {
    const NamedScope outer("outer");
    const NamedScope inner(std::string("inner"));
  }
  EXPECT_EQ(calls(), (std::vector<std::string>{"outer", "inner", "pop", "pop"}));
  EXPECT_TRUE(snapshot().threads.empty());
}

TEST(NamedScope, ClosesWhatItOpenedWhateverHappensToTheHooks) {
  const WithHooks none(nullptr);
  {
    const NamedScope before("before");
    set_range_hooks(&noted);
  }
  EXPECT_TRUE(calls().empty()) << "it opened none";
  {
    const NamedScope during("during");
    set_range_hooks(nullptr);
  }
  EXPECT_EQ(calls(), (std::vector<std::string>{"during", "pop"}));
}

}  // namespace
}  // namespace tutti::journal
