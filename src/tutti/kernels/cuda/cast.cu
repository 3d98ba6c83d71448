#include "tutti/kernels/cuda/cast.h"

#include "tutti/kernels/cuda/cast.cuh"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

// Any element as the widest of its kind, std::int64_t or double, which holds it exactly.
template <class Wide>
__device__ __forceinline__ Wide load_wide(const void* data, DType dtype, std::int64_t at) {
  const auto as = [&]<class T>(std::type_identity<T>) { return convert<Wide>(static_cast<const T*>(data)[at]); };
  if constexpr (std::is_same_v<Wide, double>) {
    switch (dtype) {
      case DType::f16: return as(std::type_identity<__half>{});
      case DType::bf16: return as(std::type_identity<__nv_bfloat16>{});
      case DType::f32: return as(std::type_identity<float>{});
      default: return as(std::type_identity<double>{});
    }
  } else {
    switch (dtype) {
      case DType::boolean: return as(std::type_identity<Truth>{});
      case DType::u8: return as(std::type_identity<std::uint8_t>{});
      case DType::i8: return as(std::type_identity<std::int8_t>{});
      case DType::i16: return as(std::type_identity<std::int16_t>{});
      case DType::i32: return as(std::type_identity<std::int32_t>{});
      default: return as(std::type_identity<std::int64_t>{});
    }
  }
}

template <class Wide>
__device__ __forceinline__ void store_wide(void* data, DType dtype, std::int64_t at, Wide x) {
  const auto as = [&]<class T>(std::type_identity<T>) { static_cast<T*>(data)[at] = convert<T>(x); };
  switch (dtype) {
    case DType::boolean: return as(std::type_identity<Truth>{});
    case DType::u8: return as(std::type_identity<std::uint8_t>{});
    case DType::i8: return as(std::type_identity<std::int8_t>{});
    case DType::i16: return as(std::type_identity<std::int16_t>{});
    case DType::i32: return as(std::type_identity<std::int32_t>{});
    case DType::i64: return as(std::type_identity<std::int64_t>{});
    case DType::f16: return as(std::type_identity<__half>{});
    case DType::bf16: return as(std::type_identity<__nv_bfloat16>{});
    case DType::f32: return as(std::type_identity<float>{});
    case DType::f64: return as(std::type_identity<double>{});
  }
}

// Every pair of dtypes in one kernel, for operands that lie in any way: rare enough not to deserve a kernel each.
template <class Wide, class Index>
__global__ void cast_strided_kernel(void* out, DType to, Source<std::uint64_t> in, DType from, Layout<Index, 2> layout) {
  constexpr int unroll = strided_unroll<1>;
  const Index first = static_cast<Index>(blockIdx.x) * blockDim.x * unroll + threadIdx.x;
  typename Layout<Index, 2>::Offset at[unroll][2];
  Wide x[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    const Index i = first + u * blockDim.x;
    if (i >= layout.count) continue;
    layout.locate(i, at[u]);
    x[u] = in.data == nullptr ? load_wide<Wide>(&in.value, from, 0) : load_wide<Wide>(in.data, from, at[u][1]);
  }
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    if (first + u * blockDim.x < layout.count) store_wide(out, to, at[u][0], x[u]);
  }
}

template <class Wide, class Index>
void cast_strided(const Axes& axes, Queue& queue, const KernelCall& call) {
  const Operand& in = call.in(0);
  Source<std::uint64_t> source{in.as<std::uint64_t>(), 0, 1};
  if (in.is_immediate) {
    std::memcpy(&source.value, in.data, size_of(in.dtype));
    source.data = nullptr;
  }
  launch<cast_strided_kernel<Wide, Index>>(queue, call, grid_for(axes.count(), strided_unroll<1>, queue), call.out().data,
                                           call.out().dtype, source, in.dtype, Layout<Index, 2>(axes));
}

}  // namespace

static void cast(const KernelCall& call, KernelContext& context) {
  const Operand& in = call.in(0);
  const Operand& out = call.out();
  Queue& queue = queue_of(context);
  if (in.dtype == out.dtype) return copy_operand(in, out, queue, call);
  if (out.count() == 0) return;
  if (is_floating(out.dtype) ? cast_dense_to_floating(call, queue) : cast_dense_to_integer(call, queue)) return;
  const std::array operands{&out, &in};
  const Axes axes = collapse(operands);
  const bool is_small = axes.fits_32_bits();
  if (is_floating(in.dtype)) {
    is_small ? cast_strided<double, std::uint32_t>(axes, queue, call) : cast_strided<double, std::uint64_t>(axes, queue, call);
  } else {
    is_small ? cast_strided<std::int64_t, std::uint32_t>(axes, queue, call)
             : cast_strided<std::int64_t, std::uint64_t>(axes, queue, call);
  }
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("Cast", cast);

}  // namespace tutti::kernels::cuda
