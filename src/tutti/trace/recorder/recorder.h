// What happens at each call of the driver that can hold up the host.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "tutti/trace/recorder/blocking_calls.h"
#include "tutti/trace/recorder/cupti_library.h"
#include "tutti/trace/recorder/output.h"
#include "tutti/trace/recorder/stacks.h"

namespace tutti::tracing {

std::uint64_t now() noexcept;  // CLOCK_MONOTONIC

// The calling thread is inside a call that is recorded.
bool is_in_call() noexcept;

struct Recorder {
  Output output;
  Stacks stacks{output};
  CuptiLibrary cupti;
  std::atomic<std::uint64_t> seen{0};
  std::atomic<std::uint64_t> unkept{0};       // waits that had no room
  std::atomic<std::uint64_t> unkept_work{0};  // records of the GPU that had none
  std::atomic<std::uint64_t> host_callbacks{0};

  static constexpr std::size_t most_functions = 4096;
  std::array<CallClass, most_functions> classes{};
  std::array<std::uint32_t, most_functions> names{};  // texts

  // Subscribes to what can block; what is in the way, or nothing.
  std::string subscribe();
  // What the GPU does from now on, too: written twice a second, and when the process ends.
  std::string record_work();
  void end_work();
  // Waits of Tutti's own, which poll a word that the GPU writes.
  static void listen_at_door();
  void begin_process(const std::string& command_line, bool records_work, std::uint32_t most_kib);
  void end_process();
  // Of the calling thread; its name goes to the file with its first wait.
  void add(WaitBody wait);
  // It slept until a host callback woke it, or a thread that one had woken. `caller`: who put it to sleep.
  void add_sleep(std::uint64_t begin, std::uint64_t end, std::uint64_t caller);
};

// The one of this process; lives for ever.
Recorder& recorder();

}  // namespace tutti::tracing
