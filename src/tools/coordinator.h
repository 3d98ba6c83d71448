// `tutti coordinator`: where the ranks of a job meet, as a process of its own. Launchers, scripts and rank 0 start it.
#pragma once

#include <string>

#include "tutti/mesh/control/coordinator.h"

namespace tutti::tools {

struct CoordinatorCommand {
  CoordinatorOptions options;
  std::string job_file;  // to take away at the end; empty: none
};

inline constexpr const char* coordinator_example =
    "For launchers and scripts: prints the address at which it listens, serves until\n"
    "all ranks have left, and ends. The secret is read from TUTTI_JOB_SECRET.\n\n"
    "Example:\n"
    "  export TUTTI_JOB_SECRET=$(openssl rand -hex 16)\n"
    "  tutti coordinator --world 4 --listen 10.0.0.1:4000";

int run_coordinator(CoordinatorCommand command);

}  // namespace tutti::tools
