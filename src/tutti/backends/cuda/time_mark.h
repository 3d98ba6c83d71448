// The device's own time on a stream: a CUDA event.
#pragma once

#include "tutti/backends/cuda/context.h"
#include "tutti/hal/time_mark.h"

namespace tutti::cuda {

class CudaTimeMark final : public TimeMark {
 public:
  explicit CudaTimeMark(Context& context);
  ~CudaTimeMark() override;

  void pass(DeviceStream& stream) noexcept override;
  [[nodiscard]] bool has_passed() const noexcept override { return has_passed_.load(std::memory_order_acquire); }
  [[nodiscard]] Nanoseconds time() const override;
  [[nodiscard]] Nanoseconds since(const TimeMark& earlier) const override;

 private:
  Context& context_;
  CUevent event_ = nullptr;
  std::atomic<bool> has_passed_{false};
};

}  // namespace tutti::cuda
