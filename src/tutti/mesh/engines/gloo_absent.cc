// Stands in for gloo_exchange.cc in a build without gloo.
#include "tutti/base/error.h"
#include "tutti/mesh/engines/gloo_exchange.h"

namespace tutti {

bool has_gloo() noexcept { return false; }

std::unique_ptr<Exchange> open_gloo_exchange(Rendezvous& /*rendezvous*/, const std::string& /*key*/, int /*size*/, int /*index*/,
                                             Deadline /*deadline*/, const GlooExchangeOptions& /*options*/) {
  throw InvalidState(
      "Processes that share no memory, as on several hosts, exchange tensors through gloo, which this build of tutti was made "
      "without: install libgloo-dev (Debian) and build with TUTTI_GLOO=ON.",
      Site());
}

}  // namespace tutti
