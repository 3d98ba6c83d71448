#include "tutti/data/example_rows.h"

#include <algorithm>
#include <numeric>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/philox.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/gather.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/views.h"
#include "tutti/place/scope.h"
#include "tutti/place/settings.h"

namespace tutti::detail {

namespace {

// CPU ops of this thread are enqueued while it lives, also where their inputs are ready.
class Enqueued {
 public:
  Enqueued() noexcept : before_(get_synchronous_execution()) { set_synchronous_execution(false); }
  ~Enqueued() { set_synchronous_execution(before_); }
  Enqueued(const Enqueued&) = delete;
  Enqueued& operator=(const Enqueued&) = delete;

 private:
  bool before_;
};

}  // namespace

ExampleRows::ExampleRows(std::vector<Tensor> tensors, Site site) : tensors_(std::move(tensors)) {
  if (tensors_.empty()) throw InvalidArgument("a data set needs at least one tensor", site);
  for (Tensor& each : tensors_) {
    if (each.rank(site) == 0) throw ShapeError("a data set has one row per example, and a tensor here has no axis", site);
    if (each.shape()[0] != tensors_[0].shape()[0]) {
      throw ShapeError(text("the tensors of a data set have one row per example: the first has ", tensors_[0].shape()[0],
                            ", another ", each.shape()[0]),
                       site);
    }
    each = copy_to(each, "CPU:0", site);
  }
  size_ = tensors_[0].shape()[0];
}

std::int64_t ExampleRows::batches() const noexcept { return drop_remainder_ ? size_ / batch_ : (size_ + batch_ - 1) / batch_; }

void ExampleRows::set_batch(std::int64_t size, const BatchOptions& options, Site site) {
  if (size < 1) throw InvalidArgument(text("a batch of ", size, " examples"), site);
  if (options.drop_remainder && size > size_) {
    throw InvalidArgument(text("there are ", size_, " examples, so a batch of ", size,
                               " is never full; allow a smaller last one (drop_remainder = false)"),
                          site);
  }
  batch_ = std::min(size, std::max<std::int64_t>(1, size_));
  drop_remainder_ = options.drop_remainder;
}

std::vector<std::int64_t> ExampleRows::order(std::int64_t epoch) const {
  if (!seed_) return {};
  std::vector<std::int64_t> out(static_cast<std::size_t>(size_));
  std::iota(out.begin(), out.end(), 0);
  const auto part = [](std::uint64_t of, unsigned shift) { return static_cast<std::uint32_t>(of >> shift); };
  for (std::uint64_t left = out.size(); left > 1; --left) {
    const auto words = Philox::mix(
        {part(left, 0), part(left, 32), part(static_cast<std::uint64_t>(epoch), 0), part(static_cast<std::uint64_t>(epoch), 32)},
        part(*seed_, 0), part(*seed_, 32));
    std::swap(out[left - 1], out[(std::uint64_t{words[0]} << 32U | words[1]) % left]);
  }
  return out;
}

std::vector<Tensor> ExampleRows::batch(const std::vector<std::int64_t>& order, std::int64_t number, Site site) const {
  const std::int64_t begin = number * batch_;
  const std::int64_t end = std::min(begin + batch_, size_);
  const DeviceScope here("CPU:0", site);
  const Enqueued later;
  Tensor rows;
  if (!order.empty())
    rows = constant(std::span(order).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), site);
  std::vector<Tensor> out;
  for (const Tensor& each : tensors_)
    out.push_back(order.empty() ? slice(each, 0, {begin, end}, site) : take(each, rows, 0, site));
  return out;
}

std::vector<Tensor> pinned(const std::vector<Tensor>& tensors, const std::string& device, Site site) {
  const Enqueued later;
  std::vector<Tensor> out;
  for (const Tensor& each : tensors) out.push_back(pin(each, device, site));
  return out;
}

std::vector<Tensor> moved(const std::vector<Tensor>& tensors, const Stream& stream, Site site) {
  const Enqueued later;
  std::vector<Tensor> out;
  for (const Tensor& each : pinned(tensors, stream.device(), site)) {
    const StreamScope on(stream, site);
    out.push_back(copy_to(each, stream.device(), site));
  }
  return out;
}

}  // namespace tutti::detail
