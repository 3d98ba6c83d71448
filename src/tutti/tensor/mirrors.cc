#include "tutti/tensor/mirrors.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>

namespace tutti {

namespace {

struct Kept {
  std::mutex mutex;
  std::unordered_set<const TensorImpl*> sources;
};

// One lock for all: a kept copy stands for a transfer between devices, next to which this is nothing.
Kept& kept() {
  static Kept& instance = *new Kept;
  return instance;
}

}  // namespace

Tensor Mirrors::find(const TensorImpl& source, const Device& device) {
  if (source.mirrors_.load(std::memory_order_acquire) == nullptr) return {};
  const std::lock_guard lock(kept().mutex);
  const Mirrors* mirrors = source.mirrors_.load(std::memory_order_relaxed);
  if (mirrors == nullptr) return {};
  for (const Tensor& copy : mirrors->copies) {
    if (&copy.impl().buffer()->device() == &device) return copy;
  }
  return {};
}

void Mirrors::keep(const TensorImpl& source, const Tensor& copy) {
  const std::lock_guard lock(kept().mutex);
  auto& slot = const_cast<TensorImpl&>(source).mirrors_;
  Mirrors* mirrors = slot.load(std::memory_order_relaxed);
  if (mirrors == nullptr) {
    mirrors = new Mirrors;
    slot.store(mirrors, std::memory_order_release);
    kept().sources.insert(&source);
  }
  mirrors->copies.push_back(copy);
}

void Mirrors::drop(const TensorImpl& source) noexcept {
  std::unique_ptr<Mirrors> dropped;  // let go after the lock: a copy may have copies of its own
  {
    const std::lock_guard lock(kept().mutex);
    dropped.reset(const_cast<TensorImpl&>(source).mirrors_.exchange(nullptr, std::memory_order_acq_rel));
    kept().sources.erase(&source);
  }
}

bool Mirrors::drop_all_on(Device& device) noexcept {
  std::vector<Tensor> dropped;
  {
    const std::lock_guard lock(kept().mutex);
    for (const TensorImpl* source : kept().sources) {
      auto& copies = source->mirrors_.load(std::memory_order_relaxed)->copies;
      const auto gone = std::stable_partition(copies.begin(), copies.end(),
                                              [&](const Tensor& c) { return &c.impl().buffer()->device() != &device; });
      std::move(gone, copies.end(), std::back_inserter(dropped));
      copies.erase(gone, copies.end());
    }
  }
  return !dropped.empty();
}

}  // namespace tutti
