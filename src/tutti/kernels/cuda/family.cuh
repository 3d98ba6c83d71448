// How a family of element-wise ops is compiled for every dtype it takes and enters the op table.
#pragma once

#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/float_functions.cuh"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/trap.cuh"

namespace tutti::kernels::cuda {

template <class Function, class Math, class... V>
__device__ __forceinline__ auto applied(const Math& m, V... x) {
  if constexpr (std::is_same_v<Function, LogAddExp> && std::is_same_v<typename Math::Lane, float>) {
    return log_add_exp(x...);  // in one piece it takes half the instructions
  } else {
    return Function::apply(m, x...);
  }
}

// A scalar function over stored elements: half precision is widened, worked on and rounded once. What a test gives is a bool.
template <class Function, class Out>
struct Applied {
  template <class X, class... More>
  __device__ __forceinline__ Out operator()(X x, More... more) const {
    const auto result = applied<Function>(ScalarMath<Working<X>>{}, widen(x), widen(more)...);
    if constexpr (Function::op.gives_bool) {
      return static_cast<Out>(result ? 1 : 0);
    } else {
      return narrow<Out>(result);
    }
  }
};

template <class Function>
concept HasBoolForm = requires { typename Function::OfBools; };

// Integers have a function of their own, which may fail.
template <class Function>
concept HasIntegerForm = requires { Function::fault; };

template <class Function>
struct Checked {
  tutti::cuda::Trap* trap;

  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    bool fails = false;
    const T result = Function::of_integers(a, b, fails);
    if (fails) note(trap, 1, 0, 0);
    return result;
  }
};

template <class T, std::size_t>
using Repeat = T;

template <class Function, class Out, class T, std::size_t... k>
void run_scalar_op(const KernelCall& call, KernelContext& context, std::index_sequence<k...>) {
  run_elementwise<Applied<Function, Out>, Out, Repeat<T, k>...>(call, context);
}

// T: the type of the stored elements.
template <int inputs, class Function, class T>
void run_scalar_op(const KernelCall& call, KernelContext& context) {
  using Out = std::conditional_t<Function::op.gives_bool, std::uint8_t, T>;
  run_scalar_op<Function, Out, T>(call, context, std::make_index_sequence<inputs>{});
}

template <int inputs, class Function, DType dtype, class T>
void run_if_taken(const KernelCall& call, KernelContext& context) {
  if constexpr (!Function::op.takes.contains(dtype)) {
    refuse_dtype(call, dtype);
  } else if constexpr (dtype == DType::boolean && HasBoolForm<Function>) {
    run_scalar_op<inputs, typename Function::OfBools, T>(call, context);
  } else if constexpr (std::is_integral_v<T> && HasIntegerForm<Function>) {
    if (call.out().count() == 0) return;
    tutti::cuda::Trap* trap = queue_of(context).arm_trap([](const tutti::cuda::Trap&) { return std::string(Function::fault); });
    run_elementwise<Checked<Function>, T, T, T>(call, context, {trap});
  } else if constexpr (std::is_integral_v<T> && Function::op.wraps) {
    run_scalar_op<inputs, Function, std::make_unsigned_t<T>>(call, context);
  } else {
    run_scalar_op<inputs, Function, T>(call, context);
  }
}

template <int inputs, class Function>
void run_family_op(const KernelCall& call, KernelContext& context) {
  switch (call.in(0).dtype) {
    case DType::boolean: return run_if_taken<inputs, Function, DType::boolean, std::uint8_t>(call, context);
    case DType::u8: return run_if_taken<inputs, Function, DType::u8, std::uint8_t>(call, context);
    case DType::i8: return run_if_taken<inputs, Function, DType::i8, std::int8_t>(call, context);
    case DType::i16: return run_if_taken<inputs, Function, DType::i16, std::int16_t>(call, context);
    case DType::i32: return run_if_taken<inputs, Function, DType::i32, std::int32_t>(call, context);
    case DType::i64: return run_if_taken<inputs, Function, DType::i64, std::int64_t>(call, context);
    case DType::f16: return run_if_taken<inputs, Function, DType::f16, __half>(call, context);
    case DType::bf16: return run_if_taken<inputs, Function, DType::bf16, __nv_bfloat16>(call, context);
    case DType::f32: return run_if_taken<inputs, Function, DType::f32, float>(call, context);
    case DType::f64: return run_if_taken<inputs, Function, DType::f64, double>(call, context);
  }
}

template <int inputs, class... F>
bool register_family(ScalarOps<inputs, F...>) {
  return (register_cuda_kernel(F::op.name, run_family_op<inputs, F>, nullptr, F::op.takes) && ...);
}

}  // namespace tutti::kernels::cuda
