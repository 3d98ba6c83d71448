// From what a launcher said to a seat at the coordinator, whoever has to start it.
#pragma once

#include <memory>

#include "tutti/base/site.h"
#include "tutti/mesh/control/member.h"
#include "tutti/mesh/control/membership.h"

namespace tutti {

// Where rank 0 starts the coordinator: rank 0 does so unless one of this job lives, and the others find it, through the job's
// file or at its address. All within options.connect_timeout; throws what Member::join throws, InvalidState where no coordinator
// can be started, InvalidArgument for a process that is alone.
std::shared_ptr<Member> join_job(const Membership& who, const MemberOptions& options, Site site = {});

}  // namespace tutti
