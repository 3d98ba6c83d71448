// What the ranks of one round do, step by step. Every rank derives the same from the round's seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::soak {

using namespace std::chrono_literals;

// Silence for so long is a death.
inline constexpr std::chrono::milliseconds dead_after = 4s;
// What a call may take beyond its deadline.
inline constexpr std::chrono::milliseconds grace = 2s;
// A collective has no deadline of its own: this is long enough for every fault to be over.
inline constexpr std::chrono::milliseconds collective_limit = 30s;
inline constexpr std::chrono::milliseconds joining_limit = 60s;
// All ranks meet at every such step; there a rank that was restarted joins in.
inline constexpr std::int64_t between_gatherings = 12;

struct Step {
  enum class Kind : std::uint8_t { barrier, all_reduce };

  Kind kind = Kind::barrier;
  std::size_t group = 0;
  std::chrono::milliseconds timeout{0};   // a barrier's
  std::vector<std::int64_t> counts = {};  // elements of each all_reduce, which follow each other unread

  [[nodiscard]] std::chrono::milliseconds limit() const { return kind == Kind::barrier ? timeout : collective_limit; }
};

struct Plan {
  std::uint64_t seed = 0;
  int world = 0;
  int hosts = 1;                           // 1: all on this one, as it is
  bool restarts = false;                   // who is lost is started again
  bool shares_memory = false;              // where all are on one host
  std::vector<std::vector<int>> groups{};  // the first is all of them
  std::chrono::milliseconds length{0};
  std::chrono::milliseconds delay{0};  // of every way between hosts

  Plan(std::uint64_t round_seed, bool can_make_hosts);

  [[nodiscard]] Step step(std::int64_t number) const;
  [[nodiscard]] int host_of(int rank) const { return rank % hosts; }
  [[nodiscard]] int coordinator_host() const { return hosts; }
  [[nodiscard]] bool is_in(int rank, std::size_t group) const;
  [[nodiscard]] std::string to_string() const;
};

inline bool is_gathering(std::int64_t step) { return step % between_gatherings == 0; }

// What the rank gives at an element of a step's n-th collective; their sum is exact in f32.
inline float value_of(int rank, std::int64_t step, std::int64_t nth, std::int64_t element) {
  return static_cast<float>((element * 7 + rank * 13 + step + nth * 5) % 251);
}

}  // namespace tutti::soak
