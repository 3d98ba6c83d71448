// Becoming a member: connecting, proving the secret both ways, taking the seat.
#pragma once

#include <memory>

#include "tutti/mesh/control/link.h"
#include "tutti/mesh/control/member.h"

namespace tutti::control {

std::shared_ptr<Link> join(const Membership& who, const MemberOptions& options, Site site);

}  // namespace tutti::control
