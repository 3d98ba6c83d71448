// Every blocking call into the CUDA driver or runtime that this process makes, told by CUPTI, and whether its thread was inside
// the door at that time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tutti::testing_cuda {

class BlockingCalls {
 public:
  // Watches from here on; one at a time. `why_not` says what CUPTI refused, and is empty if all is well.
  BlockingCalls();
  ~BlockingCalls();
  BlockingCalls(const BlockingCalls&) = delete;
  BlockingCalls& operator=(const BlockingCalls&) = delete;

  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }
  // By name of the call, with "(pageable memory)" behind it where that is what blocks. So far.
  [[nodiscard]] std::map<std::string, std::uint64_t> inside_door() const;
  [[nodiscard]] std::map<std::string, std::uint64_t> outside_door() const;
  // All calls, blocking or not: zero would mean that CUPTI told nothing.
  [[nodiscard]] std::uint64_t seen() const;
  // Kernels handed to the driver.
  [[nodiscard]] std::uint64_t launches() const;

 private:
  std::string why_not_;
};

// Does the driver or runtime function of this name hold the host up by itself?
bool is_blocking(const std::string& name);

}  // namespace tutti::testing_cuda
