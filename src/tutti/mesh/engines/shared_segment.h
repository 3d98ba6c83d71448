// Memory that several processes of one host map: nameless, so that nothing is left behind whenever and however they end.
#pragma once

#include <cstddef>
#include <string>

#include "tutti/base/clock.h"
#include "tutti/mesh/engines/rendezvous.h"

namespace tutti {

// A memfd. The others open it through /proc/<pid>/fd/<n> of the process that made it, which must still hold it then: processes of
// one host, one pid namespace and one user (or root). Where that is not so attach() says which of them differs; use sockets
// there.
class SharedSegment {
 public:
  // All zero, and there: no page of it can be refused later.
  static SharedSegment create(std::size_t bytes);
  // Throws InvalidState with the reason when the segment cannot be reached from this process.
  static SharedSegment attach(const std::string& location, std::size_t bytes);
  // One of the group creates and tells the others under the key.
  static SharedSegment meet(Rendezvous& rendezvous, const std::string& key, std::size_t bytes, bool creates, Deadline deadline);

  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;
  ~SharedSegment();

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  // For attach() in another process; of a segment created here.
  [[nodiscard]] std::string location() const;

 private:
  SharedSegment(int descriptor, std::size_t bytes);

  int descriptor_ = -1;
  std::size_t bytes_ = 0;
  void* data_ = nullptr;
};

}  // namespace tutti
