// A process that has no memory left for what it shares with others says so, to them too, and nobody waits for it.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "processes/job.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

// From now on this process gets so many bytes of address space more.
class Limit {
 public:
  explicit Limit(std::size_t more) {
    ::getrlimit(RLIMIT_AS, &before_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit limit{pages * 4096 + more, before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~Limit() { ::setrlimit(RLIMIT_AS, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  rlimit before_{};
};

Mesh mesh_of_all() {
  simulate_gpus(1);
  return create_distributed_mesh({{"x", -1}}, {"GPU:0"});
}

float sum_over(const Mesh& mesh) { return item<float>(sum(all_reduce({ones({10})}, mesh, "x", Reduction::sum)[0])); }

class WithoutMemory : public testing::TestWithParam<int> {};

}  // namespace

TEST_P(WithoutMemory, ACollectiveFailsOnAllWithTheReasonAndCanBeTriedAgain) {
  if (is_sanitized()) GTEST_SKIP() << "a sanitizer needs the address space";
  const int poor = GetParam();
  Job job(3, [&](int rank) {
    const Mesh mesh = mesh_of_all();
    for (int i = 0; i < 2; ++i) barrier(mesh, {.timeout = 20s});
    (void)sum(ones({10}));
    {
      // Enough for the program, too little for what an exchange shares.
      const auto limit = rank == poor ? std::make_unique<Limit>(std::size_t{1} << 20U) : nullptr;
      const std::string what = thrown_by<Error>([&] { (void)sum_over(mesh); }, 10s);
      require_in(what, "cannot exchange tensors: rank " + std::to_string(poor));
      require_in(what, "Cannot allocate memory");
      clear_errors();
    }
    barrier(mesh, {.timeout = 20s});
    require(sum_over(mesh) == 30, "it works once there is memory");
  });
  job.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Processes, WithoutMemory, testing::Values(0, 2), testing::PrintToStringParamName());

TEST(ProcessBarrier, IsHeldAtTheCoordinatorWhereAProcessHasNothingToShareMemoryWith) {
  if (is_sanitized()) GTEST_SKIP() << "a sanitizer needs descriptors of its own";
  for (const int poor : {0, 1}) {
    Job job(2, [&](int rank) {
      simulate_gpus(1);
      join_job({});
      const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
      (void)item<float>(sum(ones({10})));
      if (rank == poor) {
        // No file may be opened: neither who makes the memory nor who attaches to it can.
        const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(next);
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = static_cast<rlim_t>(next);
        require(::setrlimit(RLIMIT_NOFILE, &limit) == 0, "the limit cannot be set");
      }
      const auto begin = Clock::now();
      for (int i = 0; i < 3; ++i) barrier(mesh, {.timeout = 20s});
      require(Clock::now() - begin < 3s, "somebody waited for memory that never came");
    });
    job.expect_success();
  }
}

TEST(Joining, WithoutMemoryIsAnErrorWithTheReasonAndTheOthersAreTold) {
  if (is_sanitized()) GTEST_SKIP() << "a sanitizer needs the address space";
  Job job(2, [&](int rank) {
    simulate_gpus(1);
    (void)process_rank();
    (void)item<float>(sum(ones({10})));  // all that the program itself needs
    if (rank == 1) {
      const Limit limit(std::size_t{2} << 20U);  // no stack of a thread fits into it
      const std::string what = thrown_by<Error>([&] { join_job({}); }, 10s);
      require_in(what, "the connection to the coordinator cannot be made");
      return;
    }
    const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
    require_in(thrown_by<Error>([&] { barrier(mesh, {.timeout = 2s}); }, 2s + slack), "rank 1");
  });
  job.expect_success();
}

}  // namespace tutti
