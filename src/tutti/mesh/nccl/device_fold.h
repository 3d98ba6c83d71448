// Combines what the members gave, element by element, in their order, on the GPU: as fold.h does on the host, to the same bits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/tensor/dtype.h"

namespace tutti::nccl {

// The members' elements follow each other: `count` of the first, then of the second.
cudaError_t fold(const void* parts, std::size_t members, void* out, std::size_t count, DType dtype, Reduction reduction,
                 cudaStream_t stream);

}  // namespace tutti::nccl
