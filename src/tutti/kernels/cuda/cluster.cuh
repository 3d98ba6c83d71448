// Blocks that run at the same time and write to each other's shared memory; a GPU has them from compute capability 9.0 on. One
// block alone is a cluster on any.
#pragma once

#include <cooperative_groups.h>

#include "tutti/backends/cuda/queue.h"

// Of a kernel: blocks that are neighbours along x, this many, are a cluster.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define TUTTI_CLUSTER_OF(blocks)
#else
#define TUTTI_CLUSTER_OF(blocks) __cluster_dims__(blocks, 1, 1)
#endif

namespace tutti::kernels::cuda {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
inline constexpr bool runs_clusters = true;
#else
inline constexpr bool runs_clusters = false;  // a kernel that is never launched there needs no body
#endif
inline bool has_clusters(const tutti::cuda::Queue& queue) { return queue.properties().major >= 9; }

template <int Blocks>
struct Cluster {
  [[nodiscard]] __device__ __forceinline__ int rank() const { return Blocks == 1 ? 0 : static_cast<int>(blockIdx.x) % Blocks; }
  // For all threads of all blocks: what they wrote before, into each other's memory too, is there.
  __device__ __forceinline__ void sync() const {
    if constexpr (Blocks == 1) {
      __syncthreads();
    } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
      cooperative_groups::this_cluster().sync();
#endif
    }
  }
  // Where `own`, in shared memory, lies in another block.
  template <class T>
  [[nodiscard]] __device__ __forceinline__ T* in_block(int block, T* own) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if constexpr (Blocks > 1) return cooperative_groups::this_cluster().map_shared_rank(own, block);
#endif
    return own;
  }
};

}  // namespace tutti::kernels::cuda
