// What a sync costs by itself: of a device with nothing to do, and the time from the end of the last op to the host's next
// instruction, against a bare futex hand-over between two threads in the same run. Where a thread wakes decides most of it: a
// core that sleeps must be woken first, one that has just been left need not. So both sides are told where to run.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "tutti/tutti.h"
#include "versus.h"

namespace {

constexpr tutti::Nanoseconds long_enough_to_sleep = 300'000;
// Longer than a worker looks for more work before it parks: the next sample finds nobody awake.
constexpr tutti::Nanoseconds long_enough_to_park = 600'000;

void work_for(tutti::Nanoseconds time) {
  const tutti::Nanoseconds start = tutti::now();
  while (tutti::now() - start < time) {}
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) out.push_back(core);
  }
  return out;
}

void stay_on(int core) {
  thread_local int pinned = -1;
  if (std::exchange(pinned, core) == core) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  (void)sched_setaffinity(0, sizeof set, &set);
}

std::atomic<int> core_of_work{0};

// Works a while and leaves the time at which it ended.
const tutti::OpRow& ending_op() {
  static const tutti::Kernel kernel = [](const tutti::KernelCall& call, tutti::KernelContext&) {
    stay_on(core_of_work);
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
  work_for(long_enough_to_park);
  return static_cast<double>(awake - tutti::item<std::int64_t>(end));
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
}

double bare_hand_over() {
  std::atomic<std::uint32_t> word{0};
  std::atomic<tutti::Nanoseconds> end{0};
  std::jthread worker([&] {
    stay_on(core_of_work);
    work_for(long_enough_to_sleep);
    end = tutti::now();
    word = 1;
    futex(word, FUTEX_WAKE_PRIVATE, 1);
  });
  while (word == 0) futex(word, FUTEX_WAIT_PRIVATE, 0);
  const tutti::Nanoseconds awake = tutti::now();
  worker.join();
  work_for(long_enough_to_park);
  return static_cast<double>(awake - end);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv);
  const std::vector<int> cores = usable_cores();
  tutti::simulate_gpus(1);
  tutti::set_synchronous_execution(false);
  bench::Report report("sync_cost");
  bench::Report::heading("bare futex");

  stay_on(cores.at(0));
  core_of_work = cores.back();
  (void)wake_up_after_an_op("GPU:0");
  std::vector<double> idle;
  for (int i = 0; i < options.samples(301); ++i)
    idle.push_back(bench::sample(options.calls(2000), [] { tutti::synchronize("GPU:0"); }));
  report.absolute("sync of an idle device", 200, idle);

  for (const char* device : {"GPU:0", "CPU:0"}) {
    for (const bool is_other : {true, false}) {
      if (is_other && cores.size() == 1) continue;
      core_of_work = is_other ? cores.back() : cores.front();
      std::vector<double> ours;
      std::vector<double> bare;
      for (int i = 0; i < options.samples(101); ++i) {
        ours.push_back(wake_up_after_an_op(device));
        bare.push_back(bare_hand_over());
      }
      report.sides(std::string("awake after the last op, ") + device + (is_other ? ", other core" : ", same core"), "bare futex",
                   1 / 1.3, ours, bare);
    }
  }
  report.write(options.json());
}
