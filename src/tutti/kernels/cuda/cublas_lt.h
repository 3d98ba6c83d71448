// cuBLASLt, opened when the first matrix product runs: the library itself loads and works without it.
#pragma once

#include <cublasLt.h>

#include "tutti/exec/kernel.h"

namespace tutti::kernels::cuda {

// The functions in use.
struct CublasLt {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtGetVersion) version;
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) get_config;
  decltype(&cublasLtMatmulDescInit_internal) init_desc;
  decltype(&cublasLtMatmulDescSetAttribute) set_desc;
  decltype(&cublasLtMatrixLayoutInit_internal) init_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatmulPreferenceInit_internal) init_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;

  // Throws KernelFailed: "cublasLtMatmul: the requested functionality is not supported".
  void check(cublasStatus_t status, const char* what, const KernelCall& call) const;
};

// Throws KernelFailed, which says what to install, where there is none. May block the first time.
const CublasLt& cublas_lt(const KernelCall& call);

// The device's one handle, which any thread may use; made on first use, with that device current.
cublasLtHandle_t cublas_lt_handle(int ordinal, const KernelCall& call);

}  // namespace tutti::kernels::cuda
