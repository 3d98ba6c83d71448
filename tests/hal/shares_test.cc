// Chunks are dealt out once each, the same ones to the same core while it keeps up, and the ends of slow shares to whoever is
// free.
#include "tutti/backends/strand/shares.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace tutti {
namespace {

using Chunks = std::vector<std::size_t>;

Chunks from_to(std::size_t begin, std::size_t end) {
  Chunks out(end - begin);
  std::iota(out.begin(), out.end(), begin);
  return out;
}

Chunks take_some(Shares& shares, std::size_t share, std::size_t count) {
  Chunks out;
  while (out.size() < count) {
    const auto chunk = shares.take(share);
    if (!chunk) break;
    out.push_back(*chunk);
  }
  return out;
}

TEST(Shares, TheSameCoreGetsTheSameChunksInOrder) {
  for (int round = 0; round < 3; ++round) {
    Shares shares(10, 2);
    const std::size_t one = shares.claim(round % 2 == 0 ? 5 : 4);
    const std::size_t other = shares.claim(round % 2 == 0 ? 4 : 5);
    EXPECT_EQ(take_some(shares, one, 5), round % 2 == 0 ? from_to(5, 10) : from_to(0, 5));
    EXPECT_EQ(take_some(shares, other, 5), round % 2 == 0 ? from_to(0, 5) : from_to(5, 10));
    EXPECT_TRUE(shares.is_empty());
    EXPECT_FALSE(shares.take(one).has_value());
  }
}

TEST(Shares, CoresThatWouldHaveTheSameShareGetDifferentOnes) {
  Shares shares(8, 4);
  std::vector<std::size_t> got;
  for (const int core : {3, 7, 11, -1}) got.push_back(shares.claim(core));
  EXPECT_EQ(got, (std::vector<std::size_t>{3, 0, 1, 2}));
  EXPECT_EQ(shares.claim(6), 2U) << "one too many shares with another";
}

TEST(Shares, WhoIsDoneTakesTheEndOfAnothersShare) {
  Shares shares(12, 3);
  EXPECT_EQ(take_some(shares, 1, 1), Chunks{4});
  EXPECT_EQ(take_some(shares, 0, 6), (Chunks{0, 1, 2, 3, 7, 6}));
  EXPECT_EQ(take_some(shares, 1, 9), (Chunks{5, 11, 10, 9, 8}));
  EXPECT_TRUE(shares.is_empty());
}

TEST(Shares, HaveNothingMoreOnceTheyAreCleared) {
  Shares shares(100, 3);
  EXPECT_FALSE(shares.is_empty());
  (void)take_some(shares, 2, 5);
  shares.clear();
  EXPECT_TRUE(shares.is_empty());
  for (std::size_t share = 0; share < 3; ++share) EXPECT_FALSE(shares.take(share).has_value());
}

TEST(Shares, OfFewChunksMayBeEmpty) {
  Shares none(0, 4);
  EXPECT_TRUE(none.is_empty());
  EXPECT_FALSE(none.take(0).has_value());
  Shares one(1, 4);
  EXPECT_EQ(take_some(one, 2, 9), Chunks{0}) << "wherever it lies";
}

TEST(Shares, DealOutEveryChunkOnceWhoeverComesAndGoes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    const std::size_t members = 1 + random() % 20;  // more than there are shares, too
    const std::size_t chunks = random() % 300;
    Shares shares(chunks, members);
    std::vector<Chunks> taken(1 + random() % 4);
    std::vector<std::thread> threads;
    for (Chunks& mine : taken) {
      threads.emplace_back([&, core = static_cast<int>(random() % 64), least = 1 + random() % 50] {
        do {  // leaves and comes back, and stays when it has come to the end
          mine.reserve(chunks);
          for (const std::size_t chunk : take_some(shares, shares.claim(core), least)) mine.push_back(chunk);
        } while (!shares.is_empty());
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<int> times(chunks);
    for (const Chunks& mine : taken) {
      for (const std::size_t chunk : mine) ++times.at(chunk);
    }
    EXPECT_EQ(times, std::vector<int>(chunks, 1)) << "round " << round;
  }
}

}  // namespace
}  // namespace tutti
