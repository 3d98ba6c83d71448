// A runtime with nothing to do costs nothing.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <time.h>

#include "tutti/tutti.h"

namespace tutti {

namespace {

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

TEST(Idle, ARuntimeUsesNoProcessorTime) {
  simulate_gpus(2);
  for (const char* device : {"GPU:0", "GPU:1", "CPU:0"}) {
    const DeviceScope on(device);
    (void)item<float>(sum(matmul(ones({64, 64}), ones({64, 64}))));
  }
  const double before = processor_seconds();
  // Idleness can only be seen by letting time pass; nothing is waited for here.
  timespec pause{.tv_sec = 0, .tv_nsec = 500'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  EXPECT_LT(processor_seconds() - before, 0.025) << "of half a second";
}

}  // namespace tutti
