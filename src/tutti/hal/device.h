// A device as its backend opened it: memory, streams, and the cores its kernels may use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tutti/base/ids.h"
#include "tutti/hal/device_stream.h"
#include "tutti/hal/idle.h"
#include "tutti/hal/memory_space.h"
#include "tutti/hal/parallel.h"

namespace tutti {

// Which code runs on it. An op has at most one kernel for each.
enum class BackendKind : std::uint8_t { cpu, sim, cuda };
inline constexpr std::size_t backend_kinds = 3;

const char* to_string(BackendKind kind) noexcept;

// What enumeration finds, before any device is touched.
struct PhysicalDeviceInfo {
  BackendKind backend = BackendKind::cpu;
  std::string type;      // "CPU", "GPU"
  unsigned index = 0;    // among devices of its type
  unsigned ordinal = 0;  // the backend's own number for it
  std::string name;      // "AMD EPYC", "Simulated GPU"
  std::uint64_t memory_bytes = 0;
  int compute_major = 0;  // 0 where there is no such thing
  int compute_minor = 0;
  std::string driver;  // "580.159.04, CUDA 13.0"; empty where there is none
};

class Device {
 public:
  Device(DeviceId id, PhysicalDeviceInfo info, std::string full_name)
      : id_(id), info_(std::move(info)), name_(std::move(full_name)) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] DeviceId id() const noexcept { return id_; }
  [[nodiscard]] BackendKind backend() const noexcept { return info_.backend; }
  [[nodiscard]] const PhysicalDeviceInfo& physical() const noexcept { return info_; }
  // "/job:localhost/replica:0/task:0/device:GPU:0"; lives as long as the device, which is for ever.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  [[nodiscard]] virtual MemorySpace& memory() noexcept = 0;
  [[nodiscard]] virtual Parallel& parallel() noexcept = 0;
  virtual std::unique_ptr<DeviceStream> make_stream(const StreamOptions& options) = 0;
  // May an idle stream of this device be bypassed and the work be run by the calling thread?
  [[nodiscard]] virtual bool runs_in_caller() const noexcept = 0;
  // A queue of the hardware that someone else made and keeps alive. Throws InvalidArgument where there is no such thing.
  virtual std::unique_ptr<DeviceStream> adopt_stream(void* native, const StreamOptions& options, Site site);
  // Host memory this device copies from and to by itself; null: it takes any host memory.
  [[nodiscard]] virtual MemorySpace* staging() noexcept { return nullptr; }
  // Can it copy from and to this host memory by itself?
  [[nodiscard]] virtual bool reaches(const void* host, std::size_t bytes) noexcept;
  // What the driver itself takes of the device's memory for this process, as far as is known now.
  [[nodiscard]] virtual std::uint64_t context_bytes() const noexcept { return 0; }
  // Begun by the door, ended by whoever gives the device work.
  [[nodiscard]] detail::IdleSince& idle() noexcept { return idle_; }
  // Ends the device's threads. What has not started is cancelled; everything submitted resolves.
  virtual void stop() noexcept = 0;

 private:
  DeviceId id_;
  PhysicalDeviceInfo info_;
  std::string name_;
  detail::IdleSince idle_;
};

}  // namespace tutti
