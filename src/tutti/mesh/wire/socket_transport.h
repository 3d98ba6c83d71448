// A socket that a TLS session speaks through.
#pragma once

#include <utility>

#include "tutti/mesh/wire/sockets.h"
#include "tutti/mesh/wire/tls.h"

namespace tutti::wire {

class SocketTransport final : public Transport {
 public:
  // Non-blocking.
  explicit SocketTransport(Descriptor made) noexcept : socket(std::move(made)) {}

  std::ptrdiff_t send(const char* data, std::size_t size) noexcept override;
  std::ptrdiff_t receive(char* data, std::size_t size) noexcept override;

  Descriptor socket;
};

}  // namespace tutti::wire
