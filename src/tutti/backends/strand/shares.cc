#include "tutti/backends/strand/shares.h"

#include <algorithm>

namespace tutti {

namespace {

constexpr std::uint64_t end_unit = std::uint64_t{1} << 32U;

constexpr std::uint64_t begin_of(std::uint64_t range) { return range % end_unit; }
constexpr std::uint64_t end_of(std::uint64_t range) { return range / end_unit; }
constexpr bool is_empty_range(std::uint64_t range) { return begin_of(range) >= end_of(range); }

// `next` says what is left of a range that is not empty. What the range was, or nothing.
template <class Next>
std::optional<std::uint64_t> shrink(std::atomic<std::uint64_t>& range, Next&& next) noexcept {
  std::uint64_t now = range.load(std::memory_order_relaxed);
  while (!is_empty_range(now)) {
    if (range.compare_exchange_weak(now, next(now), std::memory_order_relaxed)) return now;
  }
  return std::nullopt;
}

}  // namespace

Shares::Shares(std::size_t chunks, std::size_t members) noexcept : count_(std::clamp<std::size_t>(members, 1, most_shares)) {
  for (std::size_t i = 0; i < count_; ++i) {
    const std::uint64_t begin = chunks * i / count_;
    const std::uint64_t end = chunks * (i + 1) / count_;
    shares_[i].range.store(begin + end * end_unit, std::memory_order_relaxed);
  }
}

std::size_t Shares::claim(int core) noexcept {
  const std::size_t wanted = static_cast<std::size_t>(std::max(core, 0)) % count_;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t share = (wanted + i) % count_;
    if (!shares_[share].is_claimed.exchange(true, std::memory_order_relaxed)) return share;
  }
  return wanted;
}

std::optional<std::size_t> Shares::take(std::size_t share) noexcept {
  if (const auto was = shrink(shares_[share].range, [](std::uint64_t now) { return now + 1; })) return begin_of(*was);
  for (std::size_t i = 1; i < count_; ++i) {
    std::atomic<std::uint64_t>& other = shares_[(share + i) % count_].range;
    if (const auto was = shrink(other, [](std::uint64_t now) { return now - end_unit; })) return end_of(*was) - 1;
  }
  return std::nullopt;
}

bool Shares::is_empty() const noexcept {
  return std::all_of(shares_.begin(), shares_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [](const Share& each) { return is_empty_range(each.range.load(std::memory_order_relaxed)); });
}

void Shares::clear() noexcept {
  for (std::size_t i = 0; i < count_; ++i) shares_[i].range.store(0, std::memory_order_relaxed);
}

}  // namespace tutti
