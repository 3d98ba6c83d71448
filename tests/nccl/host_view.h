// An exchange of GPU memory, asked with addresses of the host: every call is copied there and back.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "tutti/mesh/engines/exchange.h"

namespace tutti::testing_nccl {

class GpuMemory {
 public:
  explicit GpuMemory(std::size_t bytes) { check(cudaMalloc(&at_, std::max<std::size_t>(bytes, 1))); }
  ~GpuMemory() { cudaFree(at_); }
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  void* at() const noexcept { return at_; }
  void take(const void* host, std::size_t bytes) {
    check(cudaMemcpy(at_, host, bytes, cudaMemcpyHostToDevice));
    check(cudaStreamSynchronize(nullptr));  // a small copy returns before it has arrived
  }
  void give(void* host, std::size_t bytes) { check(cudaMemcpy(host, at_, bytes, cudaMemcpyDeviceToHost)); }

 private:
  static void check(cudaError_t result) {
    if (result != cudaSuccess) throw std::runtime_error(std::string("the GPU: ") + cudaGetErrorString(result));
  }
  void* at_ = nullptr;
};

class HostView final : public Exchange {
 public:
  explicit HostView(Exchange& gpu) : gpu_(gpu) {}

  [[nodiscard]] int size() const noexcept override { return gpu_.size(); }
  [[nodiscard]] int index() const noexcept override { return gpu_.index(); }
  void fail(const char* why) noexcept override { gpu_.fail(why); }

  void all_reduce(const void* in, void* out, std::size_t count, DType dtype, Reduction reduction, Deadline deadline) override {
    const std::size_t bytes = count * size_of(dtype);
    through(in, bytes, out, bytes,
            [&](const void* from, void* to) { gpu_.all_reduce(from, to, count, dtype, reduction, deadline); });
  }
  void reduce_scatter(const void* in, void* out, std::size_t count_each, DType dtype, Reduction reduction,
                      Deadline deadline) override {
    const std::size_t bytes = count_each * size_of(dtype);
    through(in, bytes * members(), out, bytes,
            [&](const void* from, void* to) { gpu_.reduce_scatter(from, to, count_each, dtype, reduction, deadline); });
  }
  void broadcast(const void* in, void* out, std::size_t bytes, int root, Deadline deadline) override {
    through(in, bytes, out, bytes, [&](const void* from, void* to) { gpu_.broadcast(from, to, bytes, root, deadline); });
  }
  void all_gather(const void* in, void* out, std::size_t bytes_each, Deadline deadline) override {
    through(in, bytes_each, out, bytes_each * members(),
            [&](const void* from, void* to) { gpu_.all_gather(from, to, bytes_each, deadline); });
  }
  void all_to_all(const void* in, void* out, std::size_t bytes_each, Deadline deadline) override {
    through(in, bytes_each * members(), out, bytes_each * members(),
            [&](const void* from, void* to) { gpu_.all_to_all(from, to, bytes_each, deadline); });
  }

 private:
  [[nodiscard]] std::size_t members() const noexcept { return static_cast<std::size_t>(gpu_.size()); }

  // In place there where it is in place here.
  template <class Call>
  void through(const void* in, std::size_t in_bytes, void* out, std::size_t out_bytes, Call&& call) {
    GpuMemory from(std::max(in_bytes, out_bytes));
    from.take(in, in_bytes);
    if (in == out) {
      call(from.at(), from.at());
      return from.give(out, out_bytes);
    }
    GpuMemory to(out_bytes);
    call(from.at(), to.at());
    to.give(out, out_bytes);
  }

  Exchange& gpu_;
};

}  // namespace tutti::testing_nccl
