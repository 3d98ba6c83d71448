#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/attributes.h"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/cublas_lt.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/dot.h"
#include "tutti/kernels/cuda/launch.h"
#include "tutti/kernels/cuda/matmul_integer.h"
#include "tutti/kernels/cuda/product.h"
#include "tutti/kernels/cuda/registration.h"

// The library works on columns, we on rows: it is given c^T = b^T a^T, so that its first factor is our b.
namespace tutti::kernels::cuda {

namespace {

// All that the choice of an algorithm depends on. No padding: keys are compared and hashed as bytes.
struct Key {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t a_lead;
  std::int64_t b_lead;
  std::int64_t a_step;
  std::int64_t b_step;
  std::int64_t c_step;
  std::int64_t workspace;
  std::int32_t batch;
  std::int32_t ordinal;
  DType dtype;
  bool a_by_columns;
  bool b_by_columns;
  bool tf32;
  std::uint8_t a_aligned;  // log2 of bytes
  std::uint8_t b_aligned;
  std::uint8_t c_aligned;
  std::uint8_t unused;

  friend bool operator==(const Key& x, const Key& y) noexcept { return std::memcmp(&x, &y, sizeof(Key)) == 0; }
};
static_assert(std::has_unique_object_representations_v<Key>);

struct HashKey {
  std::size_t operator()(const Key& key) const noexcept {
    const auto words = std::bit_cast<std::array<std::uint64_t, sizeof(Key) / 8>>(key);
    std::uint64_t hash = 0;
    for (const std::uint64_t word : words) hash = (std::rotl(hash, 23) ^ word) * 0x9e3779b97f4a7c15U;
    return hash ^ hash >> 32U;
  }
};
static_assert(sizeof(Key) % 8 == 0);

struct Addresses {
  const std::byte* a;
  const std::byte* b;
  std::byte* c;
  std::byte* workspace;
};

// A choice made once: descriptors and algorithm, ready to be run again. Lives for ever.
struct Choice {
  Key key;
  const CublasLt* lt;
  cublasLtHandle_t handle;
  cublasLtMatmulDescOpaque_t desc;
  cublasLtMatrixLayoutOpaque_t a;
  cublasLtMatrixLayoutOpaque_t b;
  cublasLtMatrixLayoutOpaque_t c;
  cublasLtMatmulAlgo_t algorithm;

  cublasStatus_t run(const cublasLtMatmulAlgo_t& with, const Addresses& at, cudaStream_t stream) const {
    static constexpr float one = 1;
    static constexpr float zero = 0;
    static constexpr double wide_one = 1;
    static constexpr double wide_zero = 0;
    const bool is_wide = key.dtype == DType::f64;
    const void* alpha = is_wide ? static_cast<const void*>(&wide_one) : &one;
    const void* beta = is_wide ? static_cast<const void*>(&wide_zero) : &zero;
    // The descriptors are only read; the opaque types are not const-correct.
    auto* self = const_cast<Choice*>(this);
    return lt->matmul(handle, &self->desc, alpha, at.b, &self->b, at.a, &self->a, beta, at.c, &self->c, at.c, &self->c, &with,
                      at.workspace, static_cast<std::size_t>(key.workspace), stream);
  }
};

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return CUDA_R_16F;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f32: return CUDA_R_32F;
    default: return CUDA_R_64F;
  }
}

void describe(Choice& choice, const KernelCall& call) {
  const Key& key = choice.key;
  const CublasLt& lt = *choice.lt;
  const bool is_wide = key.dtype == DType::f64;
  const cublasComputeType_t compute = is_wide ? CUBLAS_COMPUTE_64F : key.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  lt.check(lt.init_desc(&choice.desc, sizeof choice.desc, compute, is_wide ? CUDA_R_64F : CUDA_R_32F), "cublasLtMatmulDescInit",
           call);
  const auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool is_by_columns) {
    const cublasOperation_t operation = is_by_columns ? CUBLAS_OP_T : CUBLAS_OP_N;
    lt.check(lt.set_desc(&choice.desc, which, &operation, sizeof operation), "cublasLtMatmulDescSetAttribute", call);
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, key.b_by_columns);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, key.a_by_columns);
  // A matrix of ours, by rows, is its transpose to the library.
  const auto layout = [&](cublasLtMatrixLayoutOpaque_t& to, std::int64_t rows, std::int64_t columns, bool is_by_columns,
                          std::int64_t lead, std::int64_t step) {
    if (!is_by_columns) std::swap(rows, columns);
    lt.check(lt.init_layout(&to, sizeof to, type_of(key.dtype), static_cast<std::uint64_t>(rows),
                            static_cast<std::uint64_t>(columns), lead),
             "cublasLtMatrixLayoutInit", call);
    if (key.batch == 1) return;
    lt.check(lt.set_layout(&to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &key.batch, sizeof key.batch),
             "cublasLtMatrixLayoutSetAttribute", call);
    lt.check(lt.set_layout(&to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step),
             "cublasLtMatrixLayoutSetAttribute", call);
  };
  layout(choice.a, key.m, key.k, key.a_by_columns, key.a_lead, key.a_step);
  layout(choice.b, key.k, key.n, key.b_by_columns, key.b_lead, key.b_step);
  layout(choice.c, key.m, key.n, false, key.n, key.c_step);
}

cublasLtMatmulPreferenceOpaque_t preference_of(const Choice& choice, const KernelCall& call) {
  const Key& key = choice.key;
  const CublasLt& lt = *choice.lt;
  cublasLtMatmulPreferenceOpaque_t preference;
  lt.check(lt.init_preference(&preference, sizeof preference), "cublasLtMatmulPreferenceInit", call);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    lt.check(lt.set_preference(&preference, which, &value, sizeof value), "cublasLtMatmulPreferenceSetAttribute", call);
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(key.workspace));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 1U << key.b_aligned);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 1U << key.a_aligned);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 1U << key.c_aligned);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 1U << key.c_aligned);
  // Half precision is rounded once, at the end: no partial results in the output's dtype.
  if (key.dtype == DType::f16 || key.dtype == DType::bf16)
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  return preference;
}

// Asks for algorithms, best first, and keeps the first that runs; it has then run once. May load the library's kernels.
std::unique_ptr<Choice> choose(const Key& key, const Addresses& at, cudaStream_t stream, const KernelCall& call) {
  auto choice = std::make_unique<Choice>();
  choice->key = key;
  choice->lt = &cublas_lt(call);
  choice->handle = cublas_lt_handle(key.ordinal, call);
  const BlockingRegion loading(SyncReason::module_load, call.site);
  describe(*choice, call);
  cublasLtMatmulPreferenceOpaque_t preference = preference_of(*choice, call);
  std::array<cublasLtMatmulHeuristicResult_t, 8> found;
  int count = 0;
  cublasStatus_t status = choice->lt->heuristic(choice->handle, &choice->desc, &choice->b, &choice->a, &choice->c, &choice->c,
                                                &preference, static_cast<int>(found.size()), found.data(), &count);
  if (status == CUBLAS_STATUS_SUCCESS && count == 0) status = CUBLAS_STATUS_NOT_SUPPORTED;
  choice->lt->check(status, "cublasLtMatmulAlgoGetHeuristic", call);
  for (int i = 0; i < count; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = found[static_cast<std::size_t>(i)];
    status = result.state;
    if (status == CUBLAS_STATUS_SUCCESS) status = choice->run(result.algo, at, stream);
    if (status != CUBLAS_STATUS_SUCCESS) continue;
    choice->algorithm = result.algo;
    return choice;
  }
  choice->lt->check(status, "cublasLtMatmul", call);
  return choice;  // not reached: the last status was an error
}

// The choices of every device and shape.
class Choices {
 public:
  const Choice* find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto at = all_.find(key);
    return at == all_.end() ? nullptr : at->second.get();
  }
  // Where two threads chose at once, the first counts.
  const Choice* keep(std::unique_ptr<Choice> choice) {
    const std::lock_guard lock(mutex_);
    const Key key = choice->key;
    return all_.try_emplace(key, std::move(choice)).first->second.get();
  }
  static Choices& instance() {
    static auto* const choices = new Choices;  // outlives every thread
    return *choices;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Key, std::unique_ptr<Choice>, HashKey> all_;
};

void multiply(const Key& key, const Addresses& at, cudaStream_t stream, const KernelCall& call) {
  static thread_local std::array<const Choice*, 8> recent{};
  const Choice*& last = recent[HashKey{}(key) % recent.size()];
  if (last == nullptr || !(last->key == key)) [[unlikely]] {
    const Choice* known = Choices::instance().find(key);
    if (known == nullptr) {
      last = Choices::instance().keep(choose(key, at, stream, call));
      return;
    }
    last = known;
  }
  last->lt->check(last->run(last->algorithm, at, stream), "cublasLtMatmul", call);
}

std::uint8_t alignment_of(const std::byte* address, std::int64_t step_bytes) {
  return static_cast<std::uint8_t>(
      std::countr_zero(256U | reinterpret_cast<std::uintptr_t>(address) | static_cast<std::uintptr_t>(step_bytes)));
}

// The innermost axis of the batch goes to the library at once where it can take it; the others are gone through one by one.
void multiply_batch(const Product& product, Key key, std::byte* c, std::byte* workspace, cudaStream_t stream,
                    const KernelCall& call) {
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
  for (std::int64_t round = 0; round < rounds; ++round) {
    Addresses at{product.a.data, product.b.data, c, workspace};
    std::int64_t rest = round;
    for (std::size_t i = looped; i-- > 0;) {
      const BatchAxis& axis = product.batch[i];
      const std::int64_t here = rest % axis.size * size;
      rest /= axis.size;
      at.a += here * axis.a;
      at.b += here * axis.b;
      at.c += here * axis.c;
    }
    key.a_aligned = alignment_of(at.a, key.a_step * size);
    key.b_aligned = alignment_of(at.b, key.b_step * size);
    key.c_aligned = alignment_of(at.c, key.c_step * size);
    multiply(key, at, stream, call);
  }
}

}  // namespace

static std::int64_t matmul_workspace(const OpCall& call, const Inference& in) {
  const TensorImpl* a = call.inputs()[0].tensor;
  const TensorImpl* b = call.inputs()[1].tensor;
  if (a == nullptr || b == nullptr || !is_floating(in.dtype(0))) return 0;
  if (element_count(a->shape()) == 0 || element_count(b->shape()) == 0) return 0;
  const Operand left = operand_of(*a);
  const Operand right = operand_of(*b);
  if (is_dot(left, right)) return dot_workspace(left, right);
  const Product product(left, right, nullptr);
  return product.packed_bytes + product.workspace_bytes;
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
  std::byte* const scratch = call.scratch().data;
  const Product product(a, b, scratch);
  for (const Factor* factor : {&product.a, &product.b}) {
    if (factor->is_packed) copy_operand(factor->from, factor->to, queue, call);
  }
  Key key{};
  key.m = product.m;
  key.n = product.n;
  key.k = product.k;
  key.a_lead = product.a.lead;
  key.b_lead = product.b.lead;
  key.workspace = product.workspace_bytes;
  key.batch = 1;
  key.ordinal = queue.properties().ordinal;
  key.dtype = c.dtype;
  key.a_by_columns = product.a.is_by_columns;
  key.b_by_columns = product.b.is_by_columns;
  key.tf32 = c.dtype == DType::f32 && call.attributes->size() != 0 && call.attributes->as<MatMulAttributes>().tf32;
  multiply_batch(product, key, c.data, scratch + product.packed_bytes, queue.stream(), call);
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("MatMul", matmul, matmul_workspace);

}  // namespace tutti::kernels::cuda
