// DLPack in and out: tensors shared with other libraries where they are, without a copy.
#pragma once

#include "tutti/tensor/tensor.h"

struct DLManagedTensor;  // <dlpack/dlpack.h>

namespace tutti {

// The tensor for another library. The memory lives until the deleter of what is returned was called, by any thread; nobody may
// write it. A pinned tensor goes out as one on the CPU; simulated GPUs are refused.
// `consumer_stream` (GPU only): the cudaStream_t that will use it waits for the value, and the host does not. Without one the
// host syncs unless the value is ready; it also does when work the value needs has not reached the GPU yet. The runtime does
// not see what the consumer does: it only keeps what that stream holds when the deleter is called before the memory's next use.
DLManagedTensor* to_dlpack(const Tensor& x, void* consumer_stream = nullptr, Site site = {});

// Another library's tensor, used in place on the CPU or on the first logical device of its GPU. Its deleter is called once,
// after the last use, by any thread; when this throws it is not called and the caller still owns it. Nobody may write the
// memory while the tensor lives.
// `producer_stream` (GPU only): the cudaStream_t that makes the data; the first use comes after what it holds now. Without
// one the data must be there. The legacy default stream is cudaStreamLegacy, 1.
Tensor from_dlpack(DLManagedTensor* tensor, void* producer_stream = nullptr, Site site = {});

}  // namespace tutti
