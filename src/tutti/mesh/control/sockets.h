// The sockets of mesh/wire, under the names that the files of this module use.
#pragma once

#include "tutti/mesh/wire/sockets.h"

namespace tutti::control {

using wire::Address;
using wire::bound_address;
using wire::connect_once;
using wire::Descriptor;
using wire::listen_on;
using wire::send_at_once;
using wire::wait_until;

}  // namespace tutti::control
