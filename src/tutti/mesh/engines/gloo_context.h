// gloo's connections between all members, made in a way that can be ended: its own leaves the caller in a wait that nothing but
// its timeout ends. For gloo_channel.cc.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "tutti/mesh/engines/rendezvous.h"

namespace gloo {
class Context;
namespace transport {
class Device;
}
}  // namespace gloo

namespace tutti {

// Throws what gloo throws, what the rendezvous throws, and DeadlineExceeded or ExchangeFailed where the deadline passed or it was
// told to stop.
std::shared_ptr<gloo::Context> connect_all(int index, int size, const std::shared_ptr<gloo::transport::Device>& device,
                                           Rendezvous& rendezvous, const std::string& key, Deadline deadline,
                                           const std::stop_token& stop);

}  // namespace tutti
