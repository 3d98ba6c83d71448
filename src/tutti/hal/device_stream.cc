#include "tutti/hal/device_stream.h"

#include <utility>

namespace tutti {

namespace {
// A loop that fails a million times and is never synced keeps the first failures: those are the origins.
constexpr std::size_t most_kept_failures = 64;
}  // namespace

DeviceStream::DeviceStream(Device& device, StreamOptions options)
    : device_(device), options_(options), id_(open_timeline(*this)), timeline_(timeline(id_)) {}

DeviceStream::~DeviceStream() { retire_timeline(id_); }

std::shared_ptr<TimeMark> DeviceStream::make_time_mark() { return std::make_shared<HostTimeMark>(); }

std::vector<FailureRef> DeviceStream::take_failures() {
  const std::lock_guard lock(failures_mutex_);
  return std::exchange(failures_, {});
}

void DeviceStream::report(FailureRef failure) {
  const std::lock_guard lock(failures_mutex_);
  if (failures_.size() < most_kept_failures) failures_.push_back(std::move(failure));
}

}  // namespace tutti
