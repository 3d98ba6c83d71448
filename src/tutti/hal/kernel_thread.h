// Marks the thread that is running a kernel, so that code which would wait there is refused instead of deadlocking.
#pragma once

namespace tutti {

bool is_inside_kernel() noexcept;

class InsideKernel {
 public:
  InsideKernel() noexcept;
  ~InsideKernel();
  InsideKernel(const InsideKernel&) = delete;
  InsideKernel& operator=(const InsideKernel&) = delete;

 private:
  bool before_;
};

}  // namespace tutti
