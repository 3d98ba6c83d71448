#include "tutti/kernels/cuda/attention_mask.h"

#include <algorithm>

#include "tutti/exec/attention_attributes.h"
#include "tutti/kernels/cuda/stored.cuh"

namespace tutti::kernels::cuda {

namespace {

inline constexpr int mask_threads = 256;
inline constexpr int mask_warps = mask_threads / 32;
inline constexpr std::int64_t slice_rows = 256;  // of what blind queries get or give, for a block

// What is not seen weighs nothing next to what is: of f16, where matches are not tens of thousands apart.
template <class T>
__device__ T unseen_bias() {
  return narrow<T>(std::is_same_v<T, __half> ? -65504.0F : unseen_match);
}

__device__ bool is_blind(const AttentionMask& mask, std::int64_t batch, std::int64_t head, std::int64_t query) {
  std::int64_t row = mask.sizes[0] > 1 ? batch : 0;
  row = row * mask.sizes[1] + (mask.sizes[1] > 1 ? head : 0);
  row = row * mask.sizes[2] + (mask.sizes[2] > 1 ? query : 0);
  const std::int64_t last = mask.causal && query < mask.keys ? query : mask.keys - 1;
  return mask.first_seen[row] > last;
}

template <class T>
__global__ void __launch_bounds__(mask_threads) bias_rows(AttentionMask mask, T* bias) {
  __shared__ unsigned long long first;
  const std::int64_t row_size = mask.row_size();
  for (std::int64_t row = blockIdx.x; row < mask.rows(); row += gridDim.x) {
    if (threadIdx.x == 0) first = static_cast<unsigned long long>(mask.keys);
    __syncthreads();
    const std::int64_t query = row % mask.sizes[2];
    const std::int64_t head = row / mask.sizes[2] % mask.sizes[1];
    const std::int64_t batch = row / mask.sizes[2] / mask.sizes[1];
    const std::uint8_t* const seen = mask.seen + batch * mask.strides[0] + head * mask.strides[1] + query * mask.strides[2];
    std::int64_t own = mask.keys;
    for (std::int64_t key = threadIdx.x; key < row_size; key += mask_threads) {
      const bool sees = key < mask.keys && seen[key * mask.strides[3]] != 0;
      if (sees && key < own) own = key;
      bias[row * row_size + key] = sees ? narrow<T>(0.0F) : unseen_bias<T>();
    }
    if (own < mask.keys) atomicMin(&first, static_cast<unsigned long long>(own));  // the least, in whatever order
    __syncthreads();
    if (threadIdx.x == 0) mask.first_seen[row] = static_cast<std::int64_t>(first);
  }
}

__global__ void __launch_bounds__(mask_threads) hide_sums(AttentionMask mask, const float* stats, float* to) {
  const std::int64_t all = mask.batches * mask.heads * mask.queries;
  for (std::int64_t i = blockIdx.x * std::int64_t{mask_threads} + threadIdx.x; i < all;
       i += std::int64_t{mask_threads} * gridDim.x) {
    const std::int64_t head = i / mask.queries;
    to[i] = is_blind(mask, head / mask.heads, head % mask.heads, i % mask.queries) ? -unseen_match : stats[i];
  }
}

// The mean of all values for blind queries; back, what those were given, in equal parts for all values. A block has a slice of
// the rows that get.
template <class T, bool is_gradient>
__global__ void __launch_bounds__(mask_threads)
    share_blind(AttentionMask mask, FeatureRows from, FeatureRows to, float* stats, std::int64_t width) {
  __shared__ float parts[mask_warps][32];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t sources = is_gradient ? mask.queries : mask.keys;
  const std::int64_t targets = is_gradient ? mask.keys : mask.queries;
  const std::int64_t slices = (targets + slice_rows - 1) / slice_rows;
  for (std::int64_t task = blockIdx.x; task < mask.batches * mask.heads * slices; task += gridDim.x) {
    const std::int64_t batch = task / slices / mask.heads;
    const std::int64_t head = task / slices % mask.heads;
    const std::int64_t first = task % slices * slice_rows;
    const std::int64_t last = first + slice_rows < targets ? first + slice_rows : targets;
    const auto blind = [&](std::int64_t query) { return is_blind(mask, batch, head, query); };
    bool any = false;
    const std::int64_t end = is_gradient ? mask.queries : last;
    for (std::int64_t query = (is_gradient ? 0 : first) + threadIdx.x; query < end; query += mask_threads)
      any = any || blind(query);
    if (__syncthreads_or(any) == 0) continue;
    const T* const source = reinterpret_cast<const T*>(from.data) + batch * from.strides[0] + head * from.strides[1];
    T* const target = reinterpret_cast<T*>(to.data) + batch * to.strides[0] + head * to.strides[1];
    for (std::int64_t feature = lane; feature - lane < width; feature += 32) {
      float sum = 0;
      for (std::int64_t row = warp; row < sources && feature < width; row += mask_warps) {
        if (!is_gradient || blind(row)) sum += widen(source[row * from.strides[2] + feature]);
      }
      parts[warp][lane] = sum;
      __syncthreads();
      float all = 0;
      for (int i = 0; i < mask_warps; ++i) all += parts[i][lane];
      __syncthreads();
      const float share = all / static_cast<float>(mask.keys);
      for (std::int64_t row = first + warp; row < last && feature < width; row += mask_warps) {
        T& at = target[row * to.strides[2] + feature];
        if constexpr (is_gradient) {
          at = narrow<T>(widen(at) + share);
        } else if (blind(row)) {
          at = narrow<T>(share);
        }
      }
    }
    for (std::int64_t query = first + threadIdx.x; !is_gradient && query < last; query += mask_threads) {
      if (blind(query)) stats[(batch * mask.heads + head) * mask.queries + query] = unseen_match;
    }
  }
}

Grid blocks_for(std::int64_t tasks) {
  return {dim3(static_cast<unsigned>(std::min<std::int64_t>(tasks, 1 << 30))), dim3(mask_threads)};
}

Grid slices_of(const AttentionMask& mask, std::int64_t targets) {
  return blocks_for(mask.batches * mask.heads * ((targets + slice_rows - 1) / slice_rows));
}

}  // namespace

void write_bias(const AttentionMask& mask, DType dtype, Queue& queue, const KernelCall& call) {
  visit_stored<half_dtypes>(dtype, [&]<class T>(T) {
    launch<bias_rows<T>>(queue, call, blocks_for(mask.rows()), mask, reinterpret_cast<T*>(mask.bias));
  });
}

void average_blind(const AttentionMask& mask, const FeatureRows& value, const FeatureRows& out, float* stats, std::int64_t width,
                   DType dtype, Queue& queue, const KernelCall& call) {
  visit_stored<half_dtypes>(dtype, [&]<class T>(T) {
    launch<share_blind<T, false>>(queue, call, slices_of(mask, mask.queries), mask, value, out, stats, width);
  });
}

void hide_blind(const AttentionMask& mask, const float* stats, float* to, Queue& queue, const KernelCall& call) {
  const std::int64_t all = mask.batches * mask.heads * mask.queries;
  launch<hide_sums>(queue, call, blocks_for((all + mask_threads - 1) / mask_threads), mask, stats, to);
}

void add_blind(const AttentionMask& mask, const FeatureRows& given, const FeatureRows& of_value, std::int64_t width, DType dtype,
               Queue& queue, const KernelCall& call) {
  visit_stored<half_dtypes>(dtype, [&]<class T>(T) {
    launch<share_blind<T, true>>(queue, call, slices_of(mask, mask.keys), mask, given, of_value, nullptr, width);
  });
}

}  // namespace tutti::kernels::cuda
