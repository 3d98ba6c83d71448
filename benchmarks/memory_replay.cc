// Replays a log of allocations and frees through the pool and through malloc, and times the plain allocate+free loop.
//   memory_replay [--json FILE] [--quick] [--log FILE]
// A log has a line per call: "a SLOT BYTES" or "f SLOT"; without one a seeded mix of sizes and lifetimes is made.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "options.h"
#include "tutti/base/clock.h"
#include "tutti/hal/device.h"
#include "tutti/memory/device_memory.h"

namespace {

using tutti::Buffer;
using tutti::DeviceMemory;
using tutti::Ref;
using tutti::StreamId;

// Memory of the host as a device: the pool is timed, not a backend.
class HostSpace final : public tutti::MemorySpace {
 public:
  HostSpace() {
    base_ = static_cast<std::byte*>(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  ~HostSpace() override { ::munmap(base_, bytes); }
  [[nodiscard]] std::byte* base() const noexcept override { return base_; }
  [[nodiscard]] std::size_t range() const noexcept override { return bytes; }
  [[nodiscard]] std::size_t granule() const noexcept override { return std::size_t{2} << 20U; }
  [[nodiscard]] std::size_t capacity() const noexcept override { return bytes / 4; }
  [[nodiscard]] std::string map(std::size_t offset, std::size_t length) override {
    return ::mprotect(base_ + offset, length, PROT_READ | PROT_WRITE) == 0 ? "" : std::strerror(errno);
  }
  void unmap(std::size_t offset, std::size_t length) noexcept override { ::madvise(base_ + offset, length, MADV_DONTNEED); }
  [[nodiscard]] std::ptrdiff_t kernel_offset() const noexcept override { return 0; }
  [[nodiscard]] bool is_host_visible() const noexcept override { return true; }

 private:
  static constexpr std::size_t bytes = std::size_t{64} << 30U;
  std::byte* base_;
};

class HostDevice final : public tutti::Device {
 public:
  HostDevice() : Device(tutti::DeviceId{0}, {}, "/job:localhost/replica:0/task:0/device:CPU:0") {}
  [[nodiscard]] tutti::MemorySpace& memory() noexcept override { return space_; }
  [[nodiscard]] tutti::Parallel& parallel() noexcept override { return serial_; }
  std::unique_ptr<tutti::DeviceStream> make_stream(const tutti::StreamOptions&) override { return nullptr; }
  [[nodiscard]] bool runs_in_caller() const noexcept override { return true; }
  void stop() noexcept override {}

 private:
  HostSpace space_;
  tutti::Serial serial_;
};

// Its work is never done, so what it wrote stays in use: the case of a program that runs ahead of its device.
class BusyStream final : public tutti::DeviceStream {
 public:
  using DeviceStream::DeviceStream;
  ~BusyStream() override { own_timeline().advance(own_timeline().submitted()); }
  tutti::TimelinePoint next() {
    own_timeline().set_submitted(own_timeline().submitted() + 1);
    return last();
  }
  [[nodiscard]] tutti::TimelinePoint full_until(std::uint64_t) const override { return {}; }
  tutti::TimelinePoint submit(const tutti::Work&, std::span<const tutti::TimelinePoint>) override { return next(); }
  void kick() override {}
  bool block_until(std::uint64_t, tutti::Deadline) override { return true; }
  void cancel() override {}
  [[nodiscard]] std::vector<tutti::PendingWork> pending() const override { return {}; }
};

struct Call {
  std::uint32_t slot;
  bool frees;
  std::size_t bytes;
};

struct Log {
  std::vector<Call> calls;
  std::uint32_t slots = 0;
  std::string source;
};

// Mostly small tensors, some large; most live briefly, a few (weights) for long.
Log generated_log(std::uint64_t seed, std::size_t calls) {
  Log log{{}, 512, "generated, seed " + std::to_string(seed)};
  std::mt19937_64 random(seed);
  std::vector<bool> taken(log.slots);
  std::uniform_real_distribution<double> unit(0, 1);
  const auto size = [&] {
    const double kind = unit(random);
    const double low = kind < 0.6 ? 4 : kind < 0.9 ? 14 : 20;  // powers of two
    const double high = kind < 0.6 ? 14 : kind < 0.9 ? 20 : 24;
    return static_cast<std::size_t>(std::exp2(low + (high - low) * unit(random)));
  };
  while (log.calls.size() < calls) {
    // The square makes low slots busy and high ones long-lived.
    const auto slot = static_cast<std::uint32_t>(unit(random) * unit(random) * log.slots);
    log.calls.push_back({slot, taken[slot], taken[slot] ? 0 : size()});
    taken[slot] = !taken[slot];
  }
  return log;
}

Log read_log(const std::string& path) {
  Log log{{}, 0, path};
  std::ifstream in(path);
  std::string verb;
  while (in >> verb) {
    Call call{0, verb == "f", 0};
    in >> call.slot;
    if (!call.frees) in >> call.bytes;
    log.slots = std::max(log.slots, call.slot + 1);
    log.calls.push_back(call);
  }
  return log;
}

// Live blocks never overlap; without this a time means nothing.
bool is_sound(DeviceMemory& memory, const Log& log) {
  std::vector<Ref<Buffer>> held(log.slots);
  std::map<std::byte*, std::byte*> live;
  for (const Call& call : log.calls) {
    if (held[call.slot]) live.erase(held[call.slot]->address());
    held[call.slot] = nullptr;
    if (call.frees) continue;
    held[call.slot] = memory.allocate(call.bytes, StreamId::none, {});
    std::byte* begin = held[call.slot]->address();
    std::byte* end = begin + std::max<std::size_t>(1, call.bytes);
    const auto above = live.lower_bound(begin);
    if (above != live.end() && above->first < end) return false;
    if (above != live.begin() && std::prev(above)->second > begin) return false;
    live[begin] = end;
  }
  return true;
}

template <class Body>
double nanoseconds_per(std::size_t count, Body&& body) {
  std::vector<double> times;
  for (int round = 0; round < 9; ++round) {
    const tutti::Nanoseconds begin = tutti::now();
    body();
    times.push_back(static_cast<double>(tutti::now() - begin) / static_cast<double>(count));
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return times[4];
}

double replay_pool(DeviceMemory& memory, const Log& log) {
  std::vector<Ref<Buffer>> held(log.slots);
  return nanoseconds_per(log.calls.size(), [&] {
    for (const Call& call : log.calls) {
      held[call.slot] = call.frees ? Ref<Buffer>() : memory.allocate(call.bytes, StreamId::none, {});
    }
    std::fill(held.begin(), held.end(), nullptr);
  });
}

double replay_malloc(const Log& log) {
  std::vector<void*> held(log.slots);
  return nanoseconds_per(log.calls.size(), [&] {
    for (const Call& call : log.calls) {
      std::free(held[call.slot]);
      held[call.slot] = call.frees ? nullptr : std::malloc(call.bytes);
    }
    for (void*& pointer : held) std::free(std::exchange(pointer, nullptr));
  });
}

double loop_pool(DeviceMemory& memory, std::size_t bytes, std::size_t loop_count) {
  return nanoseconds_per(loop_count, [&] {
    for (std::size_t i = 0; i < loop_count; ++i) static_cast<void>(memory.allocate(bytes, StreamId::none, {}));
  });
}

double loop_in_flight(DeviceMemory& memory, BusyStream& stream, std::size_t bytes, std::size_t loop_count) {
  return nanoseconds_per(loop_count, [&] {
    for (std::size_t i = 0; i < loop_count; ++i) memory.allocate(bytes, stream.id(), {})->note_write(stream.next(), "benchmark");
  });
}

double loop_malloc(std::size_t bytes, std::size_t loop_count) {
  return nanoseconds_per(loop_count, [&] {
    for (std::size_t i = 0; i < loop_count; ++i) {
      void* volatile pointer = std::malloc(bytes);
      std::free(pointer);
    }
  });
}

struct Row {
  const char* name;
  double pool;
  double peer;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv, {"--log="});
  const std::string json_path = options.json();
  const std::string log_path = options.value("--log");
  const auto loop_count = static_cast<std::size_t>(options.calls(1'000'000));
  const Log log =
      log_path.empty() ? generated_log(20240607, static_cast<std::size_t>(options.calls(400'000))) : read_log(log_path);
  if (log.calls.empty()) {
    std::fprintf(stderr, "memory_replay: no calls in '%s'\n", log_path.c_str());
    return 1;
  }
  HostDevice device;
  DeviceMemory memory(device, {});
  if (!is_sound(memory, log)) {
    std::fprintf(stderr, "memory_replay: live blocks overlap; nothing was timed\n");
    return 1;
  }
  // A second thread, as in every program of ours: without one the C library makes locks cheaper than they are.
  std::atomic<bool> over{false};
  const std::jthread other([&] { over.wait(false); });
  BusyStream stream(device, {});
  const Row rows[] = {
      {"allocate + free 4 KiB", loop_pool(memory, 4096, loop_count), loop_malloc(4096, loop_count)},
      {"same, work in flight", loop_in_flight(memory, stream, 4096, loop_count), loop_malloc(4096, loop_count)},
      {"allocate + free 1 MiB", loop_pool(memory, 1U << 20U, loop_count), loop_malloc(1U << 20U, loop_count)},
      {"replay, per call", replay_pool(memory, log), replay_malloc(log)},
  };
  over = true;
  over.notify_all();
  const tutti::MemoryInfo info = memory.info();

  std::printf("log: %s, %zu calls; pool peak %.1f MiB in %.1f MiB mapped\n", log.source.c_str(), log.calls.size(),
              static_cast<double>(info.peak) / 1048576.0, static_cast<double>(info.reserved) / 1048576.0);
  std::printf("%-24s %10s %10s %8s\n", "nanoseconds", "tutti", "malloc", "ratio");
  for (const Row& row : rows) std::printf("%-24s %10.1f %10.1f %8.2f\n", row.name, row.pool, row.peer, row.pool / row.peer);

  std::string json = "{\"benchmark\": \"memory_replay\", \"calls\": " + std::to_string(log.calls.size()) + ", \"rows\": [";
  for (const Row& row : rows) {
    char line[200];
    std::snprintf(line, sizeof line, "%s{\"name\": \"%s\", \"tutti_ns\": %.2f, \"malloc_ns\": %.2f, \"ratio\": %.3f}",
                  &row == rows ? "" : ", ", row.name, row.pool, row.peer, row.pool / row.peer);
    json += line;
  }
  json += "]}\n";
  if (json_path.empty()) {
    std::fputs(json.c_str(), stdout);
  } else {
    std::ofstream(json_path) << json;
  }
  return 0;
}
