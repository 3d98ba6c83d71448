#include "tutti/kernels/cuda/cast.cuh"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/tagged.cuh"

namespace tutti::kernels::cuda {

namespace {

// Pairs of dtypes that are cast often have a kernel each for dense operands: those that networks and masks are made of, and f32
// with each of the others.
constexpr DTypes usual{DType::boolean, DType::i32, DType::i64, DType::f16, DType::bf16, DType::f32};
constexpr bool is_usual(DType from, DType to) {
  return from != to && (usual.contains(from) || to == DType::f32) && (usual.contains(to) || from == DType::f32);
}

// Whether it was launched.
bool cast_dense(const KernelCall& call, Queue& queue) {
  if (!is_usual(call.in(0).dtype, call.out().dtype)) return false;
  return visit_dtype<any_dtype>(call.in(0).dtype, [&]<class HostFrom>(HostFrom) {
    return visit_dtype<any_dtype>(call.out().dtype, [&]<class HostTo>(HostTo) {
      if constexpr (is_usual(dtype_of<HostFrom>, dtype_of<HostTo>)) {
        using From = typename StoredElement<dtype_of<HostFrom>>::type;
        using To = typename StoredElement<dtype_of<HostTo>>::type;
        return launch_dense<Convert<To>, To, From>(Convert<To>{}, queue, call, std::index_sequence<0>{});
      } else {
        return false;
      }
    });
  });
}

template <class Wide, DType... to>
__device__ __forceinline__ void store_cast(void* data, DType dtype, std::int64_t at, Wide x) {
  static_assert(DTypes{to...} == any_dtype);
  const auto store_if = [&]<DType candidate>(std::integral_constant<DType, candidate>) {
    using T = typename StoredElement<candidate>::type;
    if (dtype == candidate) static_cast<T*>(data)[at] = convert<T>(x);
    return dtype == candidate;
  };
  (void)(store_if(std::integral_constant<DType, to>{}) || ...);
}
template <class Wide>
__device__ __forceinline__ void store_wide(void* data, DType dtype, std::int64_t at, Wide x) {
  store_cast<Wide, DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::f16, DType::bf16, DType::f32,
             DType::f64>(data, dtype, at, x);
}

// Every pair of dtypes in one kernel, for operands that lie in any way.
template <class Wide, class Index>
__global__ void cast_strided_kernel(void* out, DType to, Source<std::uint64_t> in, TagOf<Wide> from, Layout<Index, 2> layout) {
  constexpr int unroll = strided_unroll<1>;
  const Index first = static_cast<Index>(blockIdx.x) * blockDim.x * unroll + threadIdx.x;
  typename Layout<Index, 2>::Offset at[unroll][2];
  Wide x[unroll];
#pragma unroll
  for (int u = 0; u < unroll; ++u) {
    const Index i = first + u * blockDim.x;
    if (i >= layout.count) continue;
    layout.locate(i, at[u]);
    x[u] = in.data == nullptr ? load_as<Wide>(&in.value, from, 0) : load_as<Wide>(in.data, from, at[u][1]);
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
                                           call.out().dtype, source, TagOf<Wide>(in.dtype), Layout<Index, 2>(axes));
}

}  // namespace

static void cast(const KernelCall& call, KernelContext& context) {
  const Operand& in = call.in(0);
  const Operand& out = call.out();
  Queue& queue = queue_of(context);
  if (in.dtype == out.dtype) return copy_operand(in, out, queue, call);
  if (out.count() == 0) return;
  if (cast_dense(call, queue)) return;
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
