// What each launcher's variables make of a process.
#include "tutti/mesh/control/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "launch/launcher_environment.h"
#include "tutti/base/error.h"

namespace {

using launch_tests::LauncherEnvironment;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using tutti::InvalidArgument;
using tutti::Membership;
using tutti::membership_from_environment;

std::string refusal() {
  try {
    membership_from_environment();
  } catch (const InvalidArgument& error) {
    return error.message();
  }
  return "not refused";
}

TEST(Membership, WithoutALauncherAProcessIsAlone) {
  const LauncherEnvironment environment{{"TUTTI_JOB_SECRET", "kept for another day"}, {"MASTER_ADDR", "node1"}};
  const Membership who = membership_from_environment();
  EXPECT_EQ(who.rank, 0);
  EXPECT_EQ(who.world, 1);
  EXPECT_EQ(who.coordinator, "");
  EXPECT_EQ(who.launcher, "");
  EXPECT_FALSE(who.rank_0_starts_coordinator);
}

TEST(Membership, OurVariablesWinOverAllOthers) {
  const LauncherEnvironment environment{{"TUTTI_RANK", "2"},
                                        {"TUTTI_WORLD_SIZE", "4"},
                                        {"TUTTI_LOCAL_RANK", "1"},
                                        {"TUTTI_COORDINATOR", "127.0.0.1:4000"},
                                        {"TUTTI_JOB_ID", "run 7"},
                                        {"TUTTI_JOB_SECRET", "s"},
                                        {"RANK", "0"},
                                        {"WORLD_SIZE", "8"},
                                        {"MASTER_ADDR", "localhost"},
                                        {"MASTER_PORT", "29500"}};
  const Membership who = membership_from_environment();
  EXPECT_EQ(who.rank, 2);
  EXPECT_EQ(who.world, 4);
  EXPECT_EQ(who.local_rank, 1);
  EXPECT_EQ(who.coordinator, "127.0.0.1:4000");
  EXPECT_EQ(who.job, "run 7");
  EXPECT_EQ(who.secret, "s");
  EXPECT_EQ(who.launcher, "tutti launch");
  EXPECT_FALSE(who.rank_0_starts_coordinator);
}

TEST(Membership, APartOfOurVariablesIsRefusedByName) {
  LauncherEnvironment environment{{"TUTTI_RANK", "2"}};
  EXPECT_THAT(refusal(), HasSubstr("TUTTI_RANK is set and TUTTI_WORLD_SIZE, TUTTI_COORDINATOR are not"));
  environment.set("TUTTI_WORLD_SIZE", "4");
  EXPECT_THAT(refusal(), HasSubstr("TUTTI_COORDINATOR is not set"));
  environment.set("TUTTI_COORDINATOR", "localhost:4000");
  EXPECT_THAT(refusal(), HasSubstr("TUTTI_JOB_SECRET is not"));
  environment.set("TUTTI_RANK", nullptr);
  environment.set("TUTTI_WORLD_SIZE", nullptr);
  EXPECT_THAT(refusal(), HasSubstr("TUTTI_COORDINATOR is set, and neither TUTTI_RANK and TUTTI_WORLD_SIZE"));
}

TEST(Membership, ValuesThatCannotBeAreRefusedWithWhatWasExpected) {
  LauncherEnvironment environment{{"TUTTI_RANK", "4"}, {"TUTTI_WORLD_SIZE", "4"}, {"TUTTI_COORDINATOR", "localhost:4000"}};
  EXPECT_THAT(refusal(), HasSubstr("TUTTI_RANK='4' cannot be: a whole number from 0 to 3 (TUTTI_WORLD_SIZE is 4)"));
  for (const char* world : {"0", "-1", "many", "1e3", "99999999999999999999", "\x1b[31m"}) {
    environment.set("TUTTI_WORLD_SIZE", world);
    EXPECT_THAT(refusal(), AllOf(StartsWith("TUTTI_WORLD_SIZE='"), HasSubstr("a whole number from 1 to")));
  }
  environment.set("TUTTI_WORLD_SIZE", "5");
  for (const char* address :
       {"localhost", "localhost:", ":4000", "localhost:0", "localhost:65536", "::1:4000", "a b:1", "[::1]"}) {
    environment.set("TUTTI_COORDINATOR", address);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("TUTTI_COORDINATOR: '"), HasSubstr("host:port or [v6]:port")));
  }
}

TEST(Membership, AnAddressOfIPv6KeepsItsBrackets) {
  const LauncherEnvironment environment{
      {"TUTTI_RANK", "0"}, {"TUTTI_WORLD_SIZE", "2"}, {"TUTTI_COORDINATOR", "[fe80::1%eth0]:4000"}, {"TUTTI_JOB_SECRET", "s"}};
  EXPECT_EQ(membership_from_environment().coordinator, "[fe80::1%eth0]:4000");
}

TEST(Membership, TorchrunOnOneHostNeedsNothingElse) {
  LauncherEnvironment environment{{"RANK", "1"},
                                  {"WORLD_SIZE", "2"},
                                  {"LOCAL_RANK", "1"},
                                  {"LOCAL_WORLD_SIZE", "2"},
                                  {"MASTER_ADDR", "::1"},
                                  {"MASTER_PORT", "29500"},
                                  {"TORCHELASTIC_RUN_ID", "none"}};
  const Membership who = membership_from_environment();
  EXPECT_EQ(who.rank, 1);
  EXPECT_EQ(who.world, 2);
  EXPECT_EQ(who.local_rank, 1);
  EXPECT_EQ(who.launcher, "torchrun");
  EXPECT_EQ(who.coordinator, "") << "in the job's file: the port after MASTER_PORT may be anybody's";
  EXPECT_EQ(who.secret, "");
  EXPECT_THAT(who.job, StartsWith("torchrun-none-29500-"));
  EXPECT_TRUE(who.rank_0_starts_coordinator);
  EXPECT_TRUE(who.one_host);
}

TEST(Membership, SeveralHostsWithoutASecretAreRefused) {
  LauncherEnvironment environment{
      {"RANK", "1"},           {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}, {"MASTER_ADDR", "node1"},
      {"MASTER_PORT", "29500"}};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("torchrun started 4 ranks"), HasSubstr("TUTTI_JOB_SECRET is not set")));
  environment.set("LOCAL_WORLD_SIZE", nullptr);
  EXPECT_THAT(refusal(), HasSubstr("TUTTI_JOB_SECRET is not set"));
  environment.set("TUTTI_JOB_SECRET", "s");
  EXPECT_EQ(membership_from_environment().secret, "s");
  EXPECT_EQ(membership_from_environment().coordinator, "node1:29501") << "torch's own store listens at the port itself";
  EXPECT_FALSE(membership_from_environment().one_host);
  environment.set("MASTER_ADDR", "::1");
  EXPECT_EQ(membership_from_environment().coordinator, "[::1]:29501");
  environment.set("MASTER_PORT", "65535");
  EXPECT_THAT(refusal(), HasSubstr("MASTER_PORT='65535'"));
}

TEST(Membership, APartOfTorchrunsVariablesIsRefusedUnlessAnotherLauncherSaidAll) {
  LauncherEnvironment environment{{"RANK", "1"}, {"WORLD_SIZE", "4"}};
  EXPECT_THAT(refusal(), HasSubstr("of torchrun's variables RANK, WORLD_SIZE are set and MASTER_ADDR, MASTER_PORT are not"));
  environment.set("OMPI_COMM_WORLD_RANK", "0");
  environment.set("OMPI_COMM_WORLD_SIZE", "2");
  environment.set("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
  EXPECT_EQ(membership_from_environment().launcher, "Open MPI");
}

TEST(Membership, DTensorsClientsAreCountedInItsListOfJobs) {
  LauncherEnvironment environment{{"DTENSOR_CLIENT_ID", "2"},
                                  {"DTENSOR_JOBS", "node1:4000,node2:4000,node1:4001"},
                                  {"DTENSOR_JOB_NAME", "worker"},
                                  {"TUTTI_JOB_SECRET", "s"}};
  const Membership who = membership_from_environment();
  EXPECT_EQ(who.rank, 2);
  EXPECT_EQ(who.world, 3);
  EXPECT_EQ(who.local_rank, 1);
  EXPECT_EQ(who.coordinator, "node1:4000");
  EXPECT_FALSE(who.one_host);
  environment.set("DTENSOR_CLIENT_ID", "3");
  EXPECT_THAT(refusal(), HasSubstr("from 0 to 2 (DTENSOR_JOBS has 3 entries)"));
  environment.set("DTENSOR_CLIENT_ID", nullptr);
  EXPECT_THAT(refusal(), HasSubstr("DTENSOR_CLIENT_ID is not"));
  environment.set("DTENSOR_JOBS", "");
  EXPECT_EQ(membership_from_environment().world, 1) << "no jobs: DTensor's local mode";
  environment.set("DTENSOR_CLIENT_ID", "1");
  EXPECT_THAT(refusal(), HasSubstr("DTENSOR_JOBS is not"));
}

TEST(Membership, OpenMpiAndMpichOnOneHostNeedNothingElse) {
  for (const std::vector<const char*>& names :
       {std::vector{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
        std::vector{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}}) {
    LauncherEnvironment environment{{names[0], "3"}, {names[1], "4"}, {names[2], "3"}, {names[3], "4"}};
    const Membership who = membership_from_environment();
    EXPECT_EQ(who.rank, 3);
    EXPECT_EQ(who.world, 4);
    EXPECT_EQ(who.local_rank, 3);
    EXPECT_EQ(who.coordinator, "") << "in the job's file";
    EXPECT_TRUE(who.rank_0_starts_coordinator);
    EXPECT_THAT(who.job, HasSubstr(std::to_string(::getppid()) + ".")) << "the process that started it is its launcher";
    environment.set(names[3], "2");
    EXPECT_THAT(refusal(), AllOf(HasSubstr("TUTTI_COORDINATOR"), HasSubstr("TUTTI_JOB_SECRET")));
    environment.set("TUTTI_COORDINATOR", "node1:4000");
    EXPECT_THAT(refusal(), HasSubstr("TUTTI_JOB_SECRET is not set"));
    environment.set("TUTTI_JOB_SECRET", "s");
    environment.set("TUTTI_JOB_ID", "mine");
    EXPECT_EQ(membership_from_environment().coordinator, "node1:4000");
    EXPECT_EQ(membership_from_environment().job, "mine");
  }
}

TEST(Membership, SlurmsRanksMeetAtTheFirstNodeAtAPortOfTheJob) {
  LauncherEnvironment environment{{"SLURM_PROCID", "5"},         {"SLURM_NTASKS", "8"},
                                  {"SLURM_LOCALID", "1"},        {"SLURM_STEP_ID", "0"},
                                  {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                                  {"SLURM_JOB_ID", "123456"},    {"TUTTI_JOB_SECRET", "s"}};
  const Membership who = membership_from_environment();
  EXPECT_EQ(who.rank, 5);
  EXPECT_EQ(who.world, 8);
  EXPECT_EQ(who.local_rank, 1);
  EXPECT_EQ(who.job, "slurm-123456.0");
  EXPECT_THAT(who.coordinator, StartsWith("gpu07:"));
  const int port = std::stoi(who.coordinator.substr(6));
  EXPECT_GE(port, 15'000);
  EXPECT_LT(port, 32'000);
  environment.set("SLURM_STEP_ID", "1");
  EXPECT_NE(membership_from_environment().coordinator, who.coordinator) << "steps of one job may run at the same time";
  environment.set("SLURM_STEP_NUM_NODES", "1");
  EXPECT_EQ(membership_from_environment().coordinator, "") << "one host: in the job's file";
  environment.set("SLURM_STEP_NODELIST", "gpu[07-08");
  EXPECT_THAT(refusal(), HasSubstr("SLURM_STEP_NODELIST='gpu[07-08' cannot be"));
  environment.set("SLURM_JOB_ID", nullptr);
  EXPECT_THAT(refusal(), HasSubstr("SLURM_JOB_ID is not"));
}

TEST(Membership, TorchrunsVariablesSetFromAnotherLaunchersLeaveOneHostToThatOne) {
  LauncherEnvironment environment{{"RANK", "1"},
                                  {"WORLD_SIZE", "3"},
                                  {"MASTER_ADDR", "localhost"},
                                  {"MASTER_PORT", "29500"},
                                  {"SLURM_PROCID", "1"},
                                  {"SLURM_STEP_ID", "0"},
                                  {"SLURM_STEP_NUM_TASKS", "3"},
                                  {"SLURM_JOB_ID", "16"},
                                  {"SLURM_STEP_NODELIST", "node1"},
                                  {"SLURM_STEP_NUM_NODES", "1"}};
  EXPECT_EQ(membership_from_environment().launcher, "Slurm");
  environment.set("SLURM_STEP_NUM_NODES", "2");
  environment.set("TUTTI_JOB_SECRET", "s");
  EXPECT_EQ(membership_from_environment().coordinator, "localhost:29501") << "several hosts: MASTER_ADDR says where to meet";
  environment.set("SLURM_STEP_NUM_NODES", "1");
  environment.set("RANK", "2");
  EXPECT_EQ(membership_from_environment().launcher, "torchrun") << "another rank than Slurm's is another launcher's";
  environment.set("RANK", "1");
  environment.set("TORCHELASTIC_RUN_ID", "none");
  EXPECT_EQ(membership_from_environment().launcher, "torchrun") << "its own";
  for (const std::vector<const char*>& names :
       {std::vector{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "Open MPI"},
        std::vector{"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "MPICH"}}) {
    LauncherEnvironment another{
        {"RANK", "1"},   {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "localhost"}, {"MASTER_PORT", "29500"}, {names[0], "1"},
        {names[1], "3"}, {names[2], "3"}};
    EXPECT_EQ(membership_from_environment().launcher, names[3]);
  }
}

TEST(Membership, SlurmInMpichsWordsIsSlurmAndMpichInsideSlurmIsMpich) {
  // As set by srun --mpi=pmi2.
  LauncherEnvironment environment{{"SLURM_PROCID", "1"},
                                  {"SLURM_STEP_NUM_TASKS", "3"},
                                  {"SLURM_LOCALID", "1"},
                                  {"SLURM_STEP_ID", "0"},
                                  {"SLURM_STEP_NODELIST", "node1"},
                                  {"SLURM_JOB_ID", "16"},
                                  {"SLURM_STEP_NUM_NODES", "1"},
                                  {"PMI_RANK", "1"},
                                  {"PMI_SIZE", "3"}};
  EXPECT_EQ(membership_from_environment().launcher, "Slurm");
  EXPECT_EQ(membership_from_environment().rank, 1);
  EXPECT_EQ(membership_from_environment().world, 3);
  EXPECT_TRUE(membership_from_environment().one_host);
  // mpiexec starts its ranks from one task of a step of its own.
  environment.set("SLURM_STEP_NUM_TASKS", "1");
  environment.set("SLURM_PROCID", "0");
  environment.set("SLURM_LOCALID", "0");
  environment.set("MPI_LOCALRANKID", "1");
  environment.set("MPI_LOCALNRANKS", "3");
  for (const char* rank : {"0", "1"}) {
    environment.set("PMI_RANK", rank);
    EXPECT_EQ(membership_from_environment().launcher, "MPICH");
    EXPECT_EQ(membership_from_environment().world, 3);
  }
}

TEST(Membership, ABatchScriptOfSlurmIsNoRank) {
  LauncherEnvironment environment{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "123456"}};
  EXPECT_EQ(membership_from_environment().world, 1);
  environment.set("SLURM_STEP_ID", "4294967291");
  EXPECT_EQ(membership_from_environment().world, 1);
}

TEST(Membership, AWorldOfOneMeetsNobody) {
  LauncherEnvironment environment{{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "node1"}, {"MASTER_PORT", "29500"}};
  const Membership who = membership_from_environment();
  EXPECT_EQ(who.coordinator, "");
  EXPECT_EQ(who.launcher, "torchrun");
  EXPECT_FALSE(who.rank_0_starts_coordinator);
}

}  // namespace
