// A graph of cuDNN operations and the plan chosen for it: built once for a shape, run often.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tutti/backends/cuda/queue.h"
#include "tutti/kernels/cuda/cudnn.h"

namespace tutti::kernels::cuda {

// What cuDNN did not take, and at which step.
struct CudnnRefusal {
  std::string what;
};

// Owns one descriptor. Every step throws CudnnRefusal where cuDNN returns an error.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const Cudnn& cudnn, cudnnBackendDescriptorType_t type);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;
  ~CudnnDescriptor();

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values);
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set(name, type, 1, &value);
  }
  void finalize();
  [[nodiscard]] cudnnBackendDescriptor_t get() const noexcept { return descriptor_; }

 private:
  void check(cudnnStatus_t status, const char* step) const;
  const Cudnn* cudnn_;
  cudnnBackendDescriptorType_t type_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// Of halves and f32, what graphs are made of here.
cudnnDataType_t cudnn_type(DType dtype);

struct CudnnTensor {
  std::int64_t uid = 0;
  cudnnDataType_t type{};
  std::vector<std::int64_t> sizes = {};
  std::vector<std::int64_t> strides = {};
  bool is_virtual = false;    // a value between operations, never in memory
  bool is_by_value = false;   // one number of the host's
  bool is_in_blocks = false;  // of 16 x 16, in an order that only cuDNN's kernels know
  std::int64_t alignment = 16;
};

// What the plan may do to the result.
struct CudnnLimits {
  bool tensor_cores = true;   // of f32, that would be tf32
  bool downconverted = true;  // inputs may be rounded on the way in
  bool deterministic = true;  // the same bits on every run
  bool is_by_clock = false;   // candidates are tried out
  std::int64_t workspace = std::int64_t{1} << 30U;
};

// Operations are added in order, then a plan is chosen. Throws CudnnRefusal.
class CudnnGraph {
 public:
  explicit CudnnGraph(const Cudnn& cudnn) : cudnn_(cudnn) {}

  // What it returns lives as long as the graph.
  CudnnDescriptor& add(cudnnBackendDescriptorType_t type);
  const CudnnDescriptor& tensor(const CudnnTensor& tensor);
  void add_operation(const CudnnDescriptor& operation) { operations_.push_back(operation.get()); }

 private:
  friend class CudnnPlan;
  const Cudnn& cudnn_;
  std::vector<std::unique_ptr<CudnnDescriptor>> parts_;
  std::vector<std::int64_t> uids_;   // of what is in memory
  std::vector<std::int64_t> bytes_;  // of each
  std::vector<cudnnBackendDescriptor_t> operations_;
};

class CudnnPlan {
 public:
  // The best the heuristics name that keeps sums of halves in f32 and holds the limits; or the fastest of those.
  CudnnPlan(CudnnGraph graph, CudnnHandle& handle, const CudnnLimits& limits);

  [[nodiscard]] std::int64_t workspace_bytes() const noexcept { return chosen_->workspace; }
  // Pointers in the order of the uids. Throws KernelFailed.
  void run(std::span<const std::int64_t> uids, std::span<void* const> pointers, void* workspace, tutti::cuda::Queue& queue,
           const KernelCall& call) const;
  // Loads the library's code for it: a launch is recorded and thrown away. Does so once.
  void rehearse(std::span<const std::int64_t> uids, std::span<void* const> pointers, void* workspace) const;

 private:
  struct Candidate {
    CudnnDescriptor config;
    CudnnDescriptor plan;
    std::int64_t workspace;
  };
  // At least one; more than one where the clock is to choose.
  [[nodiscard]] std::vector<Candidate> find(const CudnnLimits& limits);
  cudnnStatus_t execute(const CudnnDescriptor& plan, cudaStream_t stream, std::span<const std::int64_t> uids,
                        std::span<void* const> pointers, void* workspace) const;
  [[nodiscard]] std::size_t fastest_of(const std::vector<Candidate>& candidates) const;

  CudnnGraph graph_;
  CudnnHandle& handle_;
  std::unique_ptr<Candidate> chosen_;
  mutable std::once_flag rehearsed_;
};

}  // namespace tutti::kernels::cuda
