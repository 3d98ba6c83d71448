#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/kernels.h"

namespace tutti::kernels::cuda {

namespace {

template <class Function, class T>
void binary(const KernelCall& call, KernelContext& context) {
  run_elementwise<Applied<Function, T>, T, T, T>(call, context);
}

template <class T>
void rectify(const KernelCall& call, KernelContext& context) {
  run_elementwise<Applied<Relu, T>, T, T>(call, context);
}

// Sums and products of integers are taken without a sign: the same bits come out, and overflow is defined.
template <class Function, class OfBools>
void arithmetic(const KernelCall& call, KernelContext& context) {
  switch (call.out().dtype) {
    case DType::boolean: return binary<OfBools, std::uint8_t>(call, context);
    case DType::u8:
    case DType::i8: return binary<Function, std::uint8_t>(call, context);
    case DType::i16: return binary<Function, std::uint16_t>(call, context);
    case DType::i32: return binary<Function, std::uint32_t>(call, context);
    case DType::i64: return binary<Function, std::uint64_t>(call, context);
    case DType::f16: return binary<Function, __half>(call, context);
    case DType::bf16: return binary<Function, __nv_bfloat16>(call, context);
    case DType::f32: return binary<Function, float>(call, context);
    case DType::f64: return binary<Function, double>(call, context);
  }
}

}  // namespace

void add(const KernelCall& call, KernelContext& context) { arithmetic<Add, Either>(call, context); }

void multiply(const KernelCall& call, KernelContext& context) { arithmetic<Multiply, Both>(call, context); }

void relu(const KernelCall& call, KernelContext& context) {
  switch (call.out().dtype) {
    case DType::boolean: refuse_dtype(call, DType::boolean);
    case DType::u8: return copy_operand(call.in(0), call.out(), queue_of(context), call);  // none is below 0
    case DType::i8: return rectify<std::int8_t>(call, context);
    case DType::i16: return rectify<std::int16_t>(call, context);
    case DType::i32: return rectify<std::int32_t>(call, context);
    case DType::i64: return rectify<std::int64_t>(call, context);
    case DType::f16: return rectify<__half>(call, context);
    case DType::bf16: return rectify<__nv_bfloat16>(call, context);
    case DType::f32: return rectify<float>(call, context);
    case DType::f64: return rectify<double>(call, context);
  }
}

}  // namespace tutti::kernels::cuda
