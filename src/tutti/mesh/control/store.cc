#include "tutti/mesh/control/store.h"

#include <algorithm>
#include <utility>

namespace tutti::control {

namespace {

// A node of the map beside what it holds.
constexpr std::size_t cost_of_entry = 128;

}  // namespace

std::size_t Store::cost_of(const std::string& key, const Entry& entry) {
  return cost_of_entry + key.size() + entry.value.size() + entry.ranks.size() * sizeof(int);
}

bool Store::put(const std::string& key, std::string value, std::vector<int> ranks, Deadline until, std::vector<Asker>& waited) {
  const auto found = values_.find(key);
  const std::size_t before = found == values_.end() ? 0 : cost_of(key, found->second);
  Entry entry{std::move(value), std::move(ranks), until};
  const std::size_t after = cost_of(key, entry);
  if (held_ - before + after > limit_) return false;
  held_ = held_ - before + after;
  if (found != values_.end() && found->second.until) leaving_.erase({*found->second.until, key});
  values_[key] = std::move(entry);
  if (until) leaving_.emplace(*until, key);
  if (const auto askers = waiting_.find(key); askers != waiting_.end()) {
    waited = std::move(askers->second);
    waiting_.erase(askers);
  }
  return true;
}

const std::string* Store::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second.value;
}

void Store::wait(const std::string& key, Asker asker) { waiting_[key].push_back(std::move(asker)); }

bool Store::forget(const Asker& asker) {
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
    const auto gone = std::erase_if(it->second, [&](const Asker& a) { return a.rank == asker.rank && a.ticket == asker.ticket; });
    if (gone == 0) continue;
    if (it->second.empty()) waiting_.erase(it);
    return true;
  }
  return false;
}

void Store::forget_all(int rank) {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    std::erase_if(it->second, [rank](const Asker& a) { return a.rank == rank; });
    it = it->second.empty() ? waiting_.erase(it) : std::next(it);
  }
}

std::vector<Store::Asker> Store::take_who_need(int rank) {
  std::vector<Asker> taken;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    std::erase_if(it->second, [&](Asker& a) {
      const bool needs_it = std::binary_search(a.needs.begin(), a.needs.end(), rank);
      if (needs_it) taken.push_back(std::move(a));
      return needs_it;
    });
    it = it->second.empty() ? waiting_.erase(it) : std::next(it);
  }
  return taken;
}

void Store::forget_groups_of(int rank, Clock::time_point until) {
  for (auto& [key, entry] : values_) {
    if (!std::binary_search(entry.ranks.begin(), entry.ranks.end(), rank) || (entry.until && *entry.until <= until)) continue;
    if (entry.until) leaving_.erase({*entry.until, key});
    entry.until = until;
    leaving_.emplace(until, key);
  }
}

void Store::tick(Clock::time_point now) {
  while (!leaving_.empty() && leaving_.begin()->first <= now) {
    const auto found = values_.find(leaving_.begin()->second);
    held_ -= cost_of(found->first, found->second);
    values_.erase(found);
    leaving_.erase(leaving_.begin());
  }
}

Deadline Store::next_deadline() const { return leaving_.empty() ? Deadline() : Deadline(leaving_.begin()->first); }

}  // namespace tutti::control
