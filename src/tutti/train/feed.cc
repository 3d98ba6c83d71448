#include "tutti/train/feed.h"

#include "tutti/place/device_name.h"
#include "tutti/place/scope.h"

namespace tutti::detail {

namespace {

constexpr std::size_t most_ahead = 2;

bool is_cpu(const std::string& device) { return parse_device_name(device).type == "CPU"; }

}  // namespace

Destination::Destination(std::optional<MirroredStrategy> strategy, std::string device, Site site)
    : strategy_(std::move(strategy)), device_(std::move(device)) {
  if (!strategy_) return;
  for (const std::string& each : strategy_->devices()) {
    if (!is_cpu(each)) streams_.emplace_back(each, StreamOptions{}, site);
  }
}

Batches Destination::prefetched(const Batches& data, Site site) const {
  // On the CPU batches are where they are used; those of several devices are shared out first.
  return strategy_ || data.is_prefetched() || is_cpu(device_) ? data : data.prefetch(device_, site);
}

SharedBatch Destination::shared_out(Batches::Tensors batch, Site site) const {
  const std::int64_t rows = SharedBatch::rows_of(batch);
  if (!strategy_) return {.parts = {std::move(batch)}, .rows = rows};
  if (!streams_.empty() && is_cpu(batch[0].device())) batch = pinned(batch, streams_[0].device(), site);
  std::deque<StreamScope> on;
  for (const Stream& each : streams_) on.emplace_back(each, site);
  SharedBatch out{.parts = strategy_->split(batch, site).values(), .rows = rows};
  while (!on.empty()) on.pop_back();  // in reverse order
  return out;
}

std::optional<SharedBatch> Destination::Feed::next() {
  const std::size_t wanted = to_.strategy_ ? most_ahead + 1 : 1;  // a data set that is prefetched is ahead by itself
  while (ahead_.size() < wanted) {
    std::optional<DeviceScope> here;  // else what a map() makes of it would be on the first GPU
    if (is_made_on_host_ && without_left(thread_state.scope) == nullptr) here.emplace("CPU:0", site_);
    std::optional<Batches::Tensors> batch = pass_->next();
    here.reset();
    if (!batch) break;
    ahead_.push_back(to_.shared_out(std::move(*batch), site_));
  }
  if (ahead_.empty()) return std::nullopt;
  std::optional<SharedBatch> out(std::move(ahead_.front()));
  ahead_.pop_front();
  return out;
}

}  // namespace tutti::detail
