// Exchange through gloo's sockets, between processes of any hosts.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/engines/rendezvous.h"

namespace tutti {

struct GlooExchangeOptions {
  std::string address = "127.0.0.1";          // of this process, as the others reach it; what it listens on
  std::size_t chunk = std::size_t{4} << 20U;  // what is on its way at a time, in bytes; the same on all
  std::stop_token stop = {};                  // ends what still connects, at once
};

// Whether this build has gloo.
bool has_gloo() noexcept;

// Every member connects to every other. The rendezvous outlives the exchange: who gives up leaves word there for whom. Throws
// DeadlineExceeded or ExchangeFailed, and InvalidState in a build without gloo.
std::unique_ptr<Exchange> open_gloo_exchange(Rendezvous& rendezvous, const std::string& key, int size, int index,
                                             Deadline deadline, const GlooExchangeOptions& options = {});

}  // namespace tutti
