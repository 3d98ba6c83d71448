// How a family of element-wise ops is compiled for every dtype it takes and enters the op table.
#pragma once

#include "tutti/kernels/cuda/elementwise_tagged.cuh"
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

template <class Function>
concept HasBoolForm = requires { typename Function::OfBools; };

// Integers have a function of their own, which may fail.
template <class Function>
concept HasIntegerForm = requires { Function::fault; };

// A scalar function over stored elements, or over what they are computed in: half precision is widened, worked on and rounded
// once. What a test gives is a bool.
template <class Function>
struct Applied {
  static constexpr bool is_costly = HasIntegerForm<Function> || requires { Function::is_heavy; };

  template <class X, class... More>
  __device__ __forceinline__ auto operator()(X x, More... more) const {
    const auto result = applied<Function>(ScalarMath<Working<X>>{}, widen(x), widen(more)...);
    if constexpr (Function::op.gives_bool) {
      return static_cast<bool>(result);
    } else {
      return narrow<X>(result);
    }
  }
};

template <class Function>
struct Checked {
  static constexpr bool is_costly = true;
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

// Kernels of their own have elements of the common dtypes that are dense and, where the function is a light one and elements have
// no more than four bytes, those that can be had in packs. The rest goes element by element. T is the type of the stored
// elements, U what they are taken for.
template <class F, class Out, class T, class U, std::size_t... k>
void run_scalar_op(const F& f, const KernelCall& call, Queue& queue, std::index_sequence<k...> numbers) {
  constexpr bool is_small = std::is_integral_v<T> && sizeof(T) < 4;
  constexpr bool has_dense = !is_small && !(is_costly<F> && sizeof(T) == 8);
  constexpr bool has_packs = has_dense && !is_costly<F> && sizeof(T) < 8;
  using Common = Common<T>;
  using Number = std::conditional_t<std::is_unsigned_v<U> && !std::is_same_v<T, StoredBool>, std::make_unsigned<Common>,
                                    std::type_identity<Common>>::type;
  if constexpr (has_dense) {
    if (launch_dense<F, Out, Repeat<U, k>...>(f, queue, call, numbers)) return;
  }
  const std::array<const Operand*, sizeof...(k) + 1> operands{&call.out(), &call.in(k)...};
  for_each_32_bit_part(collapse(operands), [&](const Axes& axes) {
    if constexpr (has_packs) {
      Axes packs = axes;
      const bool is_turned = may_turn<F, Repeat<U, k>...> && bring_forward_turned(packs);
      constexpr int width = pack_width<Out, U>;
      if (into_packs(packs, width, is_turned)) {
        return launch_strided<width, F, Out, Repeat<U, k>...>(f, queue, call, packs, is_turned, numbers,
                                                              source_of<U>(call.in(k), false)...);
      }
    }
    launch_tagged<F, Common, Number, sizeof...(k)>(axes, f, queue, call);
  });
}

// For T, the type of the stored elements.
template <int inputs, class Function, class T>
void run_scalar_op(const KernelCall& call, KernelContext& context) {
  constexpr std::make_index_sequence<inputs> numbers;
  Queue& queue = queue_of(context);
  if (call.out().count() == 0) return;
  if constexpr (std::is_same_v<T, StoredBool> && HasBoolForm<Function>) {
    run_scalar_op<inputs, typename Function::OfBools, T>(call, context);
  } else if constexpr (std::is_integral_v<T> && HasIntegerForm<Function>) {
    tutti::cuda::Trap* trap = queue.arm_trap([](const tutti::cuda::Trap&) { return std::string(Function::fault); });
    run_scalar_op<Checked<Function>, T, T, T>({trap}, call, queue, numbers);
  } else {
    using U = typename std::conditional_t<
        std::is_same_v<T, StoredBool>, std::type_identity<std::uint8_t>,
        std::conditional_t<std::is_integral_v<T> && Function::op.wraps, std::make_unsigned<T>, std::type_identity<T>>>::type;
    using Out = std::conditional_t<Function::op.gives_bool, std::uint8_t, U>;
    run_scalar_op<Applied<Function>, Out, T, U>({}, call, queue, numbers);
  }
}

template <int inputs, class Function>
void run_family_op(const KernelCall& call, KernelContext& context) {
  visit_stored<Function::op.takes>(call.in(0).dtype, [&]<class T>(T) { run_scalar_op<inputs, Function, T>(call, context); });
}

template <int inputs, class... F>
bool register_family(ScalarOps<inputs, F...>) {
  return (register_cuda_kernel(F::op.name, run_family_op<inputs, F>, nullptr, F::op.takes) && ...);
}

template <class... Families>
bool register_families(Families... families) {
  return (register_family(families) && ...);
}

}  // namespace tutti::kernels::cuda
