// A barrier: when it returns, all work enqueued before it, on every device of every process of the mesh, is done.
#pragma once

#include <string>

#include "tutti/hal/deadline.h"
#include "tutti/mesh/control/meeting.h"
#include "tutti/mesh/mesh.h"

namespace tutti {

struct BarrierOptions {
  std::string name = "(barrier)";
  Timeout timeout =
      {};  // for all of it: roll call, draining, release. None: as long as it takes, with a line in the log every 10 s
};

// Only the processes of the mesh take part, and all of them in the same order of names. Throws BarrierTimeout, MemberLost,
// MeetingMismatch, MeetingDeadlock or JobAborted with the same report on every process that came; it can be tried again. A
// failure of a device's work that nobody has seen yet is thrown after the others were released.
void barrier(const Mesh& mesh, const BarrierOptions& options = {}, Site site = {});

}  // namespace tutti
