#include "tutti/memory/growth_resource.h"

#include <algorithm>

#include "tutti/hal/door.h"

namespace tutti {

Extent GrowthResource::map(std::size_t least, std::size_t most, std::byte* at, Site site) {
  refusal_.clear();
  const std::size_t granule = space_.granule();
  if (least > space_.range()) return {};
  least = std::max<std::size_t>(1, (least + granule - 1) / granule) * granule;
  most = most / granule * granule;
  if (least > most) return {};
  const Range hole = find_hole(least, at);
  if (hole.bytes == 0) {
    if (at == nullptr) refusal_ = "no hole in the address range is large enough";
    return {};
  }
  std::size_t wanted = std::clamp(step() / granule * granule, least, std::min(most, hole.bytes));
  ranges_.reserve(ranges_.size() + 1);
  // Warm-up ends when the pool has been as large before.
  const bool is_again = mapped_ + wanted <= most_mapped_;
  const SyncReason reason = is_again ? SyncReason::memory_remapping : SyncReason::memory_mapping;
  const BlockingRegion mapping(reason, site);
  const PoolLock::Long until_mapped(lock_, reason);
  // A device that refuses a comfortable step may still grant a smaller one.
  while (true) {
    refusal_ = space_.map(hole.offset, wanted);
    if (refusal_.empty()) break;
    if (wanted == least) return {};
    wanted = std::max(least, (growth_ ? wanted / 2 : wanted / 8 * 7) / granule * granule);
  }
  note_mapped({hole.offset, wanted});
  return {space_.base() + hole.offset, wanted};
}

void GrowthResource::unmap(Extent extent, Site site) {
  const Range gone{static_cast<std::size_t>(extent.address - space_.base()), extent.bytes};
  ranges_.reserve(ranges_.size() + 1);
  const auto range = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& r) { return gone.end() <= r.end(); });
  const Range before{range->offset, gone.offset - range->offset};
  const Range after{gone.end(), range->end() - gone.end()};
  {
    const BlockingRegion trimming(SyncReason::memory_trimming, site);
    const PoolLock::Long until_trimmed(lock_, SyncReason::memory_trimming);
    space_.unmap(gone.offset, gone.bytes);
  }
  mapped_ -= gone.bytes;
  const auto place = ranges_.erase(range);
  if (after.bytes != 0 && before.bytes != 0) {
    ranges_.insert(place, {before, after});
  } else if (after.bytes != 0 || before.bytes != 0) {
    ranges_.insert(place, after.bytes != 0 ? after : before);
  }
}

std::size_t GrowthResource::step() const noexcept {
  const std::size_t capacity = space_.capacity();
  const std::size_t left = capacity > mapped_ ? capacity - mapped_ : 0;
  // Nearly all: the driver and other programs need some.
  const std::size_t step =
      growth_ ? std::clamp<std::size_t>(mapped_, first_step, space_.largest_step()) : capacity - capacity / 32;
  return std::min(step, left);
}

GrowthResource::Range GrowthResource::find_hole(std::size_t least, std::byte* at) const noexcept {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= ranges_.size(); ++i) {
    const std::size_t end = i < ranges_.size() ? ranges_[i].offset : space_.range() / space_.granule() * space_.granule();
    if (end - begin >= least && (at == nullptr || at == space_.base() + begin)) return {begin, end - begin};
    if (i < ranges_.size()) begin = ranges_[i].end();
  }
  return {0, 0};
}

void GrowthResource::note_mapped(Range range) {
  mapped_ += range.bytes;
  most_mapped_ = std::max(most_mapped_, mapped_);
  auto above = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& r) { return r.offset >= range.end(); });
  if (above != ranges_.end() && above->offset == range.end()) {
    range.bytes += above->bytes;
    above = ranges_.erase(above);
  }
  if (above != ranges_.begin() && std::prev(above)->end() == range.offset) {
    std::prev(above)->bytes += range.bytes;
  } else {
    ranges_.insert(above, range);
  }
}

}  // namespace tutti
