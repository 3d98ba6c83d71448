// The steps of optimizers, over many parameters in one launch.
#include <algorithm>

#include "tutti/exec/optimizer_step.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/pack.cuh"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

constexpr int step_threads = 256;
constexpr int per_thread = 4;
constexpr std::int64_t most_elements = step_threads * per_thread;  // of a block
constexpr int most_parameters = 48;                                // of a launch: what its arguments have room for

template <class T, int states>
struct Parameters {
  struct Each {
    const T* in[2 + states];  // value, gradient, states
    T* out[1 + states];
    std::int64_t count;
  };
  int size = 0;
  unsigned first_block[most_parameters + 1] = {};
  Each each[most_parameters] = {};
};

template <class Step, class Attributes, class T, int states>
__global__ void __launch_bounds__(step_threads)
    step_kernel(Parameters<T, states> parameters, Attributes attributes, const float* rate, const std::int64_t* number) {
  __shared__ alignas(Step) unsigned char shared[sizeof(Step)];
  if (threadIdx.x == 0) new (shared) Step(attributes, *rate, static_cast<double>(*number));
  int at = 0;
  while (blockIdx.x >= parameters.first_block[at + 1]) ++at;
  const auto& mine = parameters.each[at];
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x - parameters.first_block[at]) * most_elements;
  // Everything is loaded before anything is stored: the compiler cannot know that they are apart.
  T loaded[per_thread][2 + states + 1] = {};
#pragma unroll
  for (int k = 0; k < per_thread; ++k) {
    const std::int64_t i = begin + threadIdx.x + k * step_threads;
#pragma unroll
    for (int s = 0; s < 2 + states; ++s) loaded[k][s] = i < mine.count ? mine.in[s][i] : T{0};
  }
  __syncthreads();
  const Step step = *reinterpret_cast<const Step*>(shared);
#pragma unroll
  for (int k = 0; k < per_thread; ++k) {
    const std::int64_t i = begin + threadIdx.x + k * step_threads;
    if (i >= mine.count) break;
    mine.out[0][i] = step(loaded[k][0], loaded[k][1], loaded[k] + 2);
#pragma unroll
    for (int s = 0; s < states; ++s) mine.out[1 + s][i] = loaded[k][2 + s];
  }
}

template <class Step, class T, int states, class Attributes>
void launch_step(const KernelCall& call, Queue& queue, const Attributes& attributes) {
  const float* rate = device_input(call, call.inputs - 2U).as<float>();
  const std::int64_t* number = device_input(call, call.inputs - 1U).as<std::int64_t>();
  const std::size_t all = call.outputs / (1 + states);
  for (std::size_t next = 0; next < all;) {
    Parameters<T, states> parameters;
    unsigned blocks = 0;
    for (; next < all && parameters.size < most_parameters; ++next) {
      const std::int64_t count = call.out(next * (1 + states)).count();
      if (count == 0) continue;
      auto& each = parameters.each[parameters.size];
      for (std::size_t i = 0; i < 2 + states; ++i) each.in[i] = device_input(call, next * (2 + states) + i).as<T>();
      for (std::size_t i = 0; i < 1 + states; ++i) each.out[i] = call.out(next * (1 + states) + i).as<T>();
      each.count = count;
      blocks += static_cast<unsigned>((count + most_elements - 1) / most_elements);
      parameters.first_block[++parameters.size] = blocks;
    }
    if (blocks == 0) continue;
    launch<step_kernel<Step, Attributes, T, states>>(queue, call, Grid{.blocks = dim3(blocks), .threads = dim3(step_threads)},
                                                     parameters, attributes, rate, number);
  }
}

template <template <class> class Step, class Attributes>
void run_step(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<Attributes>();
  visit_dtype<wide_floats>(call.in(0).dtype, [&]<class T>(T) {
    if constexpr (Step<T>::most_states == 1) {
      if (attributes.states() == 0) return launch_step<Step<T>, T, 0>(call, queue_of(context), attributes);
    }
    launch_step<Step<T>, T, Step<T>::most_states>(call, queue_of(context), attributes);
  });
}

}  // namespace

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("ApplyGradientDescent", run_step<GradientDescentStep, GradientDescentAttributes>, nullptr,
                         wide_floats) &&
    register_cuda_kernel("ApplyAdam", run_step<AdamStep, AdamAttributes>, nullptr, wide_floats);

}  // namespace tutti::kernels::cuda
