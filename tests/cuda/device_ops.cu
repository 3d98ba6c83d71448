#include "cuda/device_ops.h"

#include <stdexcept>

#include "tutti/exec/dispatch.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::testing_cuda {

namespace {

using kernels::cuda::launch;
using kernels::cuda::queue_of;

__device__ void pass_time(std::int64_t nanoseconds) {
  const auto now = [] {
    std::uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return static_cast<std::int64_t>(time);
  };
  const std::int64_t begin = now();
  while (now() - begin < nanoseconds) __nanosleep(1000);
}

__global__ void slow_fill_kernel(std::int64_t* out, std::int64_t count, std::int64_t value, std::int64_t nanoseconds) {
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) out[i] = -1;
  __threadfence();
  __syncthreads();
  pass_time(nanoseconds);
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) out[i] = value;
}

__global__ void slow_copy_kernel(const std::int64_t* in, std::int64_t* out, std::int64_t count, std::int64_t nanoseconds) {
  pass_time(nanoseconds);
  __syncthreads();
  const volatile std::int64_t* source = in;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) out[i] = source[i];
}

// The address comes as an argument, so that the compiler cannot see what is wrong with it.
__global__ void misbehave_kernel(Misdeed misdeed, std::uint64_t nowhere, std::uint64_t somewhere) {
  switch (misdeed) {
    case Misdeed::bad_address: *reinterpret_cast<volatile int*>(nowhere) = 1; break;
    case Misdeed::bad_alignment: *reinterpret_cast<volatile std::int64_t*>(somewhere + 1) = 1; break;
    case Misdeed::trap: asm volatile("trap;"); break;
    default: break;
  }
}

struct SlowAttributes {
  std::int64_t value;
  std::int64_t nanoseconds;
};

void run_slow_fill(const KernelCall& call, KernelContext& context) {
  const auto [value, nanoseconds] = call.attributes->as<SlowAttributes>();
  launch<slow_fill_kernel>(queue_of(context), call, {.threads = dim3(256)}, call.out().as<std::int64_t>(), call.out().count(),
                           value, nanoseconds);
}

void run_slow_copy(const KernelCall& call, KernelContext& context) {
  launch<slow_copy_kernel>(queue_of(context), call, {.threads = dim3(256)}, call.in(0).as<const std::int64_t>(),
                           call.out().as<std::int64_t>(), call.out().count(), call.attributes->as<SlowAttributes>().nanoseconds);
}

void run_misbehave(const KernelCall& call, KernelContext& context) {
  const auto misdeed = call.attributes->as<Misdeed>();
  if (misdeed == Misdeed::throws) throw std::runtime_error("the kernel gave up before it was launched");
  const unsigned threads = misdeed == Misdeed::too_many_threads ? 4096 : 1;
  launch<misbehave_kernel>(queue_of(context), call, {.threads = dim3(threads)}, misdeed, std::uint64_t{64},
                           reinterpret_cast<std::uint64_t>(call.out().data));
}

void run_native(const KernelCall& call, KernelContext& context) {
  *call.attributes->as<std::uint64_t*>() = reinterpret_cast<std::uint64_t>(context.stream->native());
}

void infer_same(Inference& in) {
  in.expect_inputs(1);
  in.output(in.dtype(0), in.shape(0));
}

void infer_wanted(Inference& in) { in.output(in.wanted().dtype, in.wanted().shape); }

const OpRow& slow_fill_row = register_op({.name = "TestSlowFill", .infer = infer_wanted}, {.cuda = run_slow_fill});
const OpRow& slow_copy_row = register_op({.name = "TestSlowCopy", .infer = infer_same}, {.cuda = run_slow_copy});
const OpRow& misbehave_row = register_op({.name = misbehaving_op, .infer = infer_same}, {.cuda = run_misbehave});
const OpRow& native_row = register_op({.name = "TestNative", .infer = infer_same}, {.cuda = run_native});

std::int64_t nanoseconds_of(std::chrono::milliseconds duration) { return std::chrono::nanoseconds(duration).count(); }

}  // namespace

Tensor slow_fill(const Shape& shape, std::int64_t value, std::chrono::milliseconds duration, Site site) {
  const OutputSpec wanted{DType::i64, shape};
  OpCall call(slow_fill_row, site);
  call.wanted = &wanted;
  call.attributes = Attributes(SlowAttributes{value, nanoseconds_of(duration)});
  dispatch(call);
  return std::move(call.outputs[0]);
}

Tensor slow_copy(const Tensor& x, std::chrono::milliseconds duration, Site site) {
  return call_op(slow_copy_row, std::span(&x, 1), Attributes(SlowAttributes{0, nanoseconds_of(duration)}), site).at(0);
}

Tensor misbehave(const Tensor& x, Misdeed misdeed, Site site) {
  return call_op(misbehave_row, std::span(&x, 1), Attributes(misdeed), site).at(0);
}

std::uint64_t native_stream_seen_by_a_kernel(Site site) {
  static std::uint64_t seen = 0;
  const Tensor x = ones({1}, DType::f32, site);
  call_op(native_row, std::span(&x, 1), Attributes(&seen), site).at(0).sync({}, site);
  return seen;
}

}  // namespace tutti::testing_cuda
