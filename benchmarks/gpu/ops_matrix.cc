// Our side of the matrix of ops on GPU:0: every result is compared with the CPU's, then timed. ops_matrix.py adds PyTorch's.
// usage: gpu_matrix MATRIX.json [--filter TEXT] [--seconds N] [--simulated]   (exit 77: there is no CUDA GPU; 1: some results
// differ; --simulated: to try the program out without one)
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "matrix/matrix.h"
#include "timing.h"

namespace tt = tutti;

namespace {

using matrix::Cell;
using matrix::Given;
using matrix::Kind;

struct Options {
  std::string json;
  std::string filter;
  double seconds = 100;
  bool is_simulated = false;
};

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--filter" && i + 1 < argc) {
      options.filter = argv[++i];
    } else if (word == "--seconds" && i + 1 < argc) {
      options.seconds = std::atof(argv[++i]);
    } else if (word == "--simulated") {
      options.is_simulated = true;
    } else if (options.json.empty() && !word.starts_with("-")) {
      options.json = word;
    } else {
      options.json.clear();
      break;
    }
  }
  if (options.json.empty()) {
    std::fprintf(stderr, "usage: gpu_matrix MATRIX.json [--filter TEXT] [--seconds N] [--simulated]\n");
    std::exit(2);
  }
  return options;
}

tt::Tensor on_cpu(const tt::Tensor& x) { return x.is_defined() ? tt::copy_to(x, "CPU:0") : x; }

// Empty, or how the GPU's result differs from the CPU's.
std::string difference(const Cell& cell, const Given& given, const tt::Tensor& result) {
  const tt::DeviceScope on("CPU:0");
  const tt::Tensor wanted = cell.entry->ours(on_cpu(given.x), on_cpu(given.y), on_cpu(given.z));
  if (wanted.shape() != result.shape() || wanted.dtype() != result.dtype()) return "shape or dtype differ from the CPU's";
  if (cell.entry->kind == Kind::draw) return {};
  const bool is_exact = !tt::is_floating(result.dtype());
  const std::vector<double> a = tt::read<double>(tt::cast(on_cpu(result), tt::DType::f64));
  const std::vector<double> b = tt::read<double>(tt::cast(wanted, tt::DType::f64));
  const double terms = matrix::terms_of(cell, result.size());
  const double relative = is_exact ? 0 : tt::half_dtypes.contains(result.dtype()) ? 0x1p-6 : 1e-4;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool is_close = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                          std::abs(a[i] - b[i]) <= relative * (std::abs(b[i]) + std::sqrt(terms));
    if (!is_close)
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", " + std::to_string(b[i]) + " on the CPU";
  }
  return {};
}

struct Times {
  double device = 0;  // microseconds per call, from the first to the last of many on the stream
  double host = 0;    // until the call has returned
};

Times measure(const std::function<void()>& function) {
  const double once = tt::bench(function, {.warm_up = 2, .samples = 1, .calls_per_sample = 2}).end_to_end.median;
  const int calls = static_cast<int>(std::clamp(3e6 / once, 1.0, 100.0));
  const tt::BenchResult found = tt::bench(function, {.warm_up = 1, .samples = once > 20e6 ? 2 : 5, .calls_per_sample = calls});
  return {found.device.median / 1e3, found.host_enqueue.median / 1e3};
}

// Terabytes per second, read and written, of a copy as large as the largest operands.
double copy_rate(unsigned long long seed) {
  const tt::Tensor x = tt::uniform({8192, 8192}, {.key = seed});
  const double bytes = 2.0 * 4.0 * static_cast<double>(x.size());
  return bytes / measure([&] { const tt::Tensor c = tt::copy_to(x, "GPU:0"); }).device / 1e6;
}

// Microseconds of a copy that moves so many bytes in all, half of them read. Each is measured once.
double copy_time(double bytes) {
  static std::map<double, double> known;
  const auto [at, is_new] = known.try_emplace(bytes);
  if (is_new) {
    const tt::Tensor x = tt::zeros({static_cast<std::int64_t>(bytes / 2)}, tt::DType::u8);
    at->second = measure([&] { const tt::Tensor c = tt::copy_to(x, "GPU:0"); }).device;
  }
  return at->second;
}

std::vector<std::int64_t> sizes_of(const tt::Tensor& x) {
  if (!x.is_defined()) return {};
  return {x.shape().begin(), x.shape().end()};
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  if (options.is_simulated) tt::simulate_gpus(1);
  const auto gpus = tt::list_physical_devices("GPU");
  if (!options.is_simulated && (gpus.empty() || tt::get_device_details(gpus.front()).backend != "cuda")) {
    std::fprintf(stderr, "gpu_matrix: no CUDA GPU here; nothing was measured\n");
    return 77;
  }
  const tt::DeviceScope on("GPU:0");
  const unsigned long long seed = std::random_device{}();
  using nlohmann::json;
  json absent = json::array();
  json rows = json::array();
  json refused = json::array();
  json wrong = json::array();
  for (const matrix::Entry& entry : matrix::entries()) {
    if (entry.ours == nullptr) absent.push_back(entry.name);
  }
  int skipped = 0;
  const double copy = copy_rate(seed);
  matrix::Store store(seed);
  const auto start = gpu::Clock::now();
  for (const Cell& cell : matrix::cells(options.filter, 8192)) {
    if (gpu::microseconds_since(start) > options.seconds * 1e6) {
      ++skipped;
      continue;
    }
    const std::string name = std::string(cell.entry->name) + ", " + std::string(tt::to_string(cell.dtype)) + ", " +
                             matrix::to_string(cell.layout) + ", " + std::to_string(cell.side) + " squared";
    try {
      const Given given = store.operands(cell);
      tt::synchronize();
      const auto called = gpu::Clock::now();
      const tt::Tensor result = cell.entry->ours(given.x, given.y, given.z);
      result.sync();
      const double first = gpu::microseconds_since(called) / 1e6;
      if (first > 2) {  // the CPU runs it, for want of a kernel; loading a library takes less
        refused.push_back(name + ": not timed, the first call took " + std::to_string(first) + " s");
        continue;
      }
      const std::string fault = cell.side > 1024 ? "" : difference(cell, given, result);
      if (!fault.empty()) {
        std::fprintf(stderr, "%s: %s\n", name.c_str(), fault.c_str());
        wrong.push_back(name + ": " + fault);
        continue;
      }
      const Times times = measure([&] { const tt::Tensor c = cell.entry->ours(given.x, given.y, given.z); });
      rows.push_back({{"op", cell.entry->name},
                      {"dtype", tt::to_string(cell.dtype)},
                      {"layout", matrix::to_string(cell.layout)},
                      {"size", cell.side * cell.side},
                      {"operands", matrix::to_string(cell.entry->operands)},
                      {"given", json::array({sizes_of(given.x), sizes_of(given.y), sizes_of(given.z)})},
                      {"theirs", cell.entry->theirs},
                      {"is_pass", cell.entry->kind == Kind::pass},
                      {"bytes", matrix::bytes_moved(cell, given, result)},
                      {"shape", sizes_of(result)},
                      {"ours_us", times.device},
                      {"ours_host_us", times.host}});
      if (cell.side == 8192 && cell.entry->kind == Kind::pass) rows.back()["copy_us"] = copy_time(rows.back()["bytes"]);
    } catch (const std::exception& error) {
      refused.push_back(name + ": " + error.what());
    }
  }
  std::printf("%zu cells in %.0f s; %zu refused, %zu differ from the CPU, %d skipped for want of time\n", rows.size(),
              gpu::microseconds_since(start) / 1e6, refused.size(), wrong.size(), skipped);
  const tt::DeviceDetails details = tt::get_device_details(gpus.front());
  const json all{{"benchmark", "ops_matrix"},
                 {"device", details.device_name},
                 {"driver", details.driver},
                 {"copy_rate", copy},
                 {"cells", rows},
                 {"absent", absent},
                 {"refused", refused},
                 {"wrong", wrong},
                 {"skipped", skipped},
                 {"seed", seed}};
  std::ofstream(options.json) << all.dump(1, ' ', false, json::error_handler_t::replace) << '\n';
  return wrong.empty() ? 0 : 1;
}
