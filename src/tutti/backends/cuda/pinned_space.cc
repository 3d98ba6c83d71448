#include "tutti/backends/cuda/pinned_space.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

namespace tutti {

using cuda::driver;
using cuda::VirtualRange;

PinnedSpace::PinnedSpace(cuda::Context& context) : context_(context) {
  CUdevice device = 0;
  int can_map = 0;
  driver().cuDeviceGet(&device, context.properties().ordinal);
  driver().cuDeviceGetAttribute(&can_map, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
  if (can_map != 0) {
    int node = 0;
    driver().cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device);
    numa_node_ = std::max(node, 0);
    const auto physical = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (mapped_.reserve(std::max(slab_bytes, physical / VirtualRange::granule * VirtualRange::granule))) return;
  }
  void* memory = ::mmap(nullptr, slab_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  slab_ = static_cast<std::byte*>(memory);
}

std::string PinnedSpace::map(std::size_t offset, std::size_t bytes) {
  if (const FailureRef loss = context_.loss()) return loss->reason;
  context_.enter(Site{});
  if (!is_slab()) {
    std::array<CUmemLocation, 2> users{};
    users[0].type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    users[0].id = numa_node_;
    users[1].type = CU_MEM_LOCATION_TYPE_DEVICE;
    users[1].id = context_.properties().ordinal;
    return mapped_.map(offset, bytes, users[0], users);
  }
  if (is_registered_) return {};
  if (const cudaError_t result = cudaHostRegister(slab_, slab_bytes, cudaHostRegisterPortable); result != cudaSuccess)
    return cudaGetErrorString(result);
  is_registered_ = true;
  return {};
}

void PinnedSpace::unmap(std::size_t offset, std::size_t bytes) noexcept {
  if (!is_slab() && !context_.is_lost()) mapped_.unmap(offset, bytes);
}

MemorySpace::Part PinnedSpace::releasable(std::size_t offset, std::size_t bytes) const noexcept {
  return is_slab() ? Part{offset, 0} : mapped_.whole_pieces(offset, bytes);
}

}  // namespace tutti
