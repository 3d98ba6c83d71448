// The waits of a process as its user sees them: a copy and the wait for it are one, and each belongs to a place in the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/trace/format.h"
#include "tutti/trace/places.h"
#include "tutti/trace/trace_file.h"

namespace tutti::tracing {

struct HostWait {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;  // the driver's handle, or an event's; 0: the default stream or none
  std::uint32_t calls = 1;   // into the driver
  std::uint32_t thread = 0;
  std::uint32_t stack = 0;
  std::uint32_t range = 0;        // text of its process: the NVTX ranges it was in
  std::uint32_t correlation = 0;  // of the copy, with the work that it led to
  std::size_t process = 0;
  std::size_t site = 0;
  WaitKind kind{};
  CopyDirection direction{};
  HostMemory memory{};
  bool is_of_worker = false;  // of a thread that is neither the main one nor runs Python, in a program that does
  bool is_warm_up = false;    // before the steps, or in those that are longer because they are the first
  std::uint64_t idle = 0;     // ns in which GPUs did nothing because of it, where their work was recorded

  [[nodiscard]] std::uint64_t time() const noexcept { return end - begin; }
};

// One place and one way to wait there.
struct SiteKey {
  Place place;
  std::string api;  // "cuMemcpyDtoHAsync_v2, cuStreamSynchronize"
  friend bool operator==(const SiteKey&, const SiteKey&) = default;
};

struct HostWaits {
  std::vector<HostWait> waits;  // by begin
  std::vector<SiteKey> sites;
  std::uint64_t host_callbacks = 0;
};

// Adds those of one process.
void add_waits(HostWaits& all, std::size_t process, const ProcessTrace& trace,
               const std::map<std::uint32_t, ResolvedStack>& stacks);

// What nobody asked for by a wait: memory and other resources, and loading of code.
bool is_driver_own(WaitKind kind) noexcept;

// "stream wait", "copy to the host"
std::string to_string(WaitKind kind, CopyDirection direction);

}  // namespace tutti::tracing
