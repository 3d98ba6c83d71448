#include "tutti/hal/device_stream.h"

#include <utility>

namespace tutti {

namespace {
// A loop that fails a million times and is never synced keeps the first failures: those are the origins.
constexpr std::size_t most_kept_failures = 64;

bool is_told(const DeviceStream::ReportedFailure& each) { return each.failure->is_told(); }
}  // namespace

DeviceStream::DeviceStream(Device& device, StreamOptions options)
    : device_(device), options_(options), id_(open_timeline(*this)), timeline_(timeline(id_)) {}

DeviceStream::~DeviceStream() { close_timeline(id_); }

std::shared_ptr<TimeMark> DeviceStream::make_time_mark() { return std::make_shared<HostTimeMark>(); }

std::vector<DeviceStream::ReportedFailure> DeviceStream::take_failures() {
  const std::lock_guard lock(failures_mutex_);
  std::erase_if(failures_, is_told);
  return std::exchange(failures_, {});
}

std::vector<DeviceStream::ReportedFailure> DeviceStream::take_failures(TimelinePoint up_to) {
  std::vector<ReportedFailure> taken;
  const std::lock_guard lock(failures_mutex_);
  std::erase_if(failures_, [&](ReportedFailure& each) {
    if (is_told(each)) return true;
    if (each.point.stream != up_to.stream || each.point.value > up_to.value) return false;
    taken.push_back(std::move(each));
    return true;
  });
  return taken;
}

void DeviceStream::report(FailureRef failure, TimelinePoint point) {
  const std::lock_guard lock(failures_mutex_);
  if (failures_.size() == most_kept_failures) std::erase_if(failures_, is_told);
  if (failures_.size() < most_kept_failures) failures_.push_back({std::move(failure), point});
}

}  // namespace tutti
