// What happens to a round: kills, exits, stops and bad links, at times drawn from its seed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "hosts/network.h"
#include "soak/plan.h"
#include "soak/record.h"

namespace tutti::soak {

struct Fault {
  enum class Kind : std::uint8_t { kill, exit, stop, cut, cut_between, pause, slow };
  static constexpr int coordinator = -1;

  Kind kind = Kind::stop;
  int target = 0;  // a rank of a kill, exit or stop, else a host
  int other = 0;   // of cut_between
  Instant begin;
  Instant end;            // when it is over, or is to be
  bool is_fatal = false;  // somebody is lost: it lasts longer than a death takes
  bool is_over = false;

  [[nodiscard]] bool is_of_process() const { return kind == Kind::kill || kind == Kind::exit || kind == Kind::stop; }
  // Exchanges between the two fail.
  [[nodiscard]] bool is_lasting_cut_between() const { return kind == Kind::cut_between && end - begin > 2 * dead_after; }
  [[nodiscard]] std::string to_string(Instant since) const;
};

// The processes of the round; 0: gone.
struct Processes {
  std::vector<pid_t> ranks;
  pid_t coordinator = 0;
  Board* board = nullptr;
};

class Faults {
 public:
  // `network`: null where all are on this host. Without restarts a death is for good, so there are fewer.
  Faults(const Plan& plan, const testing_hosts::Network* network, bool restarts);

  // Ends those that are due, and begins one where one is due and more are `wanted`.
  void tick(Instant now, const Processes& processes, bool wanted);
  void end_all(Instant now, const Processes& processes);
  [[nodiscard]] const std::vector<Fault>& all() const { return faults_; }
  [[nodiscard]] bool is_any_going_on() const;

 private:
  Fault drawn(Instant now);
  void begin(const Fault& fault, const Processes& processes) const;
  void end(Fault& fault, Instant now, const Processes& processes) const;
  [[nodiscard]] bool can_begin(const Fault& fault, const Processes& processes) const;
  std::int64_t between(std::int64_t least, std::int64_t most);

  const Plan& plan_;
  const testing_hosts::Network* network_;
  bool restarts_;
  std::mt19937_64 random_;
  std::vector<Fault> faults_;
  Instant next_;
  int deaths_ = 0;
};

}  // namespace tutti::soak
