// `tutti barrier`: a meeting of all ranks for scripts, under any launcher.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace tutti::tools {

struct BarrierOptions {
  std::string name = "barrier";
  std::optional<std::chrono::milliseconds> timeout;
};

inline constexpr const char* barrier_example =
    "Exit status 0 when all ranks have come; 1 with a report of who is missing. A\n"
    "rank is known by the variables of tutti launch, torchrun, DTensor, Open MPI,\n"
    "MPICH or Slurm.\n\n"
    "Example, in a script that every rank runs:\n"
    "  ./prepare && tutti barrier --name prepared --timeout 5m && ./train";

// Returns the exit status to give.
int run_barrier(const BarrierOptions& options);

}  // namespace tutti::tools
