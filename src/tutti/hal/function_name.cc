#include "tutti/hal/function_name.h"

#include <atomic>

namespace tutti {

namespace {
std::atomic<detail::FunctionOf> look_up{nullptr};
}  // namespace

const char* function_of(const char* op) noexcept {
  const detail::FunctionOf table = look_up.load(std::memory_order_acquire);
  return table != nullptr ? table(op) : op;
}

bool detail::look_up_functions_with(FunctionOf table) noexcept {
  look_up.store(table, std::memory_order_release);
  return true;
}

}  // namespace tutti
