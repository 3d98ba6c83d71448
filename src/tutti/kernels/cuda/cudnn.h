// cuDNN, opened when the first convolution or attention is prepared: without it our own kernels do the same, slower.
#pragma once

#include <cudnn_graph.h>

#include <mutex>

#include "tutti/exec/kernel.h"

namespace tutti::kernels::cuda {

// The functions in use.
struct Cudnn {
  decltype(&cudnnGetVersion) version;
  decltype(&cudnnGetErrorString) error_string;
  decltype(&cudnnGetLastErrorString) last_error;
  decltype(&cudnnCreate) create;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendSetAttribute) set_attribute;
  decltype(&cudnnBackendGetAttribute) get_attribute;
  decltype(&cudnnBackendExecute) execute;
};

// Null where there is none, or the environment says TUTTI_CUDNN=0. May block the first time.
const Cudnn* find_cudnn(Site site);

// The device's one handle. Whoever uses it holds the mutex, for the host's part of a launch.
struct CudnnHandle {
  cudnnHandle_t handle = nullptr;
  std::mutex mutex;
};
// Made on first use, with that device current; null where cuDNN refuses. The library must be there.
CudnnHandle* cudnn_handle(int ordinal, Site site);

}  // namespace tutti::kernels::cuda
