// The variables of one launcher and of no other, for as long as this object lives.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace launch_tests {

class LauncherEnvironment {
 public:
  LauncherEnvironment(std::initializer_list<std::pair<const char*, std::string>> variables) {
    for (const char* name : {"TUTTI_RANK",
                             "TUTTI_WORLD_SIZE",
                             "TUTTI_LOCAL_RANK",
                             "TUTTI_COORDINATOR",
                             "TUTTI_JOB_ID",
                             "TUTTI_JOB_SECRET",
                             "RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "TORCHELASTIC_RUN_ID",
                             "TORCHELASTIC_RESTART_COUNT",
                             "DTENSOR_CLIENT_ID",
                             "DTENSOR_JOBS",
                             "DTENSOR_JOB_NAME",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "PMIX_NAMESPACE",
                             "PMI_RANK",
                             "PMI_SIZE",
                             "MPI_LOCALRANKID",
                             "MPI_LOCALNRANKS",
                             "SLURM_PROCID",
                             "SLURM_NTASKS",
                             "SLURM_LOCALID",
                             "SLURM_STEP_ID",
                             "SLURM_STEP_NUM_TASKS",
                             "SLURM_STEP_NODELIST",
                             "SLURM_STEP_NUM_NODES",
                             "SLURM_JOB_ID",
                             "SLURM_JOB_NODELIST",
                             "SLURM_NNODES"}) {
      set(name, nullptr);
    }
    for (const auto& [name, value] : variables) set(name, value.c_str());
  }
  LauncherEnvironment(const LauncherEnvironment&) = delete;
  LauncherEnvironment& operator=(const LauncherEnvironment&) = delete;
  ~LauncherEnvironment() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }

  void set(const char* name, const char* value) {
    const char* const old = std::getenv(name);
    before_.try_emplace(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    if (value == nullptr) {
      ::unsetenv(name);
    } else {
      ::setenv(name, value, 1);
    }
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace launch_tests
