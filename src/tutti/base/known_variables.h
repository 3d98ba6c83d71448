// Every environment variable of Tutti's own. README.md tells what each does; tests/docs holds the three together.
#pragma once

#include <array>
#include <string_view>

namespace tutti {

inline constexpr std::array<std::string_view, 34> known_variables{
    "TUTTI_ALLOW_TF32",
    "TUTTI_CACHE_DIR",
    "TUTTI_COMMAND",
    "TUTTI_COORDINATOR",
    "TUTTI_CUDA",
    "TUTTI_CUDA_DEBUG",
    "TUTTI_CUDA_PLAIN_MEMORY",
    "TUTTI_CUDNN",
    "TUTTI_DETERMINISTIC",
    "TUTTI_ENCRYPT",
    "TUTTI_FORCE_GPU_ALLOW_GROWTH",
    "TUTTI_FUSION",
    "TUTTI_GRAPHS",
    "TUTTI_JOB_ID",
    "TUTTI_JOB_SECRET",
    "TUTTI_LEAK_REPORT",
    "TUTTI_LOCAL_RANK",
    "TUTTI_RACES",
    "TUTTI_RANK",
    "TUTTI_RSH",
    "TUTTI_SHARED_MEMORY",
    "TUTTI_SIM_DRIVER",
    "TUTTI_SIM_FAULT",
    "TUTTI_SIM_GPUS",
    "TUTTI_SIM_MEMORY",
    "TUTTI_SIM_SEED",
    "TUTTI_STALL_TIMEOUT",
    "TUTTI_SYNC",
    "TUTTI_SYNC_REPORT",
    "TUTTI_SYNC_STACKS",
    "TUTTI_TRACE",
    "TUTTI_TRACE_RECORDER",
    "TUTTI_VISIBLE_DEVICES",
    "TUTTI_WORLD_SIZE",
};

// A warning for each other TUTTI_* of the environment, with the name it is most like; TUTTI_TEST_* belongs to tests. Only
// the first call warns, and of the ranks of a job only rank 0.
void report_unknown_variables();

}  // namespace tutti
