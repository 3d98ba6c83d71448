#include "soak/plan.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace tutti::soak {

namespace {

std::uint64_t mixed(std::uint64_t seed, std::uint64_t number) {
  std::uint64_t x = seed + 0x9E3779B97F4A7C15ULL * (number + 1);
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

}  // namespace

Plan::Plan(std::uint64_t round_seed, bool can_make_hosts) : seed(mixed(round_seed, 0)) {
  std::mt19937_64 random(seed);
  world = 3 + static_cast<int>(random() % 6);
  hosts = can_make_hosts && random() % 3 != 0 ? 2 + static_cast<int>(random() % 3) : 1;
  hosts = std::min(hosts, world);
  shares_memory = hosts == 1 && random() % 4 != 0;
  std::vector<int> all(static_cast<std::size_t>(world));
  std::iota(all.begin(), all.end(), 0);
  groups.push_back(all);
  for (int i = 0; i < 3; ++i) {
    std::vector<int> some = all;
    std::shuffle(some.begin(), some.end(), random);
    some.resize(2 + random() % static_cast<std::uint64_t>(world - 2));
    std::sort(some.begin(), some.end());
    if (std::find(groups.begin(), groups.end(), some) == groups.end()) groups.push_back(some);
  }
  if (hosts > 1 && random() % 3 == 0) delay = std::chrono::milliseconds(5 + random() % 60);
  length = random() % 10 == 0 ? 40s : std::chrono::milliseconds(4'000 + random() % 8'000);
  restarts = random() % 3 != 0;
}

Step Plan::step(std::int64_t number) const {
  std::mt19937_64 random(mixed(seed, static_cast<std::uint64_t>(number)));
  constexpr std::chrono::milliseconds timeouts[] = {300ms, 1s, 3s};
  Step out;
  out.timeout = timeouts[random() % 3];
  if (is_gathering(number)) return out;
  out.group = random() % 2 == 0 ? 0 : random() % groups.size();
  if (random() % 2 == 0) return out;
  out.kind = Step::Kind::all_reduce;
  for (std::uint64_t i = 0; i <= random() % 3; ++i) {
    constexpr std::int64_t longest[] = {4, 1'000, 20'000, 300'000};
    out.counts.push_back(1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest[random() % 4])));
  }
  return out;
}

bool Plan::is_in(int rank, std::size_t group) const {
  return std::find(groups[group].begin(), groups[group].end(), rank) != groups[group].end();
}

std::string Plan::to_string() const {
  return std::to_string(world) + " ranks on " + std::to_string(hosts) + (hosts == 1 ? " host" : " hosts") +
         (shares_memory ? ", shared memory" : ", sockets") + ", round trip " + std::to_string(2 * delay.count()) + " ms, " +
         std::to_string(length.count()) + " ms" + (restarts ? ", restarts" : "");
}

}  // namespace tutti::soak
