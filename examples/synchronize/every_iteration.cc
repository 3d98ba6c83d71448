// The third example of *torch.cuda.synchronize*: what a sync in every iteration costs, and where the ledger saw it.
#include <chrono>

#include "../gpus.h"

namespace tt = tutti;
using Clock = std::chrono::steady_clock;

constexpr int iterations = 300;

// Small steps: the device waits for the host, and with a sync in each the host for the device as well.
template <class AfterEach>
double milliseconds(AfterEach&& after_each) {
  const tt::Tensor x = tt::normal({64, 64});
  tt::synchronize("GPU:0", {.intent = tt::Intent::measure});
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < iterations; ++i) {
    const tt::Tensor y = tt::relu(tt::matmul(x, x));
    after_each(y);
  }
  tt::synchronize("GPU:0", {.intent = tt::Intent::measure});
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

int main() {
  simulate_gpus_where_there_is_none();
  const tt::DeviceScope on("/GPU:0");
  milliseconds([](const tt::Tensor&) {});  // warm-up

  const double without = milliseconds([](const tt::Tensor&) {});
  tt::reset_sync_totals();
  const double with_sync = milliseconds([](const tt::Tensor&) { tt::synchronize("GPU:0"); });
  std::cout << "without syncs in the loop: " << without << " ms\n";
  std::cout << "with one in each of " << iterations << " iterations: " << with_sync << " ms\n";
  std::uint64_t calls = 0;
  for (const tt::SyncTotals& each : tt::sync_totals()) {
    if (each.reason != tt::SyncReason::device_sync || each.calls < iterations) continue;
    calls = each.calls;
    std::cout << each.site.to_string() << ": " << each.calls << " syncs, " << static_cast<double>(each.blocked_time) / 1e6
              << " ms blocked, the device idle for " << static_cast<double>(each.device_idle) / 1e6 << " ms because of them\n";
  }
  return calls == iterations ? 0 : 1;
}
