// A kind of hardware: finds its devices and opens them. Backends register themselves; an absent one registers nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tutti/hal/device.h"

namespace tutti {

struct OpenOptions {
  DeviceId id{};
  std::string full_name;
  std::uint64_t memory_limit = 0;  // 0: all the device has
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  [[nodiscard]] virtual BackendKind kind() const noexcept = 0;
  // Creates no context, starts no thread.
  [[nodiscard]] virtual std::vector<PhysicalDeviceInfo> enumerate() = 0;
  // Why enumerate() finds nothing, for people: "there is no NVIDIA driver". Empty: it finds something, or is not meant to.
  [[nodiscard]] virtual std::string why_none() const { return {}; }
  virtual std::unique_ptr<Device> open(const PhysicalDeviceInfo& info, const OpenOptions& options) = 0;
};

// The backend lives for ever. Called from a static initialiser.
bool register_backend(Backend& backend);
std::span<Backend* const> registered_backends() noexcept;

}  // namespace tutti
