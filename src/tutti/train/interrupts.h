// Ctrl-C while a training runs: the first one is counted, the next does what it always did.
#pragma once

#include <cstdint>

namespace tutti {

// While one lives, the first SIGINT is only noted; it also puts back what stood there before, as does the end of the last
// of them. A process that ignores the signal goes on ignoring it.
class Interrupts {
 public:
  explicit Interrupts(bool is_listening);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Since this one began.
  [[nodiscard]] bool came() const noexcept;

 private:
  bool is_listening_;
  std::uint32_t before_ = 0;
};

}  // namespace tutti
