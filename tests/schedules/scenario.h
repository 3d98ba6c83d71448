// Runs a small program in a process of its own under the stepped scheduler, and says what it derived and what came out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tutti::schedules {

struct Edge {
  std::uint32_t producer_stream;
  std::uint64_t producer_value;
  std::uint32_t consumer_stream;
  std::uint64_t consumer_value;
  friend auto operator<=>(const Edge&, const Edge&) = default;
};
std::string to_string(const Edge& edge);

struct Outcome {
  bool is_right = false;
  std::uint64_t schedule = 0;  // a hash of every step the scheduler took, in order
  std::vector<Edge> edges;     // as derived, the dropped one included
  std::string complaint;
};

// Returns an empty string when every value was right, else what was wrong.
using Program = std::function<std::string()>;

// Forks; the child simulates the GPUs with this seed, leaves out one edge if asked to, and runs the program.
Outcome run(const Program& program, std::uint64_t seed, const std::optional<Edge>& dropped = std::nullopt, unsigned gpus = 2);

}  // namespace tutti::schedules
