// Our side of convolutions and attention as networks have them, on GPU:0: every result is compared with the same in float64, then
// timed. networks.py adds PyTorch's.
// usage: gpu_networks TIMES.json [--seconds N] [--filter TEXT] [--any-order] [--log] [--simulated]
// (--any-order: set_deterministic(false); exit 77: there is no CUDA GPU; 1: some results are off)
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "timing.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/tutti.h"

namespace tt = tutti;

namespace {

struct Convolution {
  const char* network;
  std::int64_t batch, in, out, size, kernel, stride;
};
// Square images and kernels, padded so that a stride of 1 keeps the size.
constexpr Convolution convolutions[] = {
    {"ResNet-50", 32, 64, 64, 56, 3, 1},    {"ResNet-50", 32, 128, 128, 28, 3, 1}, {"ResNet-50", 32, 256, 256, 14, 3, 1},
    {"ResNet-50", 32, 512, 512, 7, 3, 1},   {"ResNet-50", 32, 64, 256, 56, 1, 1},  {"ResNet-50", 32, 512, 128, 28, 1, 1},
    {"ResNet-50", 32, 1024, 256, 14, 1, 1}, {"ResNet-50", 32, 3, 64, 224, 7, 2},   {"ResNet-50", 32, 128, 128, 56, 3, 2},
    {"U-Net", 4, 64, 64, 256, 3, 1},        {"U-Net", 4, 256, 256, 64, 3, 1},      {"U-Net", 4, 1024, 512, 32, 3, 1},
};
struct Attention {
  const char* network;
  std::int64_t batch, heads, length, features;
  bool causal;
  bool masked = false;  // sequences end 100, 200, ... places early
};
constexpr Attention attentions[] = {
    {"GPT-2", 8, 12, 1024, 64, true},         {"GPT-2", 8, 12, 1024, 64, false},        {"GPT-2", 8, 12, 1024, 64, false, true},
    {"long context", 1, 16, 4096, 128, true}, {"long context", 1, 16, 8192, 128, true},
};

struct Mode {
  const char* name;
  tt::DType dtype;
  bool tf32;
  double allowed;  // of the largest element, for sums of a few thousand products
};
constexpr Mode modes[] = {{"bf16", tt::DType::bf16, false, 1.5e-2},
                          {"f16", tt::DType::f16, false, 2e-3},
                          {"tf32", tt::DType::f32, true, 5e-3},
                          {"f32", tt::DType::f32, false, 1e-4}};

tt::Tensor drawn(const tt::Shape& shape, std::uint64_t key, tt::DType dtype) {
  return tt::cast(tt::uniform(shape, {.key = key, .low = -1, .high = 1}), dtype);
}

double measured(const std::function<void()>& function) {
  const double once = tt::bench(function, {.warm_up = 2, .samples = 1, .calls_per_sample = 2}).end_to_end.median;
  const int calls = static_cast<int>(std::clamp(4e6 / once, 2.0, 100.0));
  return tt::bench(function, {.warm_up = 2, .samples = 5, .calls_per_sample = calls}).device.median / 1e3;
}

double error_of(const tt::Tensor& found, const tt::Tensor& exact) {
  const tt::Tensor wide = tt::cast(found, tt::DType::f64);
  return tt::item<double>(tt::max(tt::abs(wide - exact))) / (tt::item<double>(tt::max(tt::abs(exact))) + 1e-30);
}

tt::Tensor call(const char* row, const tt::Tensor& a, const tt::Tensor& b, const tt::ConvolutionAttributes& attributes) {
  tt::OpCall made(tt::find_op(row), {});
  made.add(a);
  made.add(b);
  made.attributes = tt::Attributes(attributes);
  return tt::dispatch_one(made);
}

tt::ConvolutionAttributes attributes_of(const Convolution& c, bool tf32) {
  const std::int64_t padding = c.kernel / 2;
  const std::int64_t outputs = (c.size + 2 * padding - c.kernel) / c.stride + 1;
  const tt::WindowAxis axis{c.size, c.kernel, c.stride, padding, 1, outputs};
  return {{axis, axis}, 1, tf32, tt::is_deterministic()};
}

struct Times {
  nlohmann::json rows = nlohmann::json::array();
  int wrong = 0;
  void add(const std::string& name, const std::string& part, const Mode& mode, bool is_last, double us, double error,
           nlohmann::json shape) {
    const bool is_wrong = !(error <= mode.allowed);
    wrong += is_wrong ? 1 : 0;
    std::printf("%-34s %-10s %-5s %-14s %9.1f us, error %.1e%s\n", name.c_str(), part.c_str(), mode.name,
                is_last ? "channels last" : "", us, error, is_wrong ? "  WRONG" : "");
    std::fflush(stdout);
    rows.push_back({{"name", name},
                    {"part", part},
                    {"mode", mode.name},
                    {"channels_last", is_last},
                    {"us", us},
                    {"error", error},
                    {"shape", std::move(shape)}});
  }
};

void measure(const Convolution& c, const Mode& mode, bool is_last, Times& times) {
  const auto attributes = attributes_of(c, mode.tf32);
  const std::int64_t outputs = attributes.window.y.outputs;
  const auto laid = [&](const tt::Tensor& x) { return is_last ? tt::channels_last(x) : x; };
  const std::string name = std::string(c.network) + " " + std::to_string(c.in) + "->" + std::to_string(c.out) + " " +
                           std::to_string(c.kernel) + "x" + std::to_string(c.kernel) + "/" + std::to_string(c.stride) + " @" +
                           std::to_string(c.size);
  struct Part {
    const char* name;
    const char* row;
    tt::Shape a, b;
  };
  const auto parts = [&](std::int64_t batch) {
    const tt::Shape x{batch, c.in, c.size, c.size};
    const tt::Shape w{c.out, c.in, c.kernel, c.kernel};
    const tt::Shape y{batch, c.out, outputs, outputs};
    return std::vector<Part>{
        {"forward", "Conv2D", x, w}, {"of images", "Conv2DBackpropInput", w, y}, {"of weight", "Conv2DBackpropFilter", x, y}};
  };
  for (std::size_t i = 0; i < 3; ++i) {
    if (c.in == 3 && i == 1) continue;  // nobody asks for the gradient of the first layer's images
    const Part few = parts(2)[i];
    const tt::Tensor a = drawn(few.a, 1, mode.dtype);
    const tt::Tensor b = drawn(few.b, 2, mode.dtype);
    const tt::Tensor exact = call(few.row, tt::cast(a, tt::DType::f64), tt::cast(b, tt::DType::f64), attributes);
    const double error = error_of(call(few.row, laid(a), laid(b), attributes), exact);
    const Part all = parts(c.batch)[i];
    const tt::Tensor first = laid(drawn(all.a, 3, mode.dtype));
    const tt::Tensor second = laid(drawn(all.b, 4, mode.dtype));
    const double us = measured([&] { const tt::Tensor out = call(all.row, first, second, attributes); });
    times.add(name, all.name, mode, is_last, us, error, {c.batch, c.in, c.out, c.size, c.kernel, c.stride});
  }
}

void measure(const Attention& c, const Mode& mode, Times& times) {
  const std::string name = std::string(c.network) + " " + std::to_string(c.batch) + "x" + std::to_string(c.heads) + "x" +
                           std::to_string(c.length) + "x" + std::to_string(c.features) + (c.causal ? " causal" : "") +
                           (c.masked ? " masked" : "");
  const auto mask_of = [&](std::int64_t batch) {
    const tt::Tensor ends = c.length - (tt::arange(batch) + 1) * 100;
    return c.masked ? tt::less(tt::arange(c.length), tt::reshape(ends, {batch, 1, 1, 1})) : tt::Tensor();
  };
  const tt::Tensor one_mask = mask_of(1), all_masks = mask_of(c.batch);
  const auto attend = [&](const tt::Tensor& q, const tt::Tensor& k, const tt::Tensor& v) {
    return tt::scaled_dot_product_attention(q, k, v, {.causal = c.causal, .mask = q.shape()[0] == 1 ? one_mask : all_masks});
  };
  const auto draw = [&](std::int64_t batch, std::uint64_t key, tt::DType dtype) {
    return drawn({batch, c.heads, c.length, c.features}, key, dtype);
  };
  const auto loss = [&](const tt::Tensor& q, const tt::Tensor& k, const tt::Tensor& v) {
    const tt::Tensor out = attend(q, k, v);
    return tt::sum(out * draw(q.shape()[0], 9, q.dtype()));
  };
  const tt::Tensor q = draw(1, 1, mode.dtype), k = draw(1, 2, mode.dtype), v = draw(1, 3, mode.dtype);
  const auto wide = [](const tt::Tensor& x) { return tt::cast(x, tt::DType::f64); };
  const auto exact = tt::value_and_grad<0, 1, 2>(loss)(wide(q), wide(k), wide(v)).grads;
  const auto found = tt::value_and_grad<0, 1, 2>(loss)(q, k, v).grads;
  const double backward =
      std::max({error_of(std::get<0>(found), std::get<0>(exact)), error_of(std::get<1>(found), std::get<1>(exact)),
                error_of(std::get<2>(found), std::get<2>(exact))});
  const double forward = error_of(attend(q, k, v), attend(wide(q), wide(k), wide(v)));
  const tt::Tensor all_q = draw(c.batch, 1, mode.dtype), all_k = draw(c.batch, 2, mode.dtype),
                   all_v = draw(c.batch, 3, mode.dtype);
  const tt::Tensor g = draw(c.batch, 4, mode.dtype);
  const nlohmann::json shape{c.batch, c.heads, c.length, c.features, c.causal, c.masked};
  times.add(name, "forward", mode, false, measured([&] { const tt::Tensor out = attend(all_q, all_k, all_v); }), forward, shape);
  // Both directions, less the first: the gradient of (out * g) is g, without a pass of its own.
  tt::Tape tape;
  tape.watch(all_q, all_k, all_v);
  tt::Tensor out;
  {
    const tt::Tape::Recording on(tape);
    out = attend(all_q, all_k, all_v);
  }
  const std::vector<tt::Tape::Wanted> wanted{{.tensor = &all_q}, {.tensor = &all_k}, {.tensor = &all_v}};
  times.add(name, "backward", mode, false, measured([&] { const auto grads = tape.gradients(out, wanted, g); }), backward, shape);
}

}  // namespace

int main(int argc, char** argv) {
  std::string json;
  std::string filter;
  double seconds = 60;
  bool is_simulated = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (word == "--filter" && i + 1 < argc) {
      filter = argv[++i];
    } else if (word == "--any-order") {
      tt::set_deterministic(false);
    } else if (word == "--log") {
      tt::set_log_level(tt::LogLevel::debug);
    } else if (word == "--simulated") {
      is_simulated = true;
    } else {
      json = word;
    }
  }
  if (json.empty()) {
    std::fprintf(stderr, "usage: gpu_networks TIMES.json [--seconds N] [--filter TEXT] [--any-order] [--log] [--simulated]\n");
    return 2;
  }
  if (is_simulated) tt::simulate_gpus(1);
  const auto gpus = tt::list_physical_devices("GPU");
  if (!is_simulated && (gpus.empty() || tt::get_device_details(gpus.front()).backend != "cuda")) {
    std::fprintf(stderr, "gpu_networks: no CUDA GPU here; nothing was measured\n");
    return 77;
  }
  const tt::DeviceScope on("GPU:0");
  const auto start = gpu::Clock::now();
  Times times;
  int skipped = 0;
  const auto attempt = [&](const std::string& what, const auto& body) {
    if (what.find(filter) == std::string::npos) return;
    if (gpu::microseconds_since(start) > seconds * 1e6) {
      ++skipped;
      return;
    }
    gpu::attempt(what.c_str(), body);
  };
  for (const Mode& mode : modes) {
    tt::set_allow_tf32(mode.tf32);
    for (const Attention& each : attentions) attempt(std::string("attention ") + mode.name, [&] { measure(each, mode, times); });
    if (mode.dtype == tt::DType::f16) continue;  // takes as long as bf16
    for (const Convolution& each : convolutions) {
      for (const bool is_last : {true, false})
        attempt(std::string("convolution ") + mode.name, [&] { measure(each, mode, is_last, times); });
    }
  }
  std::ofstream(json) << times.rows.dump(1) << '\n';
  if (skipped > 0) std::printf("%d left out: no time\n", skipped);
  return times.wrong > 0 ? 1 : 0;
}
