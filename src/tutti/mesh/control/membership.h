// Which process of how many this one is, and where they all meet: said by a launcher through the environment.
#pragma once

#include <string>

#include "tutti/base/site.h"
#include "tutti/mesh/wire/secret.h"

namespace tutti {

struct Membership {
  int rank = 0;
  int world = 1;
  int local_rank = 0;
  // "host:port" or "[v6]:port". Empty: this process is alone or, where rank 0 starts the coordinator, told by the job's file.
  std::string coordinator;
  std::string job;       // tells this run from an earlier one at the same address
  wire::Secret secret;   // what every connection must know; empty where the job's file tells it
  std::string launcher;  // "tutti launch", "torchrun", for messages; empty: none
  // Nobody else starts the coordinator: rank 0 does, as a child that outlives it (join_job.h).
  bool rank_0_starts_coordinator = false;
  // The launcher says that every rank runs on this host.
  bool one_host = false;
};

// The first complete set of variables wins: ours (TUTTI_RANK, TUTTI_WORLD_SIZE, TUTTI_LOCAL_RANK, TUTTI_COORDINATOR,
// TUTTI_JOB_ID, TUTTI_JOB_SECRET), torchrun's, DTensor's, Open MPI's, MPICH's, Slurm's; none: alone. One that only repeats
// what another says in more detail does not count. Ours that are set beside another launcher's take the place of what that one
// would say. Throws InvalidArgument for a set of which only a part is there or a value that cannot be, naming the variables.
// Waits for nothing.
Membership membership_from_environment(Site site = {});

}  // namespace tutti
