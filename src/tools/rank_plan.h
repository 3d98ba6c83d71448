// Which rank of a launch runs where, and what it is told.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/launch.h"
#include "tools/rank_process.h"
#include "tutti/mesh/wire/secret.h"

namespace tutti::tools {

// Where ranks meet.
struct MeetingPoints {
  std::string coordinator;
  int master_port = 0;  // for rank 0 of a program of PyTorch to listen at
};

// A port that nobody uses on this host.
int free_port();

class RankPlan {
 public:
  // Makes the job's name and secret.
  explicit RankPlan(const LaunchOptions& options);

  [[nodiscard]] const std::string& job() const noexcept { return job_; }
  [[nodiscard]] const wire::Secret& secret() const noexcept { return secret_; }
  // At which of this host's addresses every rank finds the coordinator: loopback where all run here.
  [[nodiscard]] std::string listening_host() const;
  // Empty: this one. Ranks are dealt out in blocks, so neighbours share a host.
  [[nodiscard]] std::string host_of(int rank) const;
  [[nodiscard]] RankStart start_of(int rank, const MeetingPoints& points) const;

 private:
  [[nodiscard]] std::size_t host_index(int rank) const;
  // Of those on a host; of the one after the last, how many ranks there are.
  [[nodiscard]] int first_rank_on(std::size_t host) const;
  // Of rank 0, for all others.
  [[nodiscard]] std::string master_host() const;
  [[nodiscard]] std::vector<std::string> own_variables(int rank, const MeetingPoints& points) const;
  [[nodiscard]] bool is_passed_on(std::string_view name) const;

  LaunchOptions options_;
  std::string job_;
  wire::Secret secret_;
};

}  // namespace tutti::tools
