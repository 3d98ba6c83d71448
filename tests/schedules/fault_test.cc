// Injected faults: a right result or an error that names the injected origin; never a crash, hang, leak or wrong value.
#include <gtest/gtest.h>

#include <chrono>

#include "schedules/programs.h"
#include "schedules/scenario.h"
#include "tutti/tutti.h"

namespace tutti::schedules {
namespace {

using namespace std::chrono_literals;

struct FaultCase {
  FaultKind kind;
  const char* text;
};

std::string memory_left_in_use() {
  for (const char* device : {"GPU:0", "GPU:1", "CPU:0"}) {
    const std::uint64_t left = memory_info(device).in_use;
    if (left != 0) return std::string(device) + " leaks " + std::to_string(left) + " bytes";
  }
  return "";
}

// The program with a fault in its n-th matching piece of work, then the same program without one.
std::string survive(const FaultCase& fault, std::uint64_t skip, std::uint64_t program) {
  inject_fault({.kind = fault.kind, .skip = skip, .times = 2});
  std::string complaint;
  try {
    complaint = random_program(program, fault.text);
  } catch (const Error& e) {  // thrown at a call: memory
    if (std::string(e.what()).find(fault.text) == std::string::npos) complaint = e.what();
  }
  if (!complaint.empty()) return complaint;
  clear_faults();
  try {
    sync_devices();
  } catch (const AsyncError& e) {
    if (std::string(e.what()).find(fault.text) == std::string::npos) return e.what();
  }
  clear_errors();
  if (complaint = memory_left_in_use(); !complaint.empty()) return complaint;
  if (complaint = random_program(program); !complaint.empty()) return "afterwards: " + complaint;
  return memory_left_in_use();
}

void expect_survival(const FaultCase& fault, std::uint64_t positions) {
  for (std::uint64_t skip = 0; skip < positions; ++skip) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Outcome outcome = run([&] { return survive(fault, skip, 1 + skip % 5); }, seed);
      ASSERT_TRUE(outcome.is_right) << "schedule seed " << seed << ", fault after " << skip << ": " << outcome.complaint;
    }
  }
}

TEST(InjectedFaults, InKernelsSpoilOnlyWhatDependsOnThem) { expect_survival({FaultKind::kernel, "injected kernel failure"}, 24); }
TEST(InjectedFaults, InCopiesSpoilOnlyWhatDependsOnThem) { expect_survival({FaultKind::copy, "injected copy failure"}, 16); }
TEST(InjectedFaults, InAllocationsAreOutOfMemoryOrDoNoHarm) {
  expect_survival({FaultKind::allocation, "injected allocation failure"}, 4);
}

TEST(InjectedFaults, NameTheOpTheDeviceAndTheLine) {
  simulate_gpus(1);
  inject_fault({.kind = FaultKind::kernel, .op = "Mul"});
  const Tensor a = constant({1.F, 2.F});
  const Tensor good = a + 1;
  const int line = __LINE__ + 1;
  const Tensor bad = a * 2;
  const Tensor after = bad + 1;
  EXPECT_EQ(read<float>(good), (std::vector<float>{2, 3}));
  try {
    (void)read<float>(after);
    FAIL() << "the failed value was read";
  } catch (const KernelFailed& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("injected kernel failure"), std::string::npos) << what;
    EXPECT_NE(what.find("op multiply on /job:localhost/replica:0/task:0/device:GPU:0"), std::string::npos) << what;
    EXPECT_NE(what.find("fault_test.cc:" + std::to_string(line)), std::string::npos) << what;
  }
}

void expect_stall_is_reported_and_survived(const SimulationOptions& options) {
  simulate_gpus(2, options);
  inject_fault({.kind = FaultKind::stall});
  Tensor a;
  {
    const DeviceScope on("GPU:0");
    a = constant({1.F, 2.F}) + 1;
  }
  Tensor b;
  {
    const DeviceScope on("GPU:1");
    b = constant({5.F}) * 2;
  }
  try {
    sync_devices({.timeout = 50ms});
    FAIL() << "a stalled stream was synced";
  } catch (const DeadlineExceeded& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("fault_test.cc"), std::string::npos) << what;
    EXPECT_NE(what.find("pending"), std::string::npos) << what;
  }
  clear_faults();
  sync_devices();
  EXPECT_EQ(read<float>(a), (std::vector<float>{2, 3}));
  EXPECT_EQ(read<float>(b), (std::vector<float>{10}));
}

TEST(InjectedFaults, AStallIsReportedByADeadlineAndGoesOnWhenReleased) { expect_stall_is_reported_and_survived({}); }
TEST(InjectedFaults, AStallIsReportedUnderTheSteppedDriverToo) {
  expect_stall_is_reported_and_survived({.driver = SimulationDriver::stepped});
}

TEST(InjectedFaults, AStalledStreamDoesNotKeepTheProcessFromEnding) {
  EXPECT_EXIT(
      {
        simulate_gpus(1);
        inject_fault({.kind = FaultKind::stall});
        const Tensor a = constant({1.F}) + 1;
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tutti::schedules
