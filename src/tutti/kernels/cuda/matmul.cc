#include <algorithm>
#include <limits>

#include "tutti/exec/attributes.h"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/dot.h"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/library_product.h"
#include "tutti/kernels/cuda/matmul_integer.h"
#include "tutti/kernels/cuda/operand_product.h"
#include "tutti/kernels/cuda/product.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

using Step = void (*)(LibraryProduct product, const ProductAddresses& at, Queue& queue, const KernelCall& call);

// The innermost axis of the batch goes to the library at once where it can take it; the others are gone through one by one.
void for_each_product(const Product& product, LibraryProduct key, std::byte* c, std::byte* workspace, Queue& queue,
                      const KernelCall& call, Step step, std::int64_t most_rounds = std::numeric_limits<std::int64_t>::max()) {
  const auto size = static_cast<std::int64_t>(size_of(key.dtype));
  std::size_t looped = product.batch_rank;
  if (looped > 0) {
    const BatchAxis& inner = product.batch[looped - 1];
    if (inner.a >= 0 && inner.b >= 0 && inner.size <= std::numeric_limits<std::int32_t>::max()) {
      --looped;
      key.batch = static_cast<std::int32_t>(inner.size);
      key.a_step = inner.a;
      key.b_step = inner.b;
      key.c_step = inner.c;
    }
  }
  std::int64_t rounds = 1;
  for (std::size_t i = 0; i < looped; ++i) rounds *= product.batch[i].size;
  for (std::int64_t round = 0; round < std::min(rounds, most_rounds); ++round) {
    ProductAddresses at{product.a.data, product.b.data, c, workspace};
    std::int64_t rest = round;
    for (std::size_t i = looped; i-- > 0;) {
      const BatchAxis& axis = product.batch[i];
      const std::int64_t here = rest % axis.size * size;
      rest /= axis.size;
      at.a += here * axis.a;
      at.b += here * axis.b;
      at.c += here * axis.c;
    }
    step(key, at, queue, call);
  }
}

LibraryProduct key_of(const Product& product, DType dtype, bool tf32, const Queue& queue) {
  LibraryProduct key;
  key.m = product.m;
  key.n = product.n;
  key.k = product.k;
  key.a_lead = product.a.lead;
  key.b_lead = product.b.lead;
  key.c_lead = product.n;
  key.workspace = product.workspace_bytes;
  key.ordinal = queue.properties().ordinal;
  key.dtype = dtype;
  key.a_by_columns = product.a.is_by_columns;
  key.b_by_columns = product.b.is_by_columns;
  key.tf32 = dtype == DType::f32 && tf32;
  return key;
}

bool has_bias(const Ending& ending) { return ending.what >= Epilogue::bias; }
// Endings with a bias are for products of two matrices. In half precision of lines that are not aligned the library rounds before
// it adds the bias.
bool may_have_bias(const Product& product, const LibraryProduct& key) {
  constexpr std::int64_t line = 8;  // elements of half precision in what its kernels load at once
  const bool is_aligned = key.a_lead % line == 0 && key.b_lead % line == 0 && key.c_lead % line == 0;
  return product.batch_rank == 0 && key.dtype != DType::f64 && (key.dtype == DType::f32 || is_aligned);
}

bool allows_tf32(const KernelCall& call) { return call.attributes->size() != 0 && call.attributes->as<MatMulAttributes>().tf32; }

// It has elements and is not one of the cases that are done without the library.
bool is_for_library(const Operand& a, const Operand& b, const Operand& c) {
  return c.count() != 0 && a.axes[a.rank - 1U].size != 0 && is_floating(c.dtype) && !is_dot(a, b);
}

}  // namespace

std::int64_t operand_product_bytes(const Operand& a, const Operand& b) {
  const Product product(a, b, nullptr);
  return product.packed_bytes + product.workspace_bytes;
}

bool multiply_operands(const Operand& a, const Operand& b, std::byte* c, std::byte* scratch, bool tf32, Queue& queue,
                       const KernelCall& call, const Ending& ending) {
  const Product product(a, b, scratch);
  for (const Factor* factor : {&product.a, &product.b}) {
    if (factor->is_packed) copy_operand(factor->from, factor->to, queue, call);
  }
  LibraryProduct key = key_of(product, a.dtype, tf32, queue);
  std::byte* const workspace = scratch + product.packed_bytes;
  key.epilogue = ending.what;
  if (has_bias(ending)) {
    return may_have_bias(product, key) &&
           try_multiply(key, {product.a.data, product.b.data, c, workspace, ending.bias}, queue, call);
  }
  for_each_product(product, key, c, workspace, queue, call, multiply);
  return true;
}

void prepare_operands(const Operand& a, const Operand& b, std::byte* c, std::byte* scratch, bool tf32,
                      const KernelContext& context, const KernelCall& call, const Ending& ending) {
  Queue& queue = queue_of(context);
  const Step prepare = context.may_measure ? measure_product : prepare_product;
  const Product product(a, b, scratch);
  LibraryProduct key = key_of(product, a.dtype, tf32, queue);
  std::byte* const workspace = scratch + product.packed_bytes;
  key.epilogue = ending.what;
  if (has_bias(ending) && may_have_bias(product, key))
    return prepare(key, {product.a.data, product.b.data, c, workspace, ending.bias}, queue, call);
  if (has_bias(ending)) key.epilogue = Epilogue::none;
  // The first stands for the others: they can only differ in how they are aligned.
  for_each_product(product, key, c, workspace, queue, call, prepare, 1);
}

static std::int64_t matmul_bytes(const WorkspaceCall& call) {
  const Operand left = call.input(0);
  const Operand right = call.input(1);
  if (left.is_immediate || right.is_immediate || !is_floating(left.dtype)) return 0;
  if (left.count() == 0 || right.count() == 0) return 0;
  if (is_dot(left, right)) return dot_workspace(left, right);
  return operand_product_bytes(left, right);
}

static void matmul(const KernelCall& call, KernelContext& context) {
  const Operand& a = device_input(call, 0);
  const Operand& b = device_input(call, 1);
  const Operand& c = call.out();
  Queue& queue = queue_of(context);
  const std::int64_t results = c.count();
  if (results == 0) return;
  if (a.axes[a.rank - 1U].size == 0) {  // a sum of nothing
    const std::size_t bytes = static_cast<std::size_t>(results) * size_of(c.dtype);
    return check(cudaMemsetAsync(c.data, 0, bytes, queue.stream()), "filling with zeros", call);
  }
  if (!is_floating(c.dtype)) return multiply_integers(call, queue);
  if (is_dot(a, b)) return dot(call, queue);
  (void)multiply_operands(a, b, c.data, call.scratch().data, allows_tf32(call), queue, call);
}

static void prepare_matmul(const KernelCall& call, KernelContext& context) {
  const Operand& a = device_input(call, 0);
  const Operand& b = device_input(call, 1);
  if (!is_for_library(a, b, call.out())) return;
  prepare_operands(a, b, call.out().data, call.scratch().data, allows_tf32(call), context, call);
}

[[maybe_unused]] static const bool matmul_is_registered =
    register_cuda_kernel("MatMul", matmul, workspace<matmul_bytes>, any_dtype, prepare_matmul);

}  // namespace tutti::kernels::cuda
