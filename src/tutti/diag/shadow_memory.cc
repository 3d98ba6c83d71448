#include "tutti/diag/shadow_memory.h"

#include <utility>

#include "tutti/hal/timeline.h"

namespace tutti {

namespace {

constexpr std::size_t most_cells = std::size_t{1} << 15U;
constexpr std::size_t most_accesses = 64;  // per cell
constexpr std::size_t fewest_before_sweep = 4096;

bool is_whole(const MemoryUse& use) noexcept { return use.run == use.bytes; }

Address begin_of(const MemoryUse& use) noexcept { return reinterpret_cast<Address>(use.begin); }

// Runs [first, last) of every period, counted from the use's beginning: do they touch these bytes, which are within the use?
bool touches(const MemoryUse& use, std::size_t first, std::size_t last, Address from, Address to) noexcept {
  if (first >= last) return false;
  const std::size_t into = ((from - begin_of(use)) % use.period + use.period - first) % use.period;
  return into < last - first || from + (use.period - into) < to;
}
bool touches(const MemoryUse& use, Address from, Address to) noexcept {
  return is_whole(use) || use.period == 0 || touches(use, 0, use.run, from, to);
}

bool have_same_bytes(const MemoryUse& a, const MemoryUse& b) noexcept {
  return a.begin == b.begin && a.bytes == b.bytes && a.run == b.run && a.period == b.period && (is_whole(a) || a.period != 0);
}

template <class Accesses, class Predicate>
void drop_if(Accesses& accesses, Predicate&& is_dropped) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (!is_dropped(accesses[i])) accesses[kept++] = accesses[i];
  }
  accesses.resize(kept);
}

}  // namespace

bool meet(const MemoryUse& a, const MemoryUse& b, Address from, Address to) noexcept {
  if (!touches(a, from, to) || !touches(b, from, to)) return false;
  if (is_whole(a) || is_whole(b) || a.period != b.period || a.period == 0) return true;
  const std::size_t period = a.period;
  const std::size_t shift = (begin_of(b) % period + period - begin_of(a) % period) % period;
  // The runs of b as a counts: those that begin in the same period, and what reaches over from the one before.
  return touches(a, shift, std::min(a.run, shift + b.run), from, to) ||
         (shift + b.run > period && touches(a, 0, std::min(a.run, shift + b.run - period), from, to));
}

ShadowMemory::Cells::iterator ShadowMemory::first_beyond(Address address) {
  auto at = cells_.upper_bound(address);
  if (at == cells_.begin()) return at;
  const auto before = std::prev(at);
  return before->second.end > address ? before : at;
}

void ShadowMemory::split_at(Address address) {
  const auto at = first_beyond(address);
  if (at == cells_.end() || at->first >= address) return;
  cells_.emplace_hint(std::next(at), address, at->second);
  at->second.end = address;
}

void ShadowMemory::record(const PastAccess& access, const HappensBefore& order) {
  const Address from = begin_of(access.use);
  const Address to = from + access.use.bytes;
  if (const auto exact = cells_.find(from); exact != cells_.end() && exact->second.end == to) [[likely]]
    return add(exact->second, access, order);
  split_at(from);
  split_at(to);
  auto at = cells_.lower_bound(from);
  if (access.use.is_write && is_whole(access.use)) {
    while (at != cells_.end() && at->first < to) at = cells_.erase(at);
    at = cells_.emplace_hint(at, from, Cell{to, {}});
    add(at->second, access, order);
  } else {
    for (Address next = from; next < to; next = at->second.end, ++at) {
      if (at == cells_.end() || at->first > next) {
        const Address end = at == cells_.end() ? to : std::min(to, at->first);
        at = cells_.emplace_hint(at, next, Cell{end, {}});
      }
      add(at->second, access, order);
    }
  }
  if (cells_.size() > sweep_at_) bound(order);
}

void ShadowMemory::add(Cell& cell, const PastAccess& access, const HappensBefore& order) {
  if (access.use.is_write && is_whole(access.use)) {
    cell.accesses.clear();
  } else {
    drop_if(cell.accesses, [&](const PastAccess& past) {
      if (order.is_known_to_host(past.point)) return true;
      return (access.use.is_write || !past.use.is_write) && (is_whole(access.use) || have_same_bytes(past.use, access.use)) &&
             order.is_ordered(past.point, access.point.stream);
    });
  }
  if (cell.accesses.size() >= most_accesses) [[unlikely]] {
    bool is_first = true;
    drop_if(cell.accesses, [&](const PastAccess&) { return std::exchange(is_first, false); });
    ++forgotten_;
  }
  cell.accesses.push_back(access);
}

void ShadowMemory::clear(Address from, Address to) {
  split_at(from);
  split_at(to);
  // Empty cells stay: the next use is likely to be of the same bytes.
  for (auto at = cells_.lower_bound(from); at != cells_.end() && at->first < to; ++at) at->second.accesses.clear();
}

void ShadowMemory::begin_life(Address from, Address to) {
  for (auto at = first_beyond(from); at != cells_.end() && at->first < to; ++at) {
    for (PastAccess& access : at->second.accesses) access.is_of_earlier_owner = true;
  }
}

void ShadowMemory::bound(const HappensBefore& order) {
  for (auto at = cells_.begin(); at != cells_.end();) {
    drop_if(at->second.accesses, [&](const PastAccess& past) { return order.is_known_to_host(past.point); });
    at = at->second.accesses.empty() ? cells_.erase(at) : std::next(at);
  }
  // What is done can hardly go wrong any more.
  for (auto at = cells_.begin(); cells_.size() > most_cells / 2 && at != cells_.end();) {
    const bool is_over = std::all_of(at->second.accesses.begin(), at->second.accesses.end(),
                                     [](const PastAccess& past) { return is_done(past.point); });
    if (is_over) forgotten_ += at->second.accesses.size();
    at = is_over ? cells_.erase(at) : std::next(at);
  }
  const std::size_t room = cells_.size() > most_cells ? most_cells / 4 : 0;
  while (cells_.size() > most_cells - room) {
    forgotten_ += cells_.begin()->second.accesses.size();
    cells_.erase(cells_.begin());
  }
  sweep_at_ = std::clamp(2 * cells_.size(), fewest_before_sweep, most_cells);
}

}  // namespace tutti
