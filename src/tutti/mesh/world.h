// The processes this one works with, as its launcher says. They are joined at the first call that needs them.
#pragma once

#include <chrono>
#include <string>

#include "tutti/base/site.h"

namespace tutti {

// Of a process that nobody launched with others: rank 0 of 1.
int process_rank(Site site = {});
int process_count(Site site = {});
// Among the processes of its host, as the launcher numbers them.
int local_process_rank(Site site = {});

struct JobOptions {
  std::chrono::milliseconds connect_timeout{60'000};  // for all others to be there is the barrier's business
  std::chrono::milliseconds heartbeat{1'000};
  std::chrono::milliseconds dead_after{10'000};  // a process that is silent for so long is given up
};

// Joins now, with these options. Throws InvalidState where the job was joined already, JoinRefused with the coordinator's reason,
// DeadlineExceeded where it cannot be reached.
void join_job(const JobOptions& options, Site site = {});
// Every process's meetings and collectives, pending and later, fail with this.
void abort_job(const std::string& why, Site site = {});

}  // namespace tutti
