// What the host pays: enqueues, allocations, reads and syncs, each beside bare CUDA.
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "bare.h"
#include "timing.h"
#include "tutti/tutti.h"

namespace tt = tutti;

namespace gpu {

namespace {

constexpr int in_queue = 300;

struct Small {
  tt::Tensor a;
  tt::Tensor b;
};

Small make(unsigned long long seed) {
  Small out{tt::uniform({32, 32}, {.key = seed, .low = -1, .high = 1}),
            tt::uniform({32, 32}, {.key = seed + 1, .low = -1, .high = 1})};
  require(out.a.device().find("GPU:0") != std::string::npos, "the inputs are on " + out.a.device());
  const std::vector<float> a = tt::read<float>(out.a);
  const std::vector<float> b = tt::read<float>(out.b);
  const std::vector<float> c = tt::read<float>(tt::add(out.a, out.b));
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    require(c[i] == a[i] + b[i], "tutti adds wrongly");
    sum += a[i];
  }
  require(std::abs(tt::item<float>(tt::sum(out.a)) - sum) < 1e-3, "tutti sums wrongly");
  return out;
}

void enqueues(bare::Stream& bare, const Small& in) {
  pair(
      "enqueue_add", "us", 61,
      [&] {
        bare.sync();
        const double out = per_call(in_queue, [&](int) { bare.enqueue_add(); });
        bare.sync();
        return out;
      },
      [&] {
        tt::synchronize();
        const double out = per_call(in_queue, [&](int) { const tt::Tensor c = tt::add(in.a, in.b); });
        tt::synchronize();
        return out;
      });
  tt::Stream stream = tt::default_stream("GPU:0");
  tt::Event event;
  pair(
      "record_event", "us", 61,
      [&] {
        const double out = per_call(in_queue, [&](int) { bare.record_event(); });
        bare.sync();
        return out;
      },
      [&] {
        const tt::Tensor c = tt::add(in.a, in.b);  // something to record
        const double out = per_call(in_queue, [&](int) { event.record(stream); });
        tt::synchronize();
        return out;
      });
}

// The same sizes and lifetimes on every side: 50 live, one of them replaced by each call.
constexpr int live = 50;
constexpr int mixed_calls = 1000;
std::size_t mixed_bytes(int i) { return 4 * (static_cast<std::size_t>(i) * 7919 % 100000 + 1); }
std::size_t mixed_slot(int i) { return static_cast<std::size_t>(i) * 31 % live; }

void allocations(bare::Stream& bare) {
  tt::LogicalDevice& device = tt::find_device("GPU:0", {});
  tt::DeviceMemory& memory = device.memory();
  const tt::StreamId stream = tt::current_stream(device).id();
  pair(
      "allocate_4k", "us", 31,
      [&] {
        const double out = per_call(200, [&](int) { bare.free(bare.allocate(4096)); });
        bare.sync();
        return out;
      },
      [&] { return per_call(5000, [&](int) { (void)memory.allocate(4096, stream, {}); }); });
  pair(
      "allocate_mixed", "us", 15,
      [&] {
        std::array<void*, live> held{};
        const double out = per_call(mixed_calls, [&](int i) {
          void*& slot = held[mixed_slot(i)];
          if (slot != nullptr) bare.free(slot);
          slot = bare.allocate(mixed_bytes(i));
        });
        for (void* each : held) {
          if (each != nullptr) bare.free(each);
        }
        bare.sync();
        return out;
      },
      [&] {
        std::array<tt::Ref<tt::Buffer>, live> held;
        return per_call(mixed_calls, [&](int i) {
          held[mixed_slot(i)] = nullptr;
          held[mixed_slot(i)] = memory.allocate(mixed_bytes(i), stream, {});
        });
      });
}

void reads(bare::Stream& bare, const Small& in) {
  std::vector<double> again;
  volatile float sink = 0;
  bare.enqueue_add();
  pair(
      "item", "us", 1001,
      [&] {
        bare.sync();
        const auto start = Clock::now();
        sink = bare.read_scalar();
        return microseconds_since(start);
      },
      [&] {
        const tt::Tensor fresh = tt::sum(in.a);  // a value the host has never seen
        tt::synchronize();
        const auto start = Clock::now();
        sink = tt::item<float>(fresh);
        const double out = microseconds_since(start);
        const auto second = Clock::now();
        sink = tt::item<float>(fresh);
        again.push_back(microseconds_since(second));
        return out;
      });
  print("tutti", "item_again", median(again), "us");
}

// What reading one value per step adds to a step that keeps the GPU busy, when each is read while the next one runs.
void late_reads(bare::Stream& bare, unsigned long long seed) {
  constexpr int steps = 20;
  volatile float sink = 0;
  const auto bare_step = [&](bool reads) {
    bare.sync();
    const auto start = Clock::now();
    for (int i = 0; i < steps; ++i) {
      bare.enqueue_spin(300);
      bare.enqueue_add();
      if (!reads) continue;
      bare.send_scalar(i % 2);
      if (i > 0) sink = bare.await_scalar(1 - i % 2);
    }
    bare.sync();
    return microseconds_since(start) / steps;
  };
  const tt::Tensor x = tt::uniform({2048, 2048}, {.key = seed + 2, .low = -1, .high = 1});
  const auto step = [&](bool reads) {
    tt::synchronize();
    const auto start = Clock::now();
    std::optional<tt::Pending<float>> before;
    for (int i = 0; i < steps; ++i) {
      const tt::Tensor loss = tt::sum(tt::matmul(x, x));
      if (!reads) continue;
      const tt::Pending<float> now = tt::read_async<float>(loss);
      if (before) sink = before->get();
      before = now;
    }
    tt::synchronize();
    return microseconds_since(start) / steps;
  };
  pair(
      "late_read_extra", "us", 31, [&] { return -bare_step(false) + bare_step(true); },
      [&] { return -step(false) + step(true); });
}

void syncs(bare::Stream& bare, const Small& in) {
  const auto bare_add_and_sync = [&] {
    const auto start = Clock::now();
    bare.enqueue_add();
    bare.sync();
    return microseconds_since(start);
  };
  pair("add_sync", "us", 1001, bare_add_and_sync, [&] {
    tt::synchronize();
    const auto start = Clock::now();
    const tt::Tensor c = tt::add(in.a, in.b);
    tt::synchronize();
    return microseconds_since(start);
  });
  tt::Stream stream = tt::default_stream("GPU:0");
  pair("add_stream_sync", "us", 1001, bare_add_and_sync, [&] {
    tt::synchronize();
    const auto start = Clock::now();
    const tt::Tensor c = tt::add(in.a, in.b);
    stream.sync();
    return microseconds_since(start);
  });
  bare.sync_device();
  tt::synchronize();
  pair(
      "sync_idle", "us", 301, [&] { return per_call(10, [&](int) { bare.sync_device(); }); },
      [&] { return per_call(10, [&](int) { tt::synchronize(); }); });
}

}  // namespace

bool measure_host_side(unsigned long long seed) {
  bool all = true;
  const bool ready = attempt("host side", [&] {
    const Small in = make(seed);
    bare::Stream bare;
    require(bare.adds_right(), "bare CUDA adds wrongly");
    all = attempt("enqueues", [&] { enqueues(bare, in); }) && all;
    all = attempt("allocations", [&] { allocations(bare); }) && all;
    all = attempt("reads", [&] { reads(bare, in); }) && all;
    all = attempt("late reads", [&] { late_reads(bare, seed); }) && all;
    all = attempt("syncs", [&] { syncs(bare, in); }) && all;
  });
  return ready && all;
}

}  // namespace gpu
