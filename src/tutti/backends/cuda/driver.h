// The functions of NVIDIA's driver this backend uses, found when they are first needed: the library loads without a driver.
#pragma once

#include <cuda.h>

#include <string>

namespace tutti::cuda {

// The names are macros for the current version of each function; both the type and the symbol follow them.
#define TUTTI_DRIVER_FUNCTIONS(each)                                                                                             \
  each(cuInit) each(cuDriverGetVersion) each(cuGetErrorName) each(cuGetErrorString) each(cuDeviceGetCount) each(cuDeviceGet)     \
      each(cuDeviceGetName) each(cuDeviceGetAttribute) each(cuDeviceTotalMem) each(cuDeviceGetPCIBusId) each(cuDeviceGetUuid)    \
          each(cuDevicePrimaryCtxRetain) each(cuCtxGetCurrent) each(cuCtxSetCurrent) each(cuMemAddressReserve) each(cuMemCreate) \
              each(cuMemRelease) each(cuMemMap) each(cuMemUnmap) each(cuMemSetAccess) each(cuMemGetAllocationGranularity)        \
                  each(cuMemAlloc) each(cuMemFree) each(cuMemHostAlloc) each(cuPointerGetAttributes)                             \
                      each(cuStreamCreateWithPriority) each(cuStreamQuery) each(cuStreamWaitEvent) each(cuStreamWriteValue64)    \
                          each(cuLaunchKernel) each(cuEventCreate) each(cuEventDestroy) each(cuEventRecord) each(cuEventQuery)   \
                              each(cuEventElapsedTime) each(cuKernelGetLibrary) each(cuKernelGetFunction) each(cuFuncLoad)       \
                                  each(cuFuncIsLoaded) each(cuLibraryGetKernelCount) each(cuLibraryEnumerateKernels)             \
                                      each(cuStreamDestroy) each(cuStreamBeginCapture) each(cuStreamEndCapture)                  \
                                          each(cuGraphGetNodes) each(cuGraphNodeGetType) each(cuGraphKernelNodeGetParams)        \
                                              each(cuGraphDestroy) each(cuGraphInstantiate) each(cuGraphExecDestroy)             \
                                                  each(cuGraphLaunch) each(cuGraphExecKernelNodeSetParams)                       \
                                                      each(cuFuncGetParamInfo) each(cuMemFreeHost) each(cuLibraryLoadData)       \
                                                          each(cuLibraryGetKernel) each(cuStreamGetCaptureInfo)                  \
                                                              each(cuGraphNodeGetDependentNodes) each(cuGraphAddDependencies)    \
                                                                  each(cuGraphRemoveDependencies)

struct Driver {
#define TUTTI_DECLARE(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses): a name being declared
  TUTTI_DRIVER_FUNCTIONS(TUTTI_DECLARE)
#undef TUTTI_DECLARE

  // "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
  [[nodiscard]] std::string describe(CUresult result) const;
};

// Null where there is no driver or no GPU it can use; why_absent() then says so. Initialises the driver, creates no context.
const Driver* find_driver();
const std::string& why_absent();
// For code that runs only when there is a device, and so a driver.
const Driver& driver() noexcept;

}  // namespace tutti::cuda
