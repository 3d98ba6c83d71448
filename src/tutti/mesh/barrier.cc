#include "tutti/mesh/barrier.h"

#include <vector>

#include "tutti/base/text.h"
#include "tutti/exec/stream.h"
#include "tutti/hal/door.h"
#include "tutti/mesh/processes.h"

namespace tutti {

void barrier(const Mesh& mesh, const BarrierOptions& options, Site site) {
  const Deadline deadline = deadline_after(options.timeout);
  std::vector<DeviceStream*> streams;
  for (LogicalDevice* device : mesh.local_devices(site)) {
    const auto of_device = device->streams();
    streams.insert(streams.end(), of_device.begin(), of_device.end());
  }
  const std::string what = text("barrier '", printable(options.name), "'");
  if (mesh.clients(site).size() == 1) {
    sync_streams(streams, SyncReason::barrier, {.timeout = options.timeout}, site);
    return raise_failures(streams);
  }
  // Collectives between processes run on the host, whatever the mesh's devices are.
  for (DeviceStream* stream : runtime(site).cpu().streams()) {
    if (stream->options().may_block) streams.push_back(stream);
  }
  std::vector<TimelinePoint> points;
  points.reserve(streams.size());
  for (const DeviceStream* stream : streams) points.push_back(stream->last());
  {
    // The first one of the job also joins it.
    BlockingRegion region(SyncReason::barrier, site);
    detail::process_group(mesh.clients(site), site, deadline).barriers().meet(what, deadline, site, [&] {
      return region.await(points, deadline) == WaitResult::done;
    });
  }
  raise_failures(streams);
}

}  // namespace tutti
