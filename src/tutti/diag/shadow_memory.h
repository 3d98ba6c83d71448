// For every byte in use: the last write and the reads since, as far as something may still race with them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "tutti/base/inline_vector.h"
#include "tutti/diag/happens_before.h"
#include "tutti/hal/access_observer.h"

namespace tutti {

using Address = std::uintptr_t;

struct PastAccess {
  TimelinePoint point;
  const char* op;
  const Device* device;
  Site site;
  MemoryUse use;
  bool is_of_earlier_owner;  // the memory has been handed out again since
};

// Do the two use a byte in common between these addresses?
bool meet(const MemoryUse& a, const MemoryUse& b, Address from, Address to) noexcept;

// One map for all devices: memory that two of them use, pinned for one, has one address.
class ShadowMemory {
 public:
  // Calls visit(access, from, to) for each past access to bytes that `use` may touch.
  template <class Visit>
  void visit(const MemoryUse& use, Visit&& visit) {
    const auto from = reinterpret_cast<Address>(use.begin);
    const Address to = from + use.bytes;
    for (auto at = first_beyond(from); at != cells_.end() && at->first < to; ++at) {
      const Address begin = std::max(from, at->first);
      const Address end = std::min(to, at->second.end);
      for (const PastAccess& access : at->second.accesses) visit(access, begin, end);
    }
  }

  // Everything it conflicts with comes before it. Forgets what can only race with something that races with this too.
  void record(const PastAccess& access, const HappensBefore& order);
  // Whoever uses these bytes next comes after all that used them so far.
  void clear(Address from, Address to);
  // They have a new owner, and uses of earlier ones may be in flight.
  void begin_life(Address from, Address to);

  [[nodiscard]] std::size_t size() const noexcept { return cells_.size(); }
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return forgotten_; }

 private:
  struct Cell {
    Address end;
    InlineVector<PastAccess, 2> accesses;
  };
  using Cells = std::map<Address, Cell>;

  // The first cell that ends after the address.
  Cells::iterator first_beyond(Address address);
  void split_at(Address address);
  void add(Cell& cell, const PastAccess& access, const HappensBefore& order);
  void bound(const HappensBefore& order);

  Cells cells_;  // apart from each other, ascending
  std::size_t sweep_at_ = 4096;
  std::uint64_t forgotten_ = 0;
};

}  // namespace tutti
