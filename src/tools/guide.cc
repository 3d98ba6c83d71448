#include "tools/guide.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <utility>
#include <vector>

#include "tools/demo_devices.h"
#include "tutti/base/human_time.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/journal/chrome_trace.h"
#include "tutti/tutti.h"

namespace tutti::tools {

namespace {

void heading(const char* title) {
  static int number = 0;
  std::cout << '\n' << ++number << ". " << title << std::endl;  // flushed: what follows may take a while
}

void say(const std::string& line) { std::cout << paragraph(without_process(line)); }

std::pair<Tensor, Tensor> two_matrices() {
  return {constant({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}), constant({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}})};
}

void log_placement() {
  heading("Logging device placement");
  set_log_sink([](LogLevel, std::string_view line) { std::cout << line << '\n'; });
  set_log_device_placement(true);
  const auto [a, b] = two_matrices();
  std::cout << matmul(a, b) << '\n';
  set_log_sink([](LogLevel, std::string_view line) { say(std::string(line)); });
}

void place_by_hand() {
  heading("Manual device placement");
  std::cout << "Two matrices made in the scope \"/CPU:0\", multiplied outside of it. (From here\n"
               "on, names are printed without /job:localhost/replica:0/task:0.)\n";
  const auto [a, b] = [] {
    const DeviceScope on_cpu("/CPU:0");
    return two_matrices();
  }();
  const Tensor c = matmul(a, b);
  c.sync();
}

// Before the first op: afterwards the devices are what they are.
void split_last_gpu() {
  const auto gpus = list_physical_devices("GPU");
  if (get_device_details(gpus.back()).memory_bytes >= GiB(2)) {
    set_logical_device_configuration(gpus.back(), {{.memory_limit = GiB(1)}, {.memory_limit = GiB(1)}});
  }
}

void show_limits() {
  heading("Memory limits and virtual GPUs");
  const auto physical = list_physical_devices("GPU");
  const auto logical = list_logical_devices("GPU");
  say(text(physical.size(), " Physical GPUs, ", logical.size(), " Logical GPUs, the last with ",
           human_bytes(logical.back().memory_limit), ". Too late to change:"));
  try {
    set_logical_device_configuration(physical.back(), {{.memory_limit = MiB(512)}});
  } catch (const ConfigurationFrozen& error) {
    say(error.what());
  }
}

void miss_a_device() {
  heading("A GPU that does not exist");
  const std::string missing = text("/device:GPU:", list_logical_devices("GPU").size());
  try {
    const DeviceScope on(missing);
    two_matrices();
  } catch (const UnknownDevice& error) {
    say(error.what());
  }
  std::cout << "With soft placement, the best there is:\n";
  set_soft_device_placement(true);
  const DeviceScope on(missing);
  ones({2, 2}).sync();
  set_soft_device_placement(false);
}

void use_every_gpu() {
  heading("Every GPU at once, the sum on the CPU");
  auto gpus = list_logical_devices("GPU");
  gpus.resize(std::min<std::size_t>(gpus.size(), 4));
  std::vector<Tensor> products;
  for (const LogicalDeviceInfo& gpu : gpus) {
    const DeviceScope on(gpu);
    set_log_device_placement(false);
    const auto [a, b] = two_matrices();
    set_log_device_placement(true);
    products.push_back(matmul(a, b));
  }
  const DeviceScope on_cpu("/CPU:0");
  std::cout << add_n(products) << '\n';
  set_log_device_placement(false);
}

Tensor step(Tensor x) { return std::move(x) * 0.5f + 1.f; }

Tensor run_ahead(Tensor x, unsigned steps) {
  for (unsigned i = 0; i < steps; ++i) x = step(std::move(x));
  x.sync({.intent = Intent::measure});
  return x;
}

Tensor sync_every_step(Tensor x, unsigned steps) {
  for (unsigned i = 0; i < steps; ++i) {
    x = step(std::move(x));
    x.sync();
  }
  return x;
}

struct Timed {
  Nanoseconds taken;
  Tensor result;
};

Timed time_of(Tensor (*loop)(Tensor, unsigned), const Tensor& start, unsigned steps) {
  const Nanoseconds begin = now();
  Tensor result = loop(start, steps);
  return {now() - begin, std::move(result)};
}

void print_time(const char* what, Nanoseconds time, unsigned steps) {
  std::cout << std::left << std::setw(24) << what << std::right << std::setw(10) << human_time(time) << std::setw(12)
            << human_time(time / steps) << " a step\n";
}

void time_loops(unsigned steps) {
  heading("What it costs to wait");
  const DeviceScope on("/GPU:0");
  const Tensor start = zeros({32, 32});
  run_ahead(start, 200);  // threads awake, memory mapped
  sync_every_step(start, 200);
  reset_sync_totals();
  const Timed ahead = time_of(run_ahead, start, steps);
  const Timed waiting = time_of(sync_every_step, start, steps);
  const SyncReport report = sync_report();
  if (read<float>(ahead.result) != read<float>(waiting.result)) throw InvalidState("the two loops gave different values", {});

  std::cout << steps << " steps of x = x * 0.5 + 1 on GPU:0, 32 x 32 floats, the same result twice:\n";
  print_time("one sync at the end", ahead.taken, steps);
  print_time("a sync in every step", waiting.taken, steps);
  std::cout << "ratio" << std::fixed << std::setprecision(1) << std::setw(26)
            << static_cast<double>(waiting.taken) / static_cast<double>(ahead.taken) << "\n\n"
            << report;
}

void write_timeline(const std::string& path) {
  heading("Timeline");
  const bool own_recording = !journal::is_recording();  // TUTTI_TRACE records all of the run
  if (own_recording) journal::start();
  auto gpus = list_logical_devices("GPU");
  gpus.resize(std::min<std::size_t>(gpus.size(), 4));
  std::vector<Tensor> values;
  for (const LogicalDeviceInfo& gpu : gpus) {
    const DeviceScope on(gpu);
    Tensor x = uniform({256, 256}, {.key = 7});
    for (int i = 0; i < 10; ++i) x = matmul(x, x) * 0.01f;
    const StreamScope beside(Stream(gpu.name));
    values.push_back(sum(x));
  }
  for (const Tensor& value : values) value.sync();
  sync_devices();
  if (own_recording) journal::stop();
  journal::write_chrome_trace(path);
  say(text("Work on ", gpus.size(), " logical GPUs, two streams each: ", printable(path)));
  std::cout << "Open it at https://ui.perfetto.dev or in chrome://tracing.\n";
}

}  // namespace

void show_guide(const GuideOptions& options) {
  journal::name_this_thread("main");
  std::cout << "Tutti " << version() << ": the guide \"Use a GPU\", step by step\n";
  heading("Devices");
  show_devices(options.gpus);
  split_last_gpu();
  log_placement();
  place_by_hand();
  show_limits();
  miss_a_device();
  use_every_gpu();
  set_log_sink({});
  time_loops(options.steps);
  write_timeline(options.trace);
}

}  // namespace tutti::tools
