#include "tutti/hal/device.h"

#include <array>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti {

const char* to_string(BackendKind kind) noexcept {
  static constexpr std::array<const char*, backend_kinds> names{"cpu", "sim", "cuda"};
  return names[static_cast<std::size_t>(kind)];
}

std::unique_ptr<DeviceStream> Device::adopt_stream(void*, const StreamOptions&, Site site) {
  throw InvalidArgument(text("a stream made elsewhere can be wrapped on a CUDA device only; ", name_, " is a ",
                             to_string(info_.backend), " device"),
                        site);
}

bool Device::reaches(const void*, std::size_t) noexcept { return true; }

}  // namespace tutti
