#include "tutti/base/version.h"

namespace tutti {

const char* version() noexcept { return TUTTI_VERSION; }

}  // namespace tutti
