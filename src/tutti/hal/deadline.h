// Syncs that end in success or in a list of what is still pending, per stream.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "tutti/hal/door.h"

namespace tutti {

class DeviceStream;

using Timeout = std::optional<std::chrono::nanoseconds>;

struct SyncOptions {
  Timeout timeout = {};              // none: wait as long as it takes
  Intent intent = Intent::unstated;  // what the wait is for, for the ledger
};

// Throws DeadlineExceeded, naming op, site and age of what has not finished; everything goes on running.
void sync_point(TimelinePoint point, const SyncRequest& request, Timeout timeout);
// All that was submitted to these streams before the call, under one deadline.
void sync_streams(std::span<DeviceStream* const> streams, SyncReason reason, const SyncOptions& options, Site site);

// "\n  stream 3 on ...: 2 pending\n    MatMul (running), submitted 12 ms ago at ...", for every stream that has work.
std::string pending_work(std::span<const TimelinePoint> points);

}  // namespace tutti
