#include "tutti/backends/sim/memory_space.h"

#include <cstdint>

#include "tutti/hal/fault.h"

namespace tutti {

SimMemorySpace::SimMemorySpace(std::size_t capacity)
    : capacity_(capacity), addresses_(MappedRange::range_for(capacity)), shadow_(MappedRange::range_for(capacity)) {}

std::string SimMemorySpace::map(std::size_t offset, std::size_t bytes) {
  if (detail::take_fault(FaultKind::allocation, "")) return "injected allocation failure";
  return shadow_.commit(offset, bytes);
}

std::ptrdiff_t SimMemorySpace::kernel_offset() const noexcept {
  return static_cast<std::ptrdiff_t>(reinterpret_cast<std::intptr_t>(shadow_.base()) -
                                     reinterpret_cast<std::intptr_t>(addresses_.base()));
}

}  // namespace tutti
