#include "conformance/backend.h"

namespace tutti::conformance {

namespace {

// One processor as two devices, so that copies and edges between devices are tested there as well.
void two_cpus(std::uint64_t) {
  simulate_gpus(0);
  set_logical_device_configuration(list_physical_devices("CPU").at(0), {{}, {}});
}

void threaded(std::uint64_t) { simulate_gpus(2, {.memory_bytes = MiB(256)}); }

void stepped(std::uint64_t seed) {
  simulate_gpus(2, {.memory_bytes = MiB(256), .driver = SimulationDriver::stepped, .seed = seed});
}

// Copies with the host go through pinned memory, as on a real GPU.
void staged(std::uint64_t) { simulate_gpus(2, {.memory_bytes = MiB(256), .pinned_copies = true}); }

void staged_and_stepped(std::uint64_t seed) {
  simulate_gpus(2, {.memory_bytes = MiB(256), .driver = SimulationDriver::stepped, .seed = seed, .pinned_copies = true});
}

// One GPU as two devices, so that one is enough for copies and edges between devices.
void two_on_a_gpu(std::uint64_t) {
  simulate_gpus(0);
  if (const auto gpus = list_physical_devices("GPU"); !gpus.empty())
    set_logical_device_configuration(gpus.front(), {{.memory_limit = GiB(2)}, {.memory_limit = GiB(2)}});
}

bool is_here(const BackendCase& backend) {
  const auto found = list_physical_devices(backend.type);
  return !found.empty() && get_device_details(found.front()).backend == backend.backend;
}

}  // namespace

std::vector<BackendCase> backends() {
  return {
      {"cpu_synchronous", "CPU", "cpu", two_cpus, 0, true},
      {"cpu_asynchronous", "CPU", "cpu", two_cpus},
      {"sim_threaded", "GPU", "sim", threaded},
      // Even seeds run nothing before the host waits, odd ones run some work as it is submitted.
      {"sim_stepped_1", "GPU", "sim", stepped, 1},
      {"sim_stepped_2", "GPU", "sim", stepped, 2},
      {"sim_stepped_3", "GPU", "sim", stepped, 3},
      {"sim_stepped_4", "GPU", "sim", stepped, 4},
      {"sim_staged", "GPU", "sim", staged},
      {"sim_staged_stepped_5", "GPU", "sim", staged_and_stepped, 5},
      {"sim_staged_stepped_6", "GPU", "sim", staged_and_stepped, 6},
      {"cuda", "GPU", "cuda", two_on_a_gpu},
  };
}

void OnBackend::SetUp() {
  const BackendCase& backend = GetParam();
  backend.configure(backend.seed);
  if (!is_here(backend)) GTEST_SKIP() << (backend.backend == "cuda" ? "no CUDA GPU here" : "no " + backend.type + " here");
  enter_thread();
  scope_.emplace(device(0));
}

std::vector<std::string> OnBackend::all_devices() const {
  std::vector<std::string> out{device(0), device(1)};
  if (GetParam().type != "CPU") out.emplace_back("CPU:0");
  return out;
}

}  // namespace tutti::conformance
