#include "tutti/backends/cpu/memory_space.h"

namespace tutti {

CpuMemorySpace::CpuMemorySpace(std::size_t capacity) : capacity_(capacity), memory_(MappedRange::range_for(capacity)) {}

}  // namespace tutti
