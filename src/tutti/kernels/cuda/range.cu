#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cuda/cast.cuh"
#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

template <class T>
__device__ __forceinline__ T element_at(const RangeAttributes& range, std::int64_t i, std::int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(range.first) +
                          static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(range.by));
  } else {
    const bool is_last = range.has_last && i + 1 == count;
    return convert<T>(is_last ? range.last : __dadd_rn(range.start, __dmul_rn(static_cast<double>(i), range.step)));
  }
}

// 16 bytes a thread.
template <class T>
__global__ void range_kernel(T* out, std::int64_t count, bool is_aligned, RangeAttributes range) {
  constexpr int width = pack_width<T>;
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * width;
  if (first >= count) return;
  Pack<T, width> pack;
#pragma unroll
  for (int i = 0; i < width; ++i) pack.lane[i] = element_at<T>(range, first + i, count);
  if (is_aligned && first + width <= count) {
    *reinterpret_cast<Pack<T, width>*>(out + first) = pack;
    return;
  }
#pragma unroll
  for (int i = 0; i < width; ++i) {
    if (first + i < count) out[first + i] = pack.lane[i];
  }
}

}  // namespace

static void range(const KernelCall& call, KernelContext& context) {
  const Operand& out = call.out();
  const std::int64_t count = out.count();
  if (count == 0) return;
  Queue& queue = queue_of(context);
  visit_stored<numeric_dtypes>(out.dtype, [&]<class Stored>(Stored) {
    using T =
        typename std::conditional_t<std::is_integral_v<Stored>, std::make_unsigned<Stored>, std::type_identity<Stored>>::type;
    constexpr int width = pack_width<T>;
    launch<range_kernel<T>>(queue, call, grid_for((count + width - 1) / width, 1, queue), out.as<T>(), count,
                            is_aligned(out, pack_bytes), call.attributes->as<RangeAttributes>());
  });
}

static void leave_as_it_is(const KernelCall& /*call*/, KernelContext& /*context*/) {}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("Range", range, nullptr, numeric_dtypes) && register_cuda_kernel("Empty", leave_as_it_is);

}  // namespace tutti::kernels::cuda
