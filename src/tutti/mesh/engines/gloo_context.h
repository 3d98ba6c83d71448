// gloo's connections between all members, made in a way that can be ended: its own leaves the caller in a wait that nothing but
// its timeout ends. Sees gloo's headers; for gloo_channel.cc.
#pragma once

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include <gloo/context.h>
#include <gloo/transport/device.h>

#include "tutti/mesh/engines/rendezvous.h"

namespace tutti {

class GlooContext final : public gloo::Context {
 public:
  using gloo::Context::Context;  // (index, size)

  // Throws what gloo throws, what the rendezvous throws, and DeadlineExceeded or ExchangeFailed where the deadline passed or it
  // was told to stop.
  void connect(Rendezvous& rendezvous, const std::string& key, const std::shared_ptr<gloo::transport::Device>& device,
               Deadline deadline, const std::stop_token& stop);

 private:
  void close_all() noexcept;

  std::mutex mutex_;  // held while the pairs are made, and while they are closed
};

}  // namespace tutti
