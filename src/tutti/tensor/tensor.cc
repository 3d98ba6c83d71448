#include "tutti/tensor/tensor.h"

#include "tutti/base/error.h"
#include "tutti/hal/device.h"
#include "tutti/tensor/mirrors.h"

namespace tutti {

TensorImpl::~TensorImpl() {
  if (mirrors_.load(std::memory_order_acquire) != nullptr) [[unlikely]]
    Mirrors::drop(*this);
}

void TensorImpl::release() noexcept { FreeList<TensorImpl>::destroy(this); }

std::uint64_t TensorImpl::identity() const noexcept {
  static constinit std::atomic<std::uint64_t> last{0};
  std::uint64_t found = identity_.load(std::memory_order_relaxed);
  if (found != 0) return found;
  const std::uint64_t fresh = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return identity_.compare_exchange_strong(found, fresh, std::memory_order_relaxed) ? fresh : found;
}

void Tensor::raise_undefined(Site site) {
  throw InvalidArgument(
      "a tensor that was never given a value (or was moved from) was used; assign the result of an op to it first", site);
}

bool Tensor::is_contiguous(Site site) const { return strides(site) == dense_strides(shape(site)) || size(site) <= 1; }

const std::string& Tensor::device(Site site) const { return checked(site).buffer()->device().name(); }

void Tensor::sync(const SyncOptions& options, Site site) const {
  const Ref<Buffer>& buffer = checked(site).buffer();
  sync_point(buffer->written(),
             {.reason = SyncReason::tensor_sync, .site = site, .intent = options.intent, .op = buffer->made_by()},
             options.timeout);
  if (const FailureRef failure = buffer->failure().get()) failure->raise();
}

Tensor make_dense(Ref<Buffer> buffer, DType dtype, const Shape& shape) {
  return Tensor(Ref<TensorImpl>(FreeList<TensorImpl>::make(std::move(buffer), dtype, shape, dense_strides(shape), 0)));
}

Tensor make_ordered(Ref<Buffer> buffer, DType dtype, const Shape& shape, const Dims& strides) {
  return Tensor(Ref<TensorImpl>(FreeList<TensorImpl>::make(std::move(buffer), dtype, shape, strides, 0)));
}

}  // namespace tutti
