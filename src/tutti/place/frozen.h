// Where the configuration becomes the runtime, once.
#pragma once

#include "tutti/base/site.h"

namespace tutti {

class Runtime;

namespace detail {
// Opens the devices as configured and publishes the runtime; a second caller gets the first one's.
Runtime& initialise_frozen(Site site);
}  // namespace detail

}  // namespace tutti
