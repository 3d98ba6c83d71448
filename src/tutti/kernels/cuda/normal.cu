// Normal random numbers, bit for bit those of the CPU: its normal.cc says which words make which element.
#include "tutti/exec/box_muller.h"
#include "tutti/exec/philox.h"
#include "tutti/exec/random_attributes.h"
#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

// Every operation is rounded on its own: the compiler fuses none but mul_add. The host only has to be able to compile it.
#ifdef __CUDA_ARCH__
#define TUTTI_ROUNDED(on_device, on_host) on_device
#else
#define TUTTI_ROUNDED(on_device, on_host) on_host
#endif
template <class T>
struct RoundedMath;
template <>
struct RoundedMath<float> {
  __host__ __device__ static float mul(float a, float b) { return TUTTI_ROUNDED(__fmul_rn(a, b), a * b); }
  __host__ __device__ static float add(float a, float b) { return TUTTI_ROUNDED(__fadd_rn(a, b), a + b); }
  __host__ __device__ static float div(float a, float b) { return TUTTI_ROUNDED(__fdiv_rn(a, b), a / b); }
  __host__ __device__ static float mul_add(float a, float b, float c) {
    return TUTTI_ROUNDED(__fmaf_rn(a, b, c), __builtin_fmaf(a, b, c));
  }
  __device__ static float root(float x) { return __fsqrt_rn(x); }
};
template <>
struct RoundedMath<double> {
  __host__ __device__ static double mul(double a, double b) { return TUTTI_ROUNDED(__dmul_rn(a, b), a * b); }
  __host__ __device__ static double add(double a, double b) { return TUTTI_ROUNDED(__dadd_rn(a, b), a + b); }
  __host__ __device__ static double div(double a, double b) { return TUTTI_ROUNDED(__ddiv_rn(a, b), a / b); }
  __host__ __device__ static double mul_add(double a, double b, double c) {
    return TUTTI_ROUNDED(__fma_rn(a, b, c), __builtin_fma(a, b, c));
  }
  __device__ static double root(double x) { return __dsqrt_rn(x); }
};
#undef TUTTI_ROUNDED

// The numbers of one Philox block a thread.
template <class T>
__global__ void __launch_bounds__(256) normal_kernel(T* out, std::int64_t count, bool is_aligned, std::uint64_t key,
                                                     std::uint64_t counter, Working<T> mean, Working<T> stddev) {
  using F = Working<T>;
  using Math = RoundedMath<F>;
  constexpr int width = sizeof(T) == 8 ? 2 : 4;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at * width >= count) return;
  const Philox::Block words = Philox::block(key, counter + static_cast<std::uint64_t>(at));
  Pack<T, width> pack;
#pragma unroll
  for (int pair = 0; pair < width / 2; ++pair) {
    PolarNormal<F> drawn;
    if constexpr (sizeof(T) == 8) {
      drawn = BoxMuller<F, Math>::of(static_cast<std::uint64_t>(words[1]) << 32U | words[0],
                                     static_cast<std::uint64_t>(words[3]) << 32U | words[2]);
    } else {
      drawn = BoxMuller<F, Math>::of(words[2 * pair], words[2 * pair + 1]);
    }
    const F radius = Math::root(drawn.square);
    pack.lane[2 * pair] = narrow<T>(Math::add(Math::mul(Math::mul(radius, drawn.cosine), stddev), mean));
    pack.lane[2 * pair + 1] = narrow<T>(Math::add(Math::mul(Math::mul(radius, drawn.sine), stddev), mean));
  }
  if (is_aligned && (at + 1) * width <= count) {
    reinterpret_cast<Pack<T, width>*>(out)[at] = pack;
    return;
  }
#pragma unroll
  for (int i = 0; i < width; ++i) {
    if (at * width + i < count) out[at * width + i] = pack.lane[i];
  }
}

template <class T>
void draw_normal(const KernelCall& call, Queue& queue) {
  const auto draw = call.attributes->as<NormalAttributes>();
  const Operand& out = call.out();
  const std::int64_t count = out.count();
  if (count == 0) return;
  constexpr int width = sizeof(T) == 8 ? 2 : 4;
  launch<normal_kernel<T>>(queue, call, grid_for((count + width - 1) / width, 1, queue), out.as<T>(), count,
                           is_aligned(out, width * sizeof(T)), draw.key, draw.counter, static_cast<Working<T>>(draw.mean),
                           static_cast<Working<T>>(draw.stddev));
}

}  // namespace

static void random_normal(const KernelCall& call, KernelContext& context) {
  visit_stored<floating_dtypes>(call.out().dtype, [&]<class T>(T) { draw_normal<T>(call, queue_of(context)); });
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("RandomStandardNormal", random_normal, nullptr, floating_dtypes);

}  // namespace tutti::kernels::cuda
