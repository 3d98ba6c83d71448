// Signals as data: read from a descriptor, by one loop, instead of interrupting any thread.
#pragma once

#include <optional>
#include <span>

namespace tutti::tools {

class SignalLine {
 public:
  // From here on these signals come this way only, in every thread started later. Before there are threads.
  explicit SignalLine(std::span<const int> signals);
  SignalLine(const SignalLine&) = delete;
  SignalLine& operator=(const SignalLine&) = delete;
  ~SignalLine();

  // Readable when one has come.
  [[nodiscard]] int descriptor() const noexcept { return line_; }
  [[nodiscard]] std::optional<int> next() const;

 private:
  int line_ = -1;
};

}  // namespace tutti::tools
