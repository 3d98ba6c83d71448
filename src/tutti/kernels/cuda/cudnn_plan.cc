#include "tutti/kernels/cuda/cudnn_plan.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/kernels/cuda/rehearsal.h"
#include "tutti/kernels/cuda/trial.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

cudnnDataType_t cudnn_type(DType dtype) {
  return visit_dtype<half_dtypes | DTypes{DType::f32}>(dtype, []<class T>(T) {
    if constexpr (std::is_same_v<T, f16>) {
      return CUDNN_DATA_HALF;
    } else if constexpr (std::is_same_v<T, bf16>) {
      return CUDNN_DATA_BFLOAT16;
    } else {
      static_assert(std::is_same_v<T, float>);
      return CUDNN_DATA_FLOAT;
    }
  });
}

CudnnDescriptor::CudnnDescriptor(const Cudnn& cudnn, cudnnBackendDescriptorType_t type) : cudnn_(&cudnn), type_(type) {
  check(cudnn.create_descriptor(type, &descriptor_), "create");
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : cudnn_(other.cudnn_), type_(other.type_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) (void)cudnn_->destroy_descriptor(descriptor_);
}

void CudnnDescriptor::check(cudnnStatus_t status, const char* step) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> more{};
  cudnn_->last_error(more.data(), more.size());
  throw CudnnRefusal{
      text(step, " of descriptor ", static_cast<int>(type_), ": ", cudnn_->error_string(status), " ", more.data())};
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                          const void* values) {
  check(cudnn_->set_attribute(descriptor_, name, type, count, values), text("attribute ", static_cast<int>(name)).c_str());
}
void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor_);
}
void CudnnDescriptor::set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
  set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}
void CudnnDescriptor::finalize() { check(cudnn_->finalize(descriptor_), "finalize"); }

CudnnDescriptor& CudnnGraph::add(cudnnBackendDescriptorType_t type) {
  return *parts_.emplace_back(std::make_unique<CudnnDescriptor>(cudnn_, type));
}

const CudnnDescriptor& CudnnGraph::tensor(const CudnnTensor& tensor) {
  CudnnDescriptor& made = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, tensor.type);
  made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, tensor.sizes);
  made.set(CUDNN_ATTR_TENSOR_STRIDES, tensor.strides);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, tensor.uid);
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, tensor.alignment);
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, tensor.is_virtual);
  if (tensor.is_in_blocks)
    made.set(CUDNN_ATTR_TENSOR_REORDERING_MODE, CUDNN_TYPE_TENSOR_REORDERING_MODE, CUDNN_TENSOR_REORDERING_F16x16);
  if (tensor.is_by_value) made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  made.finalize();
  if (!tensor.is_virtual && !tensor.is_by_value) {
    std::int64_t elements = 1;
    for (std::size_t i = 0; i < tensor.sizes.size(); ++i) elements += (tensor.sizes[i] - 1) * tensor.strides[i];
    uids_.push_back(tensor.uid);
    bytes_.push_back(elements * static_cast<std::int64_t>(sizeof(float)));  // or less
  }
  return made;
}

namespace {

// Engines and what they are set to, the best first.
std::vector<CudnnDescriptor> candidates(const Cudnn& cudnn, const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode) {
  constexpr std::int64_t most = 32;
  CudnnDescriptor heuristic(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  heuristic.finalize();
  std::vector<CudnnDescriptor> out;
  std::vector<cudnnBackendDescriptor_t> bare;
  for (std::int64_t i = 0; i < most; ++i) bare.push_back(out.emplace_back(cudnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  std::int64_t count = 0;
  const cudnnStatus_t status = cudnn.get_attribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                                   most, &count, bare.data());
  if (status != CUDNN_STATUS_SUCCESS) count = 0;
  while (static_cast<std::int64_t>(out.size()) > std::max<std::int64_t>(0, count)) out.pop_back();
  return out;
}

bool is_allowed(const Cudnn& cudnn, const CudnnDescriptor& config, const CudnnLimits& limits) {
  const CudnnDescriptor engine(cudnn, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t bare = engine.get();
  std::int64_t count = 0;
  if (cudnn.get_attribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &bare) !=
      CUDNN_STATUS_SUCCESS)
    return false;
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  if (cudnn.get_attribute(bare, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                          static_cast<std::int64_t>(notes.size()), &count, notes.data()) != CUDNN_STATUS_SUCCESS)
    return false;
  return std::none_of(notes.begin(), notes.begin() + std::min<std::int64_t>(count, CUDNN_NUMERICAL_NOTE_TYPE_COUNT),
                      [&](cudnnBackendNumericalNote_t note) {
                        switch (note) {
                          case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC: return limits.deterministic;
                          case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
                          case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13: return true;
                          case CUDNN_NUMERICAL_NOTE_TENSOR_CORE: return !limits.tensor_cores;
                          case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS: return !limits.downconverted;
                          default: return false;
                        }
                      });
}

}  // namespace

CudnnPlan::CudnnPlan(CudnnGraph graph, CudnnHandle& handle, const CudnnLimits& limits)
    : graph_(std::move(graph)), handle_(handle) {
  std::vector<Candidate> found = find(limits);
  chosen_ = std::make_unique<Candidate>(std::move(found[fastest_of(found)]));
}

std::vector<CudnnPlan::Candidate> CudnnPlan::find(const CudnnLimits& limits) {
  const std::size_t most = limits.is_by_clock ? 16 : 1;
  const std::lock_guard lock(handle_.mutex);
  const Cudnn& cudnn = graph_.cudnn_;
  CudnnDescriptor& operations = graph_.add(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  operations.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle_.handle);
  operations.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 static_cast<std::int64_t>(graph_.operations_.size()), graph_.operations_.data());
  operations.finalize();
  std::string last = "the heuristics named no engine that holds the limits";
  std::vector<Candidate> found;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (found.size() == most) break;
    std::vector<CudnnDescriptor> configs;
    try {
      configs = candidates(cudnn, operations, mode);
    } catch (const CudnnRefusal& refusal) {  // of this mode
      last = refusal.what;
    }
    for (CudnnDescriptor& config : configs) {
      if (found.size() == most) break;
      if (!is_allowed(cudnn, config, limits)) continue;
      try {
        CudnnDescriptor plan(cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle_.handle);
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
        plan.finalize();
        std::int64_t count = 0;
        std::int64_t workspace = 0;
        const cudnnStatus_t status =
            cudnn.get_attribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &workspace);
        if (status != CUDNN_STATUS_SUCCESS || workspace > limits.workspace) continue;
        found.push_back({std::move(config), std::move(plan), workspace});
      } catch (const CudnnRefusal& refusal) {
        last = refusal.what;
      }
    }
  }
  if (found.empty()) throw CudnnRefusal{last};
  return found;
}

std::size_t CudnnPlan::fastest_of(const std::vector<Candidate>& candidates) const {
  if (candidates.size() == 1) return 0;
  std::int64_t workspace = 0;
  for (const Candidate& each : candidates) workspace = std::max(workspace, each.workspace);
  std::vector<std::int64_t> bytes = graph_.bytes_;
  bytes.push_back(workspace);
  Trial trial(bytes);
  if (!trial) return 0;  // there is no memory to try on: as the heuristics say
  std::vector<void*> pointers;
  for (std::size_t i = 0; i < graph_.uids_.size(); ++i) pointers.push_back(trial.memory(i));
  std::vector<float> times;
  for (const Candidate& each : candidates) {
    const auto launch = [&](cudaStream_t stream) {
      try {
        return execute(each.plan, stream, graph_.uids_, pointers, trial.memory(pointers.size())) == CUDNN_STATUS_SUCCESS;
      } catch (const CudnnRefusal&) {
        return false;
      }
    };
    times.push_back(trial.milliseconds(launch, 2));
  }
  return static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin());
}

cudnnStatus_t CudnnPlan::execute(const CudnnDescriptor& plan, cudaStream_t stream, std::span<const std::int64_t> uids,
                                 std::span<void* const> pointers, void* workspace) const {
  const Cudnn& cudnn = graph_.cudnn_;
  CudnnDescriptor pack(cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(pointers.size()),
           pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finalize();
  const std::lock_guard lock(handle_.mutex);
  const cudnnStatus_t status = cudnn.set_stream(handle_.handle, stream);
  return status == CUDNN_STATUS_SUCCESS ? cudnn.execute(handle_.handle, plan.get(), pack.get()) : status;
}

void CudnnPlan::run(std::span<const std::int64_t> uids, std::span<void* const> pointers, void* workspace,
                    tutti::cuda::Queue& queue, const KernelCall& call) const {
  try {
    const cudnnStatus_t status = execute(chosen_->plan, queue.stream(), uids, pointers, workspace);
    if (status != CUDNN_STATUS_SUCCESS)
      throw KernelFailed(text("cudnnBackendExecute: ", graph_.cudnn_.error_string(status)), call.site);
  } catch (const CudnnRefusal& refusal) {
    throw KernelFailed(text("cuDNN: ", refusal.what), call.site);
  }
}

void CudnnPlan::rehearse(std::span<const std::int64_t> uids, std::span<void* const> pointers, void* workspace) const {
  std::call_once(rehearsed_, [&] {
    load_code([&](cudaStream_t stream) {
      try {
        (void)execute(chosen_->plan, stream, uids, pointers, workspace);
      } catch (const CudnnRefusal&) {
        // The launch meets the same.
      }
    });
  });
}

}  // namespace tutti::kernels::cuda
