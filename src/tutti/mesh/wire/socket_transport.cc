#include "tutti/mesh/wire/socket_transport.h"

#include <sys/socket.h>

#include <cerrno>

namespace tutti::wire {

namespace {

std::ptrdiff_t moved_or_none_now(ssize_t moved) noexcept { return moved < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : moved; }

}  // namespace

std::ptrdiff_t SocketTransport::send(const char* data, std::size_t size) noexcept {
  return moved_or_none_now(::send(socket.get(), data, size, MSG_NOSIGNAL));
}

std::ptrdiff_t SocketTransport::receive(char* data, std::size_t size) noexcept {
  const ssize_t got = ::recv(socket.get(), data, size, 0);
  return got == 0 ? -1 : moved_or_none_now(got);
}

}  // namespace tutti::wire
