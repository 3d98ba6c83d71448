// What the GPU reaches through tutti: products, passes over memory, copies, and the loop of one random matrix and its square.
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "bare.h"
#include "timing.h"
#include "tutti/tutti.h"

namespace tt = tutti;

namespace gpu {

namespace {

using Function = std::function<void()>;

// Seconds per call on the device, several calls back to back.
double device_seconds(const Function& function, int samples = 9, int calls = 5) {
  const tt::BenchOptions options{.warm_up = 5, .samples = samples, .calls_per_sample = calls};
  return tt::bench(function, options).device.median / 1e9;
}

tt::Tensor random(const tt::Shape& shape, unsigned long long key, tt::DType dtype = tt::DType::f32, double low = -1) {
  return tt::uniform(shape, {.key = key, .low = low, .high = 1, .dtype = dtype});
}

std::vector<float> row(const tt::Tensor& x, std::int64_t index) {
  return tt::read<float>(tt::cast(tt::contiguous(tt::slice(x, 0, {.start = index, .stop = index + 1})), tt::DType::f32));
}

// A few rows and columns of the product against sums in double; the result itself may be rounded to a shorter format.
void check_product(const tt::Tensor& a, const tt::Tensor& b, const tt::Tensor& c, double tolerance, double rounding = 0) {
  const std::int64_t n = a.shape()[0];
  const tt::Tensor columns = tt::transpose(b);
  std::mt19937 pick(std::random_device{}());
  std::uniform_int_distribution<std::int64_t> any(0, n - 1);
  for (int i = 0; i < 4; ++i) {
    const std::int64_t at = any(pick);
    const std::vector<float> left = row(a, at);
    const std::vector<float> got = row(c, at);
    for (int j = 0; j < 8; ++j) {
      const std::int64_t column = any(pick);
      const std::vector<float> right = row(columns, column);
      double sum = 0;
      double size = 0;
      for (std::size_t k = 0; k < left.size(); ++k) {
        sum += static_cast<double>(left[k]) * right[k];
        size += std::abs(static_cast<double>(left[k]) * right[k]);
      }
      require(std::abs(got[static_cast<std::size_t>(column)] - sum) <= tolerance * size + rounding * std::abs(sum),
              "a matrix product is wrong");
    }
  }
}

void product(const char* name, unsigned long long seed, tt::DType dtype, bool tf32, double tolerance, double rounding) {
  constexpr std::int64_t n = 8192;
  const tt::Tensor a = random({n, n}, seed, dtype);
  const tt::Tensor b = random({n, n}, seed + 1, dtype);
  tt::set_allow_tf32(tf32);
  check_product(a, b, tt::matmul(a, b), tolerance, rounding);
  const double seconds = device_seconds([&] { const tt::Tensor c = tt::matmul(a, b); }, 9, 8);
  print("tutti", name, 2.0 * n * n * n / seconds / 1e12, "TFLOP/s");
}

// Two ends of the arrays, element by element.
void check_pass(const tt::Tensor& x, const tt::Tensor& y, const tt::Tensor& got, bare::Pass pass) {
  constexpr std::int64_t length = 1 << 20;
  for (const std::int64_t first : {std::int64_t{0}, x.size() - length}) {
    const tt::Range part{.start = first, .stop = first + length};
    const std::vector<float> a = tt::read<float>(tt::slice(x, 0, part));
    const std::vector<float> b = tt::read<float>(tt::slice(y, 0, part));
    const std::vector<float> c = tt::read<float>(tt::slice(got, 0, part));
    for (std::size_t i = 0; i < c.size(); ++i) {
      const double wanted = pass == bare::Pass::copy  ? a[i]
                            : pass == bare::Pass::add ? a[i] + b[i]
                                                      : std::exp(static_cast<double>(a[i]));
      require(std::abs(c[i] - wanted) <= 1e-6 * std::abs(wanted), "a pass over memory is wrong");
    }
  }
}

void passes(unsigned long long seed) {
  constexpr std::int64_t n = std::int64_t{1} << 28;  // 1 GiB each
  constexpr double bytes = 4.0 * n;
  const tt::Tensor x = random({n}, seed, tt::DType::f32, 0);
  const tt::Tensor y = random({n}, seed + 1, tt::DType::f32, 0);
  bare::DevicePasses bare(n);
  const auto compare = [&](const char* name, bare::Pass pass, double moved, const Function& ours) {
    require(bare.is_right(pass), "a bare CUDA pass is wrong");
    pair(
        name, "TB/s", 9, [&] { return moved / bare.seconds(pass, 5) / 1e12; },
        [&] { return moved / device_seconds(ours, 1, 5) / 1e12; });
  };
  {
    double wanted = 0;
    for (const float value : tt::read<float>(x)) wanted += value;
    require(std::abs(tt::item<float>(tt::sum(x)) - wanted) <= 1e-6 * wanted, "the sum of 1 GiB is wrong");
  }
  compare("sum_1g", bare::Pass::sum, bytes, [&] { const tt::Tensor c = tt::sum(x); });
  check_pass(x, y, tt::copy_to(x, "GPU:0"), bare::Pass::copy);
  compare("copy_1g", bare::Pass::copy, 2 * bytes, [&] { const tt::Tensor c = tt::copy_to(x, "GPU:0"); });
  check_pass(x, y, tt::add(x, y), bare::Pass::add);
  compare("add_1g", bare::Pass::add, 3 * bytes, [&] { const tt::Tensor c = tt::add(x, y); });
  check_pass(x, y, tt::exp(x), bare::Pass::exp);
  compare("exp_1g", bare::Pass::exp, 2 * bytes, [&] { const tt::Tensor c = tt::exp(x); });
}

void host_copies(unsigned long long seed) {
  constexpr std::int64_t n = std::int64_t{64} << 20;  // 256 MiB
  constexpr double bytes = 4.0 * n;
  const tt::Tensor on_gpu = random({n}, seed);
  const tt::Tensor pageable = tt::copy_to(on_gpu, "CPU:0");
  const tt::Tensor pinned = tt::pin(on_gpu, "GPU:0");
  require(tt::is_pinned(pinned), "there is no room for 256 MiB of pinned memory");
  bare::HostCopies bare(static_cast<std::size_t>(bytes));
  require(bare.copies_right(), "a bare CUDA copy is wrong");
  const std::vector<float> wanted = tt::read<float>(on_gpu);
  for (const tt::Tensor& each : {pageable, pinned, tt::copy_to(pageable, "GPU:0"), tt::copy_to(pinned, "GPU:0")}) {
    const std::vector<float> got = tt::read<float>(each);
    require(std::memcmp(got.data(), wanted.data(), static_cast<std::size_t>(bytes)) == 0, "a copy is wrong");
  }
  const auto rate = [&](const std::function<tt::Tensor()>& copy) {
    tt::sync_devices();
    const auto start = Clock::now();
    copy().sync();
    return bytes / microseconds_since(start) / 1e3;
  };
  const auto compare = [&](const char* name, const std::function<double()>& seconds, const std::function<tt::Tensor()>& copy) {
    pair(
        name, "GB/s", 9, [&] { return bytes / seconds() / 1e9; }, [&] { return rate(copy); });
  };
  compare(
      "h2d_pinned", [&] { return bare.to_device(true); }, [&] { return tt::copy_to(pinned, "GPU:0"); });
  compare(
      "d2h_pinned", [&] { return bare.to_host(true); }, [&] { return tt::pin(on_gpu, "GPU:0"); });
  compare(
      "h2d_pageable", [&] { return bare.to_device(false); }, [&] { return tt::copy_to(pageable, "GPU:0"); });
  compare(
      "d2h_pageable", [&] { return bare.to_host(false); }, [&] { return tt::copy_to(on_gpu, "CPU:0"); });
}

// Seconds per call on the device with a queue that never runs dry: everything is enqueued behind a long product.
double busy_seconds(const tt::Tensor& long_product, int calls, const std::function<void(int)>& function) {
  tt::Stream stream = tt::default_stream("GPU:0");
  tt::Event first({.timing = true});
  tt::Event last({.timing = true});
  tt::synchronize();
  const tt::Tensor before = tt::matmul(long_product, long_product);
  first.record(stream);
  for (int i = 0; i < calls; ++i) function(i);
  last.record(stream);
  last.sync();
  return static_cast<double>(tt::Event::elapsed(first, last).count()) / 1e9 / calls;
}

// A random matrix and its square, a thousand times: uniform numbers on every side.
void random_squares(unsigned long long seed) {
  constexpr int iterations = 1000;
  constexpr std::int64_t n = 1024;
  tt::set_allow_tf32(false);
  const auto draw = [&](int i) { return tt::uniform({n, n}, {.key = seed + static_cast<unsigned long long>(i)}); };
  const auto loop = [&](bool syncs) {
    tt::synchronize();
    const auto start = Clock::now();
    for (int i = 0; i < iterations; ++i) {
      const tt::Tensor x = draw(i);
      const tt::Tensor y = tt::matmul(x, x);
      if (syncs) tt::synchronize();
    }
    tt::synchronize();
    return microseconds_since(start) / 1e3;
  };
  const tt::Tensor x = draw(0);
  check_product(x, x, tt::matmul(x, x), 1e-5);
  const tt::Tensor large = random({8192, 8192}, seed + iterations);
  std::vector<double> floors;
  std::vector<double> times;
  std::vector<double> synced;
  loop(false);
  for (int round = 0; round < 5; ++round) {
    const double drawing = busy_seconds(large, 300, [&](int i) { const tt::Tensor c = draw(i); });
    const double squaring = busy_seconds(large, 300, [&](int) { const tt::Tensor c = tt::matmul(x, x); });
    floors.push_back((drawing + squaring) * iterations * 1e3);
    times.push_back(loop(false));
    synced.push_back(loop(true));
  }
  print("floor", "random_squares", median(floors), "ms");
  print("tutti", "random_squares", median(times), "ms");
  print("tutti", "random_squares_synced", median(synced), "ms");
}

}  // namespace

bool measure_throughput(unsigned long long seed) {
  bool all = attempt("bf16 product", [&] { product("matmul_bf16", seed, tt::DType::bf16, false, 1e-5, 1.0 / 256); });
  all = attempt("f32 product", [&] { product("matmul_f32", seed + 2, tt::DType::f32, false, 1e-6, 0); }) && all;
  all = attempt("tf32 product", [&] { product("matmul_tf32", seed + 4, tt::DType::f32, true, 1e-4, 0); }) && all;
  all = attempt("passes", [&] { passes(seed + 6); }) && all;
  all = attempt("host copies", [&] { host_copies(seed + 8); }) && all;
  return attempt("random squares", [&] { random_squares(seed + 10); }) && all;
}

}  // namespace gpu
