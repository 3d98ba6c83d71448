// Plans by key, a bounded number of them: the one that was not asked for the longest makes room.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tutti/base/fields.h"
#include "tutti/kernels/cuda/cudnn_plan.h"

namespace tutti::kernels::cuda {

// Key is an aggregate.
template <class Key>
class PlanCache {
 public:
  using Plan = std::shared_ptr<const CudnnPlan>;

  // make() is called without the lock and may return null, which is remembered too; of two threads that make at once the first
  // counts.
  template <class Make>
  Plan find_or(const Key& key, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = all_.find(key); found != all_.end()) {
        found->second.used = ++clock_;
        return found->second.plan;
      }
    }
    Plan made = make();
    const std::lock_guard lock(mutex_);
    if (all_.size() >= most) drop_oldest();
    return all_.try_emplace(key, Entry{std::move(made), ++clock_}).first->second.plan;
  }

 private:
  static constexpr std::size_t most = 512;
  struct Entry {
    Plan plan;
    std::uint64_t used;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return hash_of_fields(key); }
  };
  struct Same {
    bool operator()(const Key& a, const Key& b) const { return have_equal_fields(a, b); }
  };
  void drop_oldest() {
    auto oldest = all_.begin();
    for (auto at = all_.begin(); at != all_.end(); ++at) {
      if (at->second.used < oldest->second.used) oldest = at;
    }
    all_.erase(oldest);
  }

  std::mutex mutex_;
  std::uint64_t clock_ = 0;
  std::unordered_map<Key, Entry, Hash, Same> all_;
};

}  // namespace tutti::kernels::cuda
