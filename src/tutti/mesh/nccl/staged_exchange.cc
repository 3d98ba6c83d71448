// Memory of a GPU exchanged through the host: copied there, exchanged, copied back.
#include <cuda_runtime_api.h>

#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/nccl/nccl_exchange.h"

namespace tutti {

namespace {

class StagedExchange final : public Exchange {
 public:
  StagedExchange(Exchange& host, int ordinal) : host_(host), ordinal_(ordinal) {}

  [[nodiscard]] int size() const noexcept override { return host_.size(); }
  [[nodiscard]] int index() const noexcept override { return host_.index(); }
  void fail(const char* why) noexcept override { host_.fail(why); }

  void all_reduce(const void* in, void* out, std::size_t count, DType dtype, Reduction reduction, Deadline deadline) override {
    const std::size_t bytes = count * size_of(dtype);
    through(in, bytes, out, bytes,
            [&](const void* from, void* to) { host_.all_reduce(from, to, count, dtype, reduction, deadline); });
  }
  void reduce_scatter(const void* in, void* out, std::size_t count_each, DType dtype, Reduction reduction,
                      Deadline deadline) override {
    const std::size_t bytes = count_each * size_of(dtype);
    through(in, bytes * members(), out, bytes,
            [&](const void* from, void* to) { host_.reduce_scatter(from, to, count_each, dtype, reduction, deadline); });
  }
  void broadcast(const void* in, void* out, std::size_t bytes, int root, Deadline deadline) override {
    through(in, index() == root ? bytes : 0, out, bytes,
            [&](const void* from, void* to) { host_.broadcast(from, to, bytes, root, deadline); });
  }
  void all_gather(const void* in, void* out, std::size_t bytes_each, Deadline deadline) override {
    through(in, bytes_each, out, bytes_each * members(),
            [&](const void* from, void* to) { host_.all_gather(from, to, bytes_each, deadline); });
  }
  void all_to_all(const void* in, void* out, std::size_t bytes_each, Deadline deadline) override {
    through(in, bytes_each * members(), out, bytes_each * members(),
            [&](const void* from, void* to) { host_.all_to_all(from, to, bytes_each, deadline); });
  }

 private:
  [[nodiscard]] std::size_t members() const noexcept { return static_cast<std::size_t>(host_.size()); }

  // Nothing else is on the stream of this thread, so the copies wait for nobody.
  template <class Exchanging>
  void through(const void* in, std::size_t in_bytes, void* out, std::size_t out_bytes, Exchanging&& exchange) {
    std::vector<std::byte> from(in_bytes);
    std::vector<std::byte> to(out_bytes);
    check(cudaSetDevice(ordinal_));
    copy(from.data(), in, in_bytes, cudaMemcpyDeviceToHost);
    exchange(from.data(), to.data());
    copy(out, to.data(), out_bytes, cudaMemcpyHostToDevice);
  }
  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    if (bytes == 0) return;
    check(cudaMemcpyAsync(to, from, bytes, kind, cudaStreamPerThread));
    check(cudaStreamSynchronize(cudaStreamPerThread));
  }
  void check(cudaError_t result) const {
    if (result == cudaSuccess) return;
    throw ExchangeFailed(text("GPU ", ordinal_, " cannot copy to the host and back: ", cudaGetErrorString(result), "."), Site());
  }

  Exchange& host_;
  int ordinal_;
};

}  // namespace

std::unique_ptr<Exchange> stage_through_host(Exchange& host, int ordinal) {
  return std::make_unique<StagedExchange>(host, ordinal);
}

}  // namespace tutti
