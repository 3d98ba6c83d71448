#include "tutti/hal/kernel_thread.h"

namespace tutti {

namespace {
thread_local bool inside = false;
}

bool is_inside_kernel() noexcept { return inside; }
InsideKernel::InsideKernel() noexcept : before_(inside) { inside = true; }
InsideKernel::~InsideKernel() { inside = before_; }

}  // namespace tutti
