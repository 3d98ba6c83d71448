// Exchange through sockets, between processes of any hosts. What goes over them is authenticated under the job's secret, and
// encrypted.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/engines/rendezvous.h"
#include "tutti/mesh/wire/secret.h"

namespace tutti {

struct SocketExchangeOptions {
  std::string address = "127.0.0.1";          // of this process, as the others reach it; what it listens on
  wire::Secret secret;                        // the job's; empty is refused
  bool encrypts = true;                       // false: strangers may read what goes to members that say so too, and not change it
  std::size_t chunk = std::size_t{1} << 20U;  // what is on its way at a time, in bytes; the same on all
  std::stop_token stop = {};                  // ends what still connects, at once
  std::vector<int> ranks = {};                // what errors call the members; none: by their places
  std::chrono::milliseconds silent_after{30'000};  // a member whose host answers nothing for so long cannot be reached
};

// Every member connects to every other. The rendezvous outlives the exchange: who gives up leaves word there for whom. Throws
// DeadlineExceeded or ExchangeFailed.
std::unique_ptr<Exchange> open_socket_exchange(Rendezvous& rendezvous, const std::string& key, int size, int index,
                                               Deadline deadline, const SocketExchangeOptions& options);

}  // namespace tutti
