// The cores a device lends its kernels: every chunk runs once, whoever runs it, and whoever is needed comes.
#include "tutti/hal/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tutti/place/runtime.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;

Parallel& cores() { return runtime(Site{}).cpu().device().parallel(); }

void pass(std::chrono::microseconds time) {
  for (const auto end = Clock::now() + time; Clock::now() < end;) {}
}

TEST(Parallel, RunsEveryChunkOnce) {
  for (std::size_t chunks = 0; chunks < 300; ++chunks) {
    std::vector<std::atomic<int>> ran(chunks);
    cores().for_each_chunk(chunks, [&](std::size_t chunk) { ++ran[chunk]; });
    for (std::size_t i = 0; i < chunks; ++i) ASSERT_EQ(ran[i], 1) << i << " of " << chunks;
  }
}

// Each of two chunks ends only when the other has begun: one core alone would not get through.
TEST(Parallel, AHelperComesWhetherItSpinsParksOrIsAboutTo) {
  if (cores().width() < 2) GTEST_SKIP() << "there is one core";
  constexpr int rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> begun = 0;
    std::atomic<bool> is_alone = false;
    cores().for_each_chunk(2, [&](std::size_t) {
      ++begun;
      for (const auto end = Clock::now() + std::chrono::seconds(20); begun < 2 && !is_alone;) {
        if (Clock::now() > end) is_alone = true;
      }
    });
    ASSERT_FALSE(is_alone) << "nobody came in round " << round;
    pass(std::chrono::microseconds(round % 100));  // helpers park after a spell within this range
  }
}

TEST(Parallel, ThreadsThatShareTheCoresAllFinish) {
  constexpr std::size_t threads = 4;
  std::vector<std::thread> callers;
  std::vector<long> totals(threads);
  for (std::size_t t = 0; t < threads; ++t) {
    callers.emplace_back([&, t] {
      for (int round = 0; round < 200; ++round) {
        std::vector<long> parts(16);
        cores().for_each_chunk(parts.size(), [&](std::size_t chunk) { parts[chunk] = static_cast<long>(chunk); });
        totals[t] += std::accumulate(parts.begin(), parts.end(), 0L);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const long total : totals) EXPECT_EQ(total, 200 * 120);
}

TEST(Parallel, AChunksExceptionReachesTheCaller) {
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(cores().for_each_chunk(8,
                                        [](std::size_t chunk) {
                                          if (chunk == 5) throw std::runtime_error("5");
                                        }),
                 std::runtime_error);
  }
  std::atomic<int> ran = 0;
  cores().for_each_chunk(8, [&](std::size_t) { ++ran; });
  EXPECT_EQ(ran, 8);
}

}  // namespace
}  // namespace tutti
