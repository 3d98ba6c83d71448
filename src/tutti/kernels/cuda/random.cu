// Uniform random numbers, bit for bit those of the CPU: its random.cc says which words make which element.
#include <bit>

#include "tutti/exec/philox.h"
#include "tutti/exec/random_attributes.h"
#include "tutti/exec/uniform_bounds.h"
#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

// Product and sum are rounded one by one, never fused.
template <class T>
struct DrawFloating {
  UniformBounds<Working<T>> bounds;

  __device__ __forceinline__ T operator()(std::uint32_t word) const {
    constexpr unsigned dropped = std::is_same_v<T, float> ? 8 : std::is_same_v<T, __half> ? 21 : 24;
    constexpr float unit = std::is_same_v<T, float> ? 0x1p-24F : std::is_same_v<T, __half> ? 0x1p-11F : 0x1p-8F;
    const float scaled = __fmul_rn(__fmul_rn(static_cast<float>(word >> dropped), unit), bounds.span);
    return limited(narrow<T>(__fadd_rn(scaled, bounds.low)));
  }
  __device__ __forceinline__ T operator()(std::uint64_t bits) const {
    const double scaled = __dmul_rn(__dmul_rn(static_cast<double>(bits >> 11U), 0x1p-53), bounds.span);
    return limited(__dadd_rn(scaled, bounds.low));
  }
  __device__ __forceinline__ T limited(T x) const {
    const auto value = widen(x);
    const auto not_more = value > bounds.most ? bounds.most : value;
    return narrow<T>(not_more < bounds.least ? bounds.least : not_more);
  }
};

template <class T>
struct DrawInteger {
  UniformRange draw;

  __device__ __forceinline__ T operator()(std::uint32_t word) const {
    return static_cast<T>(draw.low + (word * draw.range >> 32U));
  }
  __device__ __forceinline__ T operator()(std::uint64_t bits) const {
    return static_cast<T>(draw.low + (draw.range == 0 ? bits : __umul64hi(bits, draw.range)));
  }
};

struct DrawBool {
  __device__ __forceinline__ std::uint8_t operator()(std::uint32_t word) const { return static_cast<std::uint8_t>(word >> 31U); }
};

// 16 bytes a thread, from as many Philox blocks as that takes.
template <class T, class Draw>
__global__ void uniform_kernel(T* out, std::int64_t count, bool is_aligned, std::uint64_t key, std::uint64_t counter, Draw draw) {
  constexpr int width = pack_width<T>;
  constexpr int per_block = sizeof(T) == 8 ? 2 : 4;
  constexpr int blocks = width / per_block;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at * width >= count) return;
  Pack<T, width> pack;
#pragma unroll
  for (int b = 0; b < blocks; ++b) {
    const Philox::Block words = Philox::block(key, counter + static_cast<std::uint64_t>(at * blocks + b));
#pragma unroll
    for (int i = 0; i < per_block; ++i) {
      if constexpr (sizeof(T) == 8) {
        pack.lane[i] = draw(static_cast<std::uint64_t>(words[2 * i + 1]) << 32U | words[2 * i]);
      } else {
        pack.lane[b * per_block + i] = draw(words[i]);
      }
    }
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

template <class T, class Draw, class Attributes>
void draw_all(const Attributes& attributes, const Draw& draw, const KernelCall& call, Queue& queue) {
  const Operand& out = call.out();
  const std::int64_t count = out.count();
  if (count == 0) return;
  constexpr int width = pack_width<T>;
  launch<uniform_kernel<T, Draw>>(queue, call, grid_for((count + width - 1) / width, 1, queue), out.as<T>(), count,
                                  is_aligned(out, pack_bytes), attributes.key, attributes.counter, draw);
}

// The dtype's own integers, of either sign.
template <class Attributes>
void draw_integers(const Attributes& attributes, const UniformRange& range, const KernelCall& call, Queue& queue) {
  visit_size(size_of(call.out().dtype), [&]<class U>(U) { draw_all<U>(attributes, DrawInteger<U>{range}, call, queue); });
}

// A word an element, whatever its size: the four of one Philox block a thread. U has the size of the elements.
template <class U>
__global__ void bernoulli_kernel(U* out, std::int64_t count, bool is_aligned, BernoulliAttributes draw, U one) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at * 4 >= count) return;
  const Philox::Block words = Philox::block(draw.key, draw.counter + static_cast<std::uint64_t>(at));
  Pack<U, 4> pack;
#pragma unroll
  for (int i = 0; i < 4; ++i) pack.lane[i] = words[i] < draw.threshold ? one : U{0};
  if (is_aligned && (at + 1) * 4 <= count) {
    reinterpret_cast<Pack<U, 4>*>(out)[at] = pack;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (at * 4 + i < count) out[at * 4 + i] = pack.lane[i];
  }
}

template <class U>
void draw_bernoulli(const KernelCall& call, Queue& queue, U one) {
  const Operand& out = call.out();
  const std::int64_t count = out.count();
  if (count == 0) return;
  launch<bernoulli_kernel<U>>(queue, call, grid_for((count + 3) / 4, 1, queue), out.as<U>(), count,
                              is_aligned(out, 4 * sizeof(U)), call.attributes->as<BernoulliAttributes>(), one);
}

}  // namespace

static void random_uniform(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<UniformAttributes>();
  Queue& queue = queue_of(context);
  const DType dtype = call.out().dtype;
  if (dtype == DType::boolean) return draw_all<std::uint8_t>(attributes, DrawBool{}, call, queue);
  if (!is_floating(dtype)) return draw_integers(attributes, range_of(attributes), call, queue);
  visit_dtype<floating_dtypes>(dtype, [&]<class Host>(Host) {  // bounds are worked out in the host's type
    using T = typename StoredElement<dtype_of<Host>>::type;
    draw_all<T>(attributes, DrawFloating<T>{bounds_of<Host, Working<T>>(attributes)}, call, queue);
  });
}

static void random_integers(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<RandomIntegerAttributes>();
  draw_integers(attributes, {attributes.low, attributes.range}, call, queue_of(context));
}

static void random_bernoulli(const KernelCall& call, KernelContext& context) {
  const DType dtype = call.out().dtype;
  std::uint64_t one = 0;  // the bits of it
  visit_dtype(dtype, [&one]<class T>(T) {
    const T value(1);
    std::memcpy(&one, &value, sizeof value);
  });
  visit_size(size_of(dtype), [&]<class U>(U) { draw_bernoulli(call, queue_of(context), static_cast<U>(one)); });
}

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("RandomUniform", random_uniform) &&
    register_cuda_kernel("RandomUniformInt", random_integers, nullptr, integer_dtypes) &&
    register_cuda_kernel("RandomBernoulli", random_bernoulli);

}  // namespace tutti::kernels::cuda
