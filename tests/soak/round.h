// One job of the soak, from its start until nothing of it is left.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engines/processes.h"
#include "hosts/network.h"
#include "soak/faults.h"
#include "soak/holdings.h"
#include "soak/judge.h"
#include "soak/plan.h"
#include "soak/record.h"

namespace tutti::soak {

struct Options {
  bool restarts = true;  // in those rounds that have them
  bool has_faults = true;
};

// Sums over rounds.
struct Counts {
  std::array<std::int64_t, outcome_count> outcomes{};
  std::int64_t rounds = 0;
  std::int64_t barriers = 0;
  std::int64_t all_reduces = 0;
  std::int64_t faults = 0;
  std::int64_t deaths = 0;
  std::int64_t restarts = 0;
  std::int64_t coordinator_kib = 0;   // the most one has held
  std::int64_t more_descriptors = 0;  // the most a rank has grown by
  std::int64_t more_kib = 0;
  std::int64_t starvations = 0;
};

class Round {
 public:
  Round(std::uint64_t seed, const Options& options);
  ~Round();
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  // What was wrong, a line each.
  std::vector<std::string> run(Counts& counts);
  // Faults and the ranks' own output, for who looks for the cause.
  [[nodiscard]] std::string story() const;
  [[nodiscard]] const Plan& plan() const { return plan_; }

 private:
  void start_coordinator();
  void start_rank(int rank, std::int64_t first);
  pid_t forked(const std::function<int()>& body);
  void reap();
  void let_go_on();
  [[nodiscard]] std::optional<std::int64_t> gathering_without(int lost) const;
  void bring_back();
  void look_for_hangs();
  void look_at_coordinator();
  void look_at_holdings();
  void look_for_what_is_left();
  [[nodiscard]] bool is_all_gone() const;
  [[nodiscard]] Instant::duration stopped_since(int rank, Instant since) const;

  Plan plan_;
  Options options_;
  std::unique_ptr<testing_hosts::Network> network_;
  testing_engines::Witness<Board> board_;
  Faults faults_;
  Processes processes_;
  std::vector<Exit> exits_;
  std::vector<Starvation> starvations_;
  std::vector<std::string> wrong_;
  std::string job_;
  std::string secret_;
  std::string address_;
  int log_ = -1;     // of all ranks' entries
  int output_ = -1;  // of all processes
  Instant begin_;
  std::int64_t restarted_ = 0;
  std::int64_t coordinator_kib_ = 0;
  std::array<Holdings, most_ranks> holdings_;  // by rank
  Instant holdings_at_;
  std::int64_t more_descriptors_ = 0;
  std::int64_t more_kib_ = 0;
};

// Makes /dev/shm this process's own, where it may: what is left there is then the soak's. Adopts what its children leave behind.
void keep_to_itself();

}  // namespace tutti::soak
