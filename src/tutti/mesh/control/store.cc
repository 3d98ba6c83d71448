#include "tutti/mesh/control/store.h"

#include <algorithm>
#include <utility>

namespace tutti::control {

namespace {

// A node of the map beside what it holds.
constexpr std::size_t cost_of_entry = 128;

}  // namespace

bool Store::put(const std::string& key, std::string value, std::vector<Asker>& waited) {
  const auto found = values_.find(key);
  const std::size_t before = found == values_.end() ? 0 : found->second.size();
  const std::size_t added = found == values_.end() ? cost_of_entry + key.size() : 0;
  if (held_ - before + added + value.size() > limit_) return false;
  held_ = held_ - before + added + value.size();
  values_[key] = std::move(value);
  if (const auto askers = waiting_.find(key); askers != waiting_.end()) {
    waited = std::move(askers->second);
    waiting_.erase(askers);
  }
  return true;
}

const std::string* Store::get(const std::string& key, Asker asker) {
  if (const auto found = values_.find(key); found != values_.end()) return &found->second;
  waiting_[key].push_back(asker);
  return nullptr;
}

bool Store::forget(Asker asker) {
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
    const auto gone = std::erase_if(it->second, [asker](Asker a) { return a.rank == asker.rank && a.ticket == asker.ticket; });
    if (gone == 0) continue;
    if (it->second.empty()) waiting_.erase(it);
    return true;
  }
  return false;
}

void Store::forget_all(int rank) {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    std::erase_if(it->second, [rank](Asker a) { return a.rank == rank; });
    it = it->second.empty() ? waiting_.erase(it) : std::next(it);
  }
}

}  // namespace tutti::control
