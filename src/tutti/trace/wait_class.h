// What kind of wait a site of a traced program is, in the words of diag, by what was recorded and by the line itself.
#pragma once

#include <vector>

#include "tutti/diag/sync_class.h"

namespace tutti::tracing {

struct WaitSite;

// A class is given where the evidence covers every wait of the site. `sites`: all of them, for what a site refers to.
SyncVerdict classify(const WaitSite& site, const std::vector<WaitSite>& sites);

}  // namespace tutti::tracing
