// Loads the code of kernels that a library launches, before they are launched under a stream's lock.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace tutti::kernels::cuda {

// What `launch` puts on the stream it is given is recorded, its code loaded, and thrown away. Where that does not work, the
// first real launch loads it.
void load_code(const std::function<void(cudaStream_t stream)>& launch);

}  // namespace tutti::kernels::cuda
