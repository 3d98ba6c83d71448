// `tutti coordinator` as a process of its own that outlives the one that starts it: so the death of rank 0 is reported like any
// other.
#pragma once

#include <chrono>
#include <string>

#include "tutti/base/clock.h"
#include "tutti/base/site.h"
#include "tutti/mesh/wire/secret.h"

namespace tutti {

struct CoordinatorChild {
  std::string listen = "127.0.0.1:0";
  int world = 1;
  std::string job;
  wire::Secret secret;   // travels through the child's environment, which only this user can read
  std::string job_file;  // that the child takes away when it ends; empty: none
  int lock = -1;         // a descriptor the child keeps open
  // Whoever starts it joins at once: if nobody has after so long, that one is dead, and perhaps its launcher with all the others.
  std::chrono::milliseconds idle_limit{60'000};
};

// The command: TUTTI_COMMAND, beside this library in a build or an installation, or in PATH. Throws InvalidState, saying where it
// was looked for.
std::string find_command(Site site = {});

// Starts it and returns the address at which it listens. Throws InvalidState with what the child said, DeadlineExceeded.
std::string start_coordinator(const CoordinatorChild& child, Deadline deadline, Site site = {});

}  // namespace tutti
