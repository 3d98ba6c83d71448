// The initialised runtime: its logical devices with their memory and streams. Made by first use, never destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tutti/hal/backend.h"
#include "tutti/hal/lifecycle.h"
#include "tutti/memory/device_memory.h"
#include "tutti/place/device_name.h"

namespace tutti {

// One bit per BackendKind.
using KernelMask = std::uint8_t;
constexpr KernelMask mask_of(BackendKind kind) noexcept { return static_cast<KernelMask>(1U << static_cast<unsigned>(kind)); }

class LogicalDevice {
 public:
  LogicalDevice(std::unique_ptr<Device> device, unsigned index, const DeviceMemoryOptions& memory);

  [[nodiscard]] Device& device() noexcept { return *device_; }
  [[nodiscard]] DeviceMemory& memory() noexcept { return memory_; }
  // Host memory this device copies from and to by itself; null: it takes any host memory. Its buffers belong to the CPU.
  [[nodiscard]] DeviceMemory* staging() noexcept { return staging_.get(); }
  void set_staging(std::unique_ptr<DeviceMemory> staging) noexcept { staging_ = std::move(staging); }
  [[nodiscard]] DeviceStream& default_stream() noexcept { return *default_stream_; }
  [[nodiscard]] const std::string& type() const noexcept { return device_->physical().type; }
  [[nodiscard]] unsigned index() const noexcept { return index_; }
  [[nodiscard]] const std::string& name() const noexcept { return device_->name(); }
  [[nodiscard]] bool has(KernelMask kernels) const noexcept { return (kernels & own_mask_) != 0; }
  // A field the name leaves out fits any.
  [[nodiscard]] bool fits(const DeviceSpec& spec) const noexcept;
  [[nodiscard]] bool is_cpu() const noexcept { return own_mask_ == mask_of(BackendKind::cpu); }

  // A stream nobody else has, and its return: it is lent again once it has drained.
  DeviceStream& lend_stream(const StreamOptions& options);
  // A queue of the hardware that someone else made; a stream of this device from now on.
  DeviceStream& adopt_stream(void* native, const StreamOptions& options, Site site);
  void take_back(DeviceStream& stream);
  [[nodiscard]] std::vector<DeviceStream*> streams();

 private:
  DeviceStream& keep(std::unique_ptr<DeviceStream> made);

  std::unique_ptr<Device> device_;
  unsigned index_;
  KernelMask own_mask_;
  DeviceMemory memory_;
  std::unique_ptr<DeviceMemory> staging_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DeviceStream>> streams_;
  std::vector<DeviceStream*> returned_;
  std::vector<std::pair<void*, DeviceStream*>> adopted_;
  DeviceStream* default_stream_;
};

class Runtime {
 public:
  Runtime(std::vector<std::unique_ptr<LogicalDevice>> devices, Site initialised_at);

  [[nodiscard]] Site initialised_at() const noexcept { return initialised_at_; }
  // GPUs first, then CPUs, by index: the order in which placement prefers them.
  [[nodiscard]] std::span<LogicalDevice* const> devices() const noexcept { return preferred_; }
  [[nodiscard]] LogicalDevice& of(const Device& device) const noexcept { return *by_id_[index_of(device.id())]; }
  // The first CPU: where the host stages data. There always is one.
  [[nodiscard]] LogicalDevice& cpu() const noexcept { return *cpu_; }

  // Everything submitted resolves; threads end. `drain`: it all runs first.
  void stop(bool drain, Site site);

 private:
  std::vector<std::unique_ptr<LogicalDevice>> by_id_;
  std::vector<LogicalDevice*> preferred_;
  LogicalDevice* cpu_ = nullptr;
  Site initialised_at_;
};

namespace detail {
extern std::atomic<Runtime*> runtime_instance;
Runtime& initialise(Site site);
}  // namespace detail

// Initialises on first use.
inline Runtime& runtime(Site site) {
  require_usable(site);
  Runtime* instance = detail::runtime_instance.load(std::memory_order_acquire);
  return instance != nullptr ? *instance : detail::initialise(site);
}
// Null before first use.
inline Runtime* runtime_if_initialised() noexcept { return detail::runtime_instance.load(std::memory_order_acquire); }

// The device a user names: "GPU:1", "/device:CPU:0", ... Throws UnknownDevice or, if it matches several, InvalidArgument.
LogicalDevice& find_device(std::string_view name, Site site);
// "/job:localhost/replica:0/task:0/device:CPU:0, ...": for messages.
std::string device_list(const Runtime& instance);
// For messages about a device that is not there: ". No GPU is visible; TUTTI_SIM_GPUS=1 ..." where that is why, else empty.
std::string how_to_have(const Runtime& instance, const DeviceSpec& spec);

// Runs what was submitted, ends the threads; afterwards every use throws InvalidState. Where nothing is finished for
// TUTTI_STALL_TIMEOUT (5 minutes), it cancels what has not started and throws DeadlineExceeded, which says what was pending. At
// exit the runtime does this by itself, without running what has not started.
void shutdown(Site site = {});

}  // namespace tutti
