#include "tutti/backends/cuda/memory_space.h"

#include <algorithm>
#include <new>

#include "tutti/base/environment.h"

namespace tutti {

using cuda::driver;
using cuda::VirtualRange;

CudaMemorySpace::CudaMemorySpace(cuda::Context& context, std::size_t capacity) : context_(context), capacity_(capacity) {
  constexpr std::size_t granule_bytes = VirtualRange::granule;
  if (const auto plain = environment_bytes("TUTTI_CUDA_PLAIN_MEMORY")) {
    is_plain_ = true;
    capacity_ = std::max<std::size_t>(1, std::min<std::size_t>(capacity, *plain) / granule_bytes) * granule_bytes;
    context_.enter(Site{});
    CUdeviceptr address = 0;
    // Room to begin at a whole granule.
    if (driver().cuMemAlloc(&address, capacity_ + granule_bytes) != CUDA_SUCCESS) throw std::bad_alloc();
    plain_ = reinterpret_cast<std::byte*>((address + granule_bytes - 1) / granule_bytes * granule_bytes);
    return;
  }
  // Twice the memory, so that holes left by trimming do not run the addresses out.
  if (!mapped_.reserve(2 * ((capacity + granule_bytes - 1) / granule_bytes * granule_bytes))) throw std::bad_alloc();
}

std::string CudaMemorySpace::map(std::size_t offset, std::size_t bytes) {
  if (const FailureRef loss = context_.loss()) return loss->reason;
  if (is_plain_) return {};
  context_.enter(Site{});
  CUmemLocation here{};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  here.id = context_.properties().ordinal;
  return mapped_.map(offset, bytes, here, std::span(&here, 1));
}

void CudaMemorySpace::unmap(std::size_t offset, std::size_t bytes) noexcept {
  if (!is_plain_ && !context_.is_lost()) mapped_.unmap(offset, bytes);
}

MemorySpace::Part CudaMemorySpace::releasable(std::size_t offset, std::size_t bytes) const noexcept {
  return is_plain_ ? Part{offset, 0} : mapped_.whole_pieces(offset, bytes);
}

}  // namespace tutti
