// Two ends of a connection in memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "tutti/mesh/wire/tls.h"

namespace tutti::wire {

class PipeTransport final : public Transport {
 public:
  PipeTransport(std::string& out, std::string& in) : out_(out), in_(in) {}

  std::ptrdiff_t send(const char* data, std::size_t size) noexcept override {
    out_.append(data, size);
    sent += size;
    return static_cast<std::ptrdiff_t>(size);
  }
  std::ptrdiff_t receive(char* data, std::size_t size) noexcept override {
    const std::size_t taken = in_.copy(data, size);
    in_.erase(0, taken);
    return static_cast<std::ptrdiff_t>(taken);
  }

  std::size_t sent = 0;

 private:
  std::string& out_;
  std::string& in_;
};

struct Pipes {
  std::string of_one;  // what it said and the other has not read
  std::string of_other;
  PipeTransport one{of_one, of_other};
  PipeTransport other{of_other, of_one};
};

}  // namespace tutti::wire
