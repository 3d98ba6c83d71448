// `tutti launch`: a program as many processes that find each other, on this host or on several.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace tutti::tools {

struct LaunchOptions {
  int ranks = 0;
  std::vector<std::string> hosts;      // empty: this one
  std::string listen;                  // where ranks of other hosts find the coordinator; empty: found out
  std::vector<std::string> variables;  // names of what those ranks are given of this environment, besides TUTTI_*
  std::chrono::milliseconds grace{10'000};
  bool keeps_going = false;  // the others are not stopped when a rank fails
  std::vector<std::string> command;
};

inline constexpr const char* launch_example =
    "Every line of output has its rank in front. Rank 0 reads the input unless that\n"
    "is a terminal. When a rank fails, it is named and the others are stopped; the\n"
    "exit status is the failed rank's, 128 and more for signals.\n"
    "Ranks are given torchrun's variables too, for programs of PyTorch: RANK,\n"
    "WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT.\n\n"
    "Example:\n"
    "  tutti launch -n 4 -- ./train --epochs 3";

// Returns the exit status to give.
int launch(const LaunchOptions& options);

}  // namespace tutti::tools
