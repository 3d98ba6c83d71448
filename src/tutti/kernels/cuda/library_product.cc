#include "tutti/kernels/cuda/library_product.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "tutti/base/text.h"
#include "tutti/hal/door.h"
#include "tutti/kernels/cuda/code_cache.h"
#include "tutti/kernels/cuda/cublas_lt.h"
#include "tutti/kernels/cuda/rehearsal.h"
#include "tutti/kernels/cuda/trial.h"
#include "tutti/tensor/dtype_visit.h"

// The library works on columns, we on rows: it is given c^T = b^T a^T, so that its first factor is our b.
namespace tutti::kernels::cuda {

using tutti::cuda::Queue;

namespace {

static_assert(std::has_unique_object_representations_v<LibraryProduct> && sizeof(LibraryProduct) % 8 == 0);

bool is_same(const LibraryProduct& x, const LibraryProduct& y) noexcept { return std::memcmp(&x, &y, sizeof x) == 0; }
struct SameKey {
  bool operator()(const LibraryProduct& x, const LibraryProduct& y) const noexcept { return is_same(x, y); }
};
struct HashKey {
  std::size_t operator()(const LibraryProduct& key) const noexcept {
    const auto words = std::bit_cast<std::array<std::uint64_t, sizeof(LibraryProduct) / 8>>(key);
    std::uint64_t hash = 0;
    for (const std::uint64_t word : words) hash = (std::rotl(hash, 23) ^ word) * 0x9e3779b97f4a7c15U;
    return hash ^ hash >> 32U;
  }
};

constexpr std::size_t most_candidates = 16;
// Told that it may have less, the library answers with other algorithms, up to four times slower on an H200, though those it
// names otherwise need little of it.
constexpr std::int64_t full_workspace = 32 << 20;

cudaDataType_t type_of(DType dtype) {
  return visit_dtype<floating_dtypes>(dtype, []<class T>(T) {
    if constexpr (std::is_same_v<T, f16>) {
      return CUDA_R_16F;
    } else if constexpr (std::is_same_v<T, bf16>) {
      return CUDA_R_16BF;
    } else {
      return std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
    }
  });
}

// A choice made once: descriptors and algorithms, ready to be run again. Lives for ever.
struct Choice {
  LibraryProduct key;
  const CublasLt* lt;
  cublasLtHandle_t handle;
  cublasLtMatmulDescOpaque_t desc;
  cublasLtMatrixLayoutOpaque_t a;
  cublasLtMatrixLayoutOpaque_t b;
  cublasLtMatrixLayoutOpaque_t c;
  std::array<cublasLtMatmulAlgo_t, most_candidates> candidates;  // the best first
  std::size_t count = 0;
  mutable std::atomic<std::size_t> taken{0};  // the first that was not refused, or the fastest
  mutable std::atomic<bool> is_measured{false};

  [[nodiscard]] bool has_bias() const noexcept { return key.epilogue >= Epilogue::bias; }

  // With the best that the library does not refuse, which it does before it launches anything.
  cublasStatus_t run(const ProductAddresses& at, cudaStream_t stream) const {
    if (count == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
    const std::size_t first = taken.load(std::memory_order_relaxed);
    cublasStatus_t status = run(candidates[first], at, stream);
    for (std::size_t i = first + 1; status != CUBLAS_STATUS_SUCCESS && i < count; ++i) {
      status = run(candidates[i], at, stream);
      if (status == CUBLAS_STATUS_SUCCESS) taken.store(i, std::memory_order_relaxed);
    }
    return status;
  }

  cublasStatus_t run(const cublasLtMatmulAlgo_t& with, const ProductAddresses& at, cudaStream_t stream) const {
    struct Factors {
      float of_product;
      float of_before;
      double wide_of_product;
      double wide_of_before;
    };
    static constexpr Factors plain{1, 0, 1, 0};
    static constexpr Factors taken_off{-1, 1, -1, 1};
    static constexpr Factors added{1, 1, 1, 1};
    const Factors& factors = key.epilogue == Epilogue::subtract ? taken_off : key.epilogue == Epilogue::add ? added : plain;
    const bool is_wide = type_of(key.dtype) == CUDA_R_64F;
    const void* alpha = is_wide ? static_cast<const void*>(&factors.wide_of_product) : &factors.of_product;
    const void* beta = is_wide ? static_cast<const void*>(&factors.wide_of_before) : &factors.of_before;
    // The descriptors are only read; the opaque types are not const-correct.
    auto* self = const_cast<Choice*>(this);
    cublasLtMatmulDescOpaque_t own = desc;
    if (has_bias()) {
      const cublasStatus_t status = lt->set_desc(&own, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &at.bias, sizeof at.bias);
      if (status != CUBLAS_STATUS_SUCCESS) return status;
    }
    return lt->matmul(handle, &own, alpha, at.b, &self->b, at.a, &self->a, beta, at.c, &self->c, at.c, &self->c, &with,
                      at.workspace, static_cast<std::size_t>(key.workspace), stream);
  }
};

void describe(Choice& choice, const KernelCall& call) {
  const LibraryProduct& key = choice.key;
  const CublasLt& lt = *choice.lt;
  const bool is_wide = type_of(key.dtype) == CUDA_R_64F;
  const cublasComputeType_t compute = is_wide ? CUBLAS_COMPUTE_64F : key.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  lt.check(lt.init_desc(&choice.desc, sizeof choice.desc, compute, is_wide ? CUDA_R_64F : CUDA_R_32F), "cublasLtMatmulDescInit",
           call);
  const auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool is_by_columns) {
    const cublasOperation_t operation = is_by_columns ? CUBLAS_OP_T : CUBLAS_OP_N;
    lt.check(lt.set_desc(&choice.desc, which, &operation, sizeof operation), "cublasLtMatmulDescSetAttribute", call);
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, key.b_by_columns);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, key.a_by_columns);
  if (choice.has_bias()) {
    // The library's first factor is our b, and the rows of its result are our columns.
    const cublasLtEpilogue_t epilogue = key.epilogue == Epilogue::bias        ? CUBLASLT_EPILOGUE_BIAS
                                        : key.epilogue == Epilogue::bias_relu ? CUBLASLT_EPILOGUE_RELU_BIAS
                                                                              : CUBLASLT_EPILOGUE_BGRADA;
    lt.check(lt.set_desc(&choice.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue),
             "cublasLtMatmulDescSetAttribute", call);
  }
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
  layout(choice.c, key.m, key.n, false, key.c_lead, key.c_step);
}

cublasLtMatmulPreferenceOpaque_t preference_of(const Choice& choice, std::int64_t workspace, const KernelCall& call) {
  const LibraryProduct& key = choice.key;
  const CublasLt& lt = *choice.lt;
  cublasLtMatmulPreferenceOpaque_t preference;
  lt.check(lt.init_preference(&preference, sizeof preference), "cublasLtMatmulPreferenceInit", call);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    lt.check(lt.set_preference(&preference, which, &value, sizeof value), "cublasLtMatmulPreferenceSetAttribute", call);
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 1U << key.b_aligned);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 1U << key.a_aligned);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 1U << key.c_aligned);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 1U << key.c_aligned);
  // Half precision is rounded once, at the end: no partial results in the output's dtype.
  if (key.dtype == DType::f16 || key.dtype == DType::bf16)
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  return preference;
}

void put_first(Choice& choice, const cublasLtMatmulAlgo_t& algorithm) {
  choice.count = std::min(choice.count + 1, most_candidates);
  std::copy_backward(choice.candidates.begin(), choice.candidates.begin() + static_cast<std::ptrdiff_t>(choice.count) - 1,
                     choice.candidates.begin() + static_cast<std::ptrdiff_t>(choice.count));
  choice.candidates[0] = algorithm;
}

// It cuts sums into parts, which a second launch adds up.
bool is_split(const CublasLt& lt, const cublasLtMatmulAlgo_t& algorithm) {
  std::int32_t parts = 1;
  std::size_t written = 0;
  const cublasStatus_t status = lt.get_config(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written);
  return status == CUBLAS_STATUS_SUCCESS && parts > 1;
}

// Of short sums the second launch takes the host longer than it saves the GPU. The clock may still choose otherwise.
void prefer_one_launch(Choice& choice) {
  constexpr std::int64_t short_sum = 512;
  if (choice.key.k > short_sum) return;
  const auto end = choice.candidates.begin() + static_cast<std::ptrdiff_t>(choice.count);
  std::stable_partition(choice.candidates.begin(), end,
                        [&](const cublasLtMatmulAlgo_t& each) { return !is_split(*choice.lt, each); });
}

void recall(Choice& choice);
const Choice& choice_for(LibraryProduct& product, const ProductAddresses& at, Queue& queue, const KernelCall& call);

// Asks for algorithms and loads the code of the one that will run. Launches nothing.
std::unique_ptr<Choice> choose(const LibraryProduct& key, const ProductAddresses& at, Queue& queue, const KernelCall& call) {
  auto choice = std::make_unique<Choice>();
  choice->key = key;
  choice->lt = &cublas_lt(call);
  choice->handle = cublas_lt_handle(key.ordinal, call);
  const BlockingRegion loading(SyncReason::module_load, call.site);
  describe(*choice, call);
  cublasStatus_t status = CUBLAS_STATUS_NOT_SUPPORTED;
  for (const std::int64_t workspace : {full_workspace, key.workspace}) {
    if (choice->count > 0) break;
    cublasLtMatmulPreferenceOpaque_t preference = preference_of(*choice, workspace, call);
    std::array<cublasLtMatmulHeuristicResult_t, most_candidates> found;
    int count = 0;
    const cublasStatus_t answer =
        choice->lt->heuristic(choice->handle, &choice->desc, &choice->b, &choice->a, &choice->c, &choice->c, &preference,
                              static_cast<int>(found.size()), found.data(), &count);
    if (answer != CUBLAS_STATUS_SUCCESS) {
      status = answer;
      continue;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      if (found[i].state != CUBLAS_STATUS_SUCCESS) {
        status = found[i].state;
      } else if (found[i].workspaceSize <= static_cast<std::size_t>(key.workspace)) {
        choice->candidates[choice->count++] = found[i].algo;
      }
    }
  }
  prefer_one_launch(*choice);
  if (choice->count == 0 && choice->has_bias()) return choice;  // remembered: there is none
  if (choice->count == 0) choice->lt->check(status, "cublasLtMatmulAlgoGetHeuristic", call);
  if (key.epilogue == Epilogue::bias_relu) {  // the algorithm of the sum by itself, and so its bits
    LibraryProduct sum = key;
    sum.epilogue = Epilogue::bias;
    const Choice& plain = choice_for(sum, at, queue, call);
    if (plain.count > 0) put_first(*choice, plain.candidates[plain.taken.load(std::memory_order_relaxed)]);
    choice->is_measured = true;
  } else {
    recall(*choice);
  }
  // Also finds the first candidate that the library does not refuse.
  load_code([&](cudaStream_t stream) { (void)choice->run(at, stream); });
  return choice;
}

// What decides which algorithm is the fastest, for the cache on disk.
std::string text_of(const Choice& choice) {
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, choice.key.ordinal) != cudaSuccess) return {};
  LibraryProduct key = choice.key;
  key.ordinal = 0;
  std::string out = text("product, cuBLASLt ", choice.lt->version(), ", ", device.name, ":");
  for (const std::uint64_t word : std::bit_cast<std::array<std::uint64_t, sizeof key / 8>>(key)) out += text(" ", word);
  return out;
}

// The one that was the fastest in an earlier process becomes the first.
void recall(Choice& choice) {
  const std::optional<std::string> known = load_code(cache_folder(), text_of(choice));
  if (!known || known->size() != sizeof(cublasLtMatmulAlgo_t)) return;
  cublasLtMatmulAlgo_t algorithm;
  std::memcpy(&algorithm, known->data(), sizeof algorithm);
  put_first(choice, algorithm);
  choice.is_measured.store(true, std::memory_order_relaxed);
}

// Of a, b, c, the memory to work in and the bias.
std::array<std::int64_t, 5> bytes_of(const LibraryProduct& key) {
  const auto size = static_cast<std::int64_t>(size_of(key.dtype));
  const auto bytes = [&](std::int64_t rows, std::int64_t columns, bool is_by_columns, std::int64_t lead, std::int64_t step) {
    if (is_by_columns) std::swap(rows, columns);
    return ((key.batch - 1) * step + (rows - 1) * lead + columns) * size;
  };
  return {bytes(key.m, key.k, key.a_by_columns, key.a_lead, key.a_step),
          bytes(key.k, key.n, key.b_by_columns, key.b_lead, key.b_step), bytes(key.m, key.n, false, key.c_lead, key.c_step),
          key.workspace, std::max(key.m, key.n) * size};
}

void measure(const Choice& choice, const KernelCall& call) {
  static std::mutex one_at_a_time;
  if (choice.count == 0 || choice.is_measured.load(std::memory_order_acquire)) return;
  const BlockingRegion choosing(SyncReason::module_load, call.site);
  const std::lock_guard lock(one_at_a_time);
  if (choice.is_measured.load(std::memory_order_relaxed)) return;
  Trial trial(bytes_of(choice.key));
  if (!trial) return;  // there is no memory to try on: as the library says
  const ProductAddresses at{trial.memory(0), trial.memory(1), trial.memory(2), trial.memory(3), trial.memory(4)};
  const auto time_of = [&](std::size_t i, int runs) {
    return trial.milliseconds(
        [&](cudaStream_t stream) { return choice.run(choice.candidates[i], at, stream) == CUBLAS_STATUS_SUCCESS; }, runs);
  };
  const std::size_t usual = choice.taken.load(std::memory_order_relaxed);
  const int runs = std::clamp(static_cast<int>(0.2F / std::max(time_of(usual, 1), 1e-3F)), 1, 20);
  // Another is taken only where it gains more than measurements differ by.
  std::size_t best = usual;
  float least = time_of(usual, runs) * 0.97F;
  for (std::size_t i = 0; i < choice.count; ++i) {
    if (i == usual) continue;
    const float took = time_of(i, runs);
    if (took < least) {
      least = took;
      best = i;
    }
  }
  choice.taken.store(best, std::memory_order_relaxed);
  choice.is_measured.store(true, std::memory_order_release);
  const auto* bytes = reinterpret_cast<const char*>(&choice.candidates[best]);
  (void)store_code(cache_folder(), text_of(choice), {bytes, sizeof(cublasLtMatmulAlgo_t)});
}

// The choices of every device and shape.
class Choices {
 public:
  const Choice* find(const LibraryProduct& key) {
    const std::lock_guard lock(mutex_);
    const auto at = all_.find(key);
    return at == all_.end() ? nullptr : at->second.get();
  }
  // Where two threads chose at once, the first counts.
  const Choice* keep(std::unique_ptr<Choice> choice) {
    const std::lock_guard lock(mutex_);
    const LibraryProduct key = choice->key;
    return all_.try_emplace(key, std::move(choice)).first->second.get();
  }
  static Choices& instance() {
    static auto* const choices = new Choices;  // outlives every thread
    return *choices;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<LibraryProduct, std::unique_ptr<Choice>, HashKey, SameKey> all_;
};

std::uint8_t alignment_of(const std::byte* address, std::int64_t step_bytes) {
  return static_cast<std::uint8_t>(
      std::countr_zero(256U | reinterpret_cast<std::uintptr_t>(address) | static_cast<std::uintptr_t>(step_bytes)));
}

const Choice& choice_for(LibraryProduct& product, const ProductAddresses& at, Queue& queue, const KernelCall& call) {
  const auto size = static_cast<std::int64_t>(size_of(product.dtype));
  product.a_aligned = alignment_of(at.a, product.a_step * size);
  product.b_aligned = alignment_of(at.b, product.b_step * size);
  product.c_aligned = alignment_of(at.c, product.c_step * size);
  static thread_local std::array<const Choice*, 8> recent{};
  const Choice*& last = recent[HashKey{}(product) % recent.size()];
  if (last == nullptr || !(is_same(last->key, product))) [[unlikely]] {
    const Choice* known = Choices::instance().find(product);
    if (known == nullptr) {
      queue.enter(call.site);
      known = Choices::instance().keep(choose(product, at, queue, call));
    }
    last = known;
  }
  return *last;
}

}  // namespace

void prepare_product(LibraryProduct product, const ProductAddresses& at, Queue& queue, const KernelCall& call) {
  (void)choice_for(product, at, queue, call);
}

void measure_product(LibraryProduct product, const ProductAddresses& at, Queue& queue, const KernelCall& call) {
  if (product.epilogue == Epilogue::bias_relu) {
    LibraryProduct sum = product;
    sum.epilogue = Epilogue::bias;
    measure_product(sum, at, queue, call);
  }
  const Choice& choice = choice_for(product, at, queue, call);
  queue.enter(call.site);
  measure(choice, call);
}

void multiply(LibraryProduct product, const ProductAddresses& at, Queue& queue, const KernelCall& call) {
  const Choice& choice = choice_for(product, at, queue, call);
  choice.lt->check(choice.run(at, queue.stream()), "cublasLtMatmul", call);
}

bool try_multiply(LibraryProduct product, const ProductAddresses& at, Queue& queue, const KernelCall& call) {
  const Choice& choice = choice_for(product, at, queue, call);
  const cublasStatus_t status = choice.run(at, queue.stream());
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return false;
  choice.lt->check(status, "cublasLtMatmul", call);
  return true;
}

}  // namespace tutti::kernels::cuda
