// A generator by itself: what it hands out, to however many threads, also while another seeds it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "tutti/tutti.h"

namespace tutti {
namespace {

using Reserved = Generator::Reserved;

TEST(Generator, ReservesRangesThatFollowEachOther) {
  Generator g(17);
  EXPECT_EQ(g.reserve(10).counter, 0U);
  EXPECT_EQ(g.reserve(3).counter, 10U);
  EXPECT_EQ(g.reserve(0).counter, 13U);
  EXPECT_EQ(g.reserve(0).key, 17U);
  g.set_seed(18);
  EXPECT_EQ(g.reserve(0).key, 18U);
  EXPECT_EQ(g.reserve(1).counter, 0U);
}

TEST(Generator, TwoWithoutASeedAreNotAlike) {
  const Generator a;
  const Generator b;
  EXPECT_NE(a.seed(), b.seed());
}

TEST(Generator, TheDefaultOneIsSeededBySetSeed) {
  set_seed(1234);
  EXPECT_EQ(default_generator().seed(), 1234U);
}

// While seeds are set, who reserves gets a key and a counter that belong together: under one key no range is handed out twice.
TEST(Generator, RangesNeverOverlapAlsoWhileItIsSeeded) {
  constexpr std::size_t reservations = 200'000;
  Generator g(0);
  std::vector<std::vector<Reserved>> got(2);
  std::atomic<std::size_t> running{got.size()};
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&] {
      while (mine.size() < reservations) mine.push_back(g.reserve(1));
      --running;
    });
  }
  for (std::uint64_t seed = 1; running.load() > 0; ++seed) {
    while (running.load() > 0 && g.reserve(0).counter < 3) std::this_thread::yield();  // some of this seed's are handed out
    g.set_seed(seed);
  }
  for (std::thread& each : threads) each.join();
  std::map<std::uint64_t, std::vector<std::uint64_t>> by_key;
  for (const auto& mine : got) {
    for (const Reserved& each : mine) by_key[each.key].push_back(each.counter);
  }
  for (auto& [key, counters] : by_key) {
    std::sort(counters.begin(), counters.end());
    EXPECT_EQ(std::adjacent_find(counters.begin(), counters.end()), counters.end()) << "seed " << key;
  }
}

}  // namespace
}  // namespace tutti
