// What a sync costs by itself: of a device with nothing to do, and the time from the end of the last op to the host's next
// instruction, against a bare futex hand-over between two threads in the same run.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "tutti/tutti.h"
#include "versus.h"

namespace {

constexpr tutti::Nanoseconds long_enough_to_sleep = 300'000;

void work_for(tutti::Nanoseconds time) {
  const tutti::Nanoseconds start = tutti::now();
  while (tutti::now() - start < time) {}
}

// Works a while and leaves the time at which it ended.
const tutti::OpRow& ending_op() {
  static const tutti::Kernel kernel = [](const tutti::KernelCall& call, tutti::KernelContext&) {
    work_for(long_enough_to_sleep);
    *call.out().as<std::int64_t>() = tutti::now();
  };
  static const tutti::Infer infer = [](tutti::Inference& in) { in.output(tutti::DType::i64, tutti::Shape{}); };
  static const tutti::OpRow& row = tutti::register_op({.name = "BenchEnd", .infer = infer}, {.cpu = kernel, .sim = kernel});
  return row;
}

double wake_up_after_an_op(const char* device) {
  const tutti::DeviceScope on(device);
  const tutti::Tensor end = tutti::call_op(ending_op(), std::vector<tutti::Tensor>{}, {}).at(0);
  end.sync();
  const tutti::Nanoseconds awake = tutti::now();
  return static_cast<double>(awake - tutti::item<std::int64_t>(end));
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
}

double bare_hand_over() {
  std::atomic<std::uint32_t> word{0};
  std::atomic<tutti::Nanoseconds> end{0};
  std::jthread worker([&] {
    work_for(long_enough_to_sleep);
    end = tutti::now();
    word = 1;
    futex(word, FUTEX_WAKE_PRIVATE, 1);
  });
  while (word == 0) futex(word, FUTEX_WAIT_PRIVATE, 0);
  return static_cast<double>(tutti::now() - end);
}

}  // namespace

int main(int argc, char** argv) {
  tutti::simulate_gpus(1);
  tutti::set_synchronous_execution(false);
  bench::Report report("sync_cost");
  bench::Report::heading("bare futex");

  (void)wake_up_after_an_op("GPU:0");
  std::vector<double> idle;
  for (int i = 0; i < 31; ++i) idle.push_back(bench::sample(2000, [] { tutti::synchronize("GPU:0"); }));
  report.absolute("sync of an idle device", 200, idle);

  for (const char* device : {"GPU:0", "CPU:0"}) {
    std::vector<double> ours;
    std::vector<double> bare;
    for (int i = 0; i < 101; ++i) {
      ours.push_back(wake_up_after_an_op(device));
      bare.push_back(bare_hand_over());
    }
    report.sides(std::string("awake after the last op, ") + device, "bare futex", 1 / 1.3, ours, bare);
  }
  if (argc == 3 && std::strcmp(argv[1], "--json") == 0) report.write(argv[2]);
}
