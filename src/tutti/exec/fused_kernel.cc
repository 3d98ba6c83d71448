#include "tutti/exec/fused_kernel.h"

#include <array>
#include <atomic>

namespace tutti {

namespace {
constinit std::array<std::atomic<FusedCompiler*>, backend_kinds> registered{};
}

void register_fused_compiler(BackendKind backend, FusedCompiler& compiler) noexcept {
  registered[static_cast<std::size_t>(backend)].store(&compiler, std::memory_order_release);
}

FusedCompiler* fused_compiler(BackendKind backend) noexcept {
  return registered[static_cast<std::size_t>(backend)].load(std::memory_order_acquire);
}

}  // namespace tutti
