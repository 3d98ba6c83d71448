// A thread's share of a reduction, and the shares of several threads joined: by lanes, then by warps.
#pragma once

#include <type_traits>

#include "tutti/kernels/cuda/contiguous_share.cuh"
#include "tutti/kernels/cuda/lane_totals.cuh"
#include "tutti/kernels/cuda/math.cuh"
#include "tutti/kernels/cuda/reduction_plan.cuh"

namespace tutti::kernels::cuda {

// A double, rounded once to what is stored, by dtype.
__device__ __forceinline__ void store_rounded(void* out, DType dtype, std::int64_t at, double x) {
  if (dtype == DType::f16) {
    static_cast<__half*>(out)[at] = rounded<__half>(x);
  } else if (dtype == DType::bf16) {
    static_cast<__nv_bfloat16*>(out)[at] = rounded<__nv_bfloat16>(x);
  } else {
    store_as<double>(out, dtype, at, x);
  }
}

template <class R>
concept SharesItself = requires(const R& r, const ReductionTask& task) { r.share(task, task.outputs, task.length, task.length); };
template <class R>
concept HasSource = requires(const R& r, const ReductionTask& task) { r.source(task, task.length); };
// Kernels are compiled once for it, not for each way its elements may lie.
template <class R>
concept HasOneForm = SharesItself<R> || HasSource<R>;

// Of elements of 8 bytes: loads of 16 gain little over these.
template <class R>
struct InAnyLayout : R {
  using T = typename R::Element;
  __device__ __forceinline__ ScatteredElements<T> source(const ReductionTask& task, std::int64_t first) const {
    return {static_cast<const T*>(task.data) + first, task.reduced};
  }
};
// Of integers of four bytes at most; R is of ints.
template <class R>
struct OfIntegers : R {
  TagOf<int> dtype;
  __device__ __forceinline__ TaggedElements<int> source(const ReductionTask& task, std::int64_t first) const {
    return {task.data, first, task.reduced, dtype};
  }
};

// A thread's share of one output that `threads` threads work on.
template <bool is_side_by_side, class R>
__device__ __forceinline__ typename R::Total share_of_output(const ReductionTask& task, const R& r, std::int64_t output,
                                                             std::int64_t thread, std::int64_t threads) {
  if constexpr (SharesItself<R>) {
    return r.share(task, output, thread, threads);
  } else if constexpr (HasSource<R>) {
    return strided_share<4>(r, r.source(task, offset_of(task.kept, output)), thread, task.length, threads);
  } else {
    using T = typename R::Element;
    const T* first = static_cast<const T*>(task.data) + offset_of(task.kept, output);
    if constexpr (is_side_by_side) {
      return contiguous_share(r, first, task.length, thread, threads);
    } else {
      return strided_share<4>(r, ScatteredElements<T>{first, task.reduced}, thread, task.length, threads);
    }
  }
}

// The same of elements that are apart.
template <bool is_one_axis, class R>
__device__ __forceinline__ typename R::Total share_of_column(const ReductionTask& task, const R& r, std::int64_t output,
                                                             std::int64_t thread, std::int64_t threads) {
  if constexpr (is_one_axis && !HasOneForm<R>) {
    using T = typename R::Element;
    const T* first = static_cast<const T*>(task.data) + offset_of(task.kept, output);
    constexpr int in_flight = TakesGroups<R> ? 8 : 16;
    return strided_share<in_flight>(r, SteppedElements<T>{first, task.reduced.stride[0]}, thread, task.length, threads);
  } else {
    return share_of_output<false>(task, r, output, thread, threads);
  }
}

template <class R>
__device__ __forceinline__ void write_result(const ReductionTask& task, const R& r, std::int64_t output,
                                             const typename R::Total& total) {
  if constexpr (requires { r.write(task.out, output, total); }) {
    r.write(task.out, output, total);
  } else {
    static_cast<typename R::Out*>(task.out)[output] = r.finish(total);
  }
}

template <class R>
__device__ __forceinline__ void store_total(const ReductionTask& task, const R& r, std::int64_t output, std::int64_t part,
                                            const typename R::Total& total) {
  if (task.partials != nullptr) {
    static_cast<typename R::Total*>(task.partials)[output * task.output_step + part * task.partial_step] = total;
  } else {
    write_result(task, r, output, total);
  }
}

// Of a block, for its first thread.
template <int threads, class R>
__device__ __forceinline__ typename R::Total block_total(const R& r, const typename R::Total& mine) {
  constexpr int warps = threads / 32;
  __shared__ typename R::Total of_warps[warps];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto of_warp = lanes_total(r, mine, 32);
  __syncthreads();  // who still reads from the last time
  if (lane == 0) of_warps[threadIdx.x / 32] = of_warp;
  __syncthreads();
  if (threadIdx.x >= 32) return of_warp;
  return lanes_total(r, of_warps[lane % warps], warps);
}

}  // namespace tutti::kernels::cuda
