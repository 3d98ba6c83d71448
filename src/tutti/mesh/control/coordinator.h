// The coordinator: one thread, one epoll, no device. It runs in a process of its own, inside `tutti launch` or as the command
// `tutti coordinator`, so that the death of any rank is reported like that of any other.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "tutti/base/site.h"

namespace tutti {

struct CoordinatorOptions {
  std::string listen = "127.0.0.1:0";  // port 0: any that is free
  int world = 1;
  std::string job;
  std::string secret;  // one that could be guessed is refused
  std::chrono::milliseconds dead_after{10'000};
  std::chrono::milliseconds linger{2'000};  // after the last member has gone: for late questions
  // Some came and all of those have gone, but others never came.
  std::chrono::milliseconds absent_limit{60'000};
  // Nobody ever came: give up after this.
  std::chrono::milliseconds idle_limit{600'000};
  // What it will hold at most: values and keys of the store; what waits to be read by one member.
  std::size_t store_limit = std::size_t{64} << 20U;
  std::size_t unread_limit = std::size_t{8} << 20U;
  // A connection must have shown its knowledge of the secret and its rank within this.
  std::chrono::milliseconds greeting_limit{5'000};
};

class Coordinator {
 public:
  // Listens. Throws InvalidArgument, or InvalidState ("cannot listen on host:port: Address already in use").
  static std::unique_ptr<Coordinator> open(const CoordinatorOptions& options, Site site = {});

  Coordinator() = default;
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  virtual ~Coordinator() = default;

  // "127.0.0.1:41234"
  [[nodiscard]] virtual std::string address() const = 0;
  // Serves until all members have left, or stop(). Bounded memory, whatever it is sent.
  virtual void serve() = 0;
  // From any thread or signal handler.
  virtual void stop() noexcept = 0;
};

}  // namespace tutti
