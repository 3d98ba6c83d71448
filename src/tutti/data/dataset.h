// Examples in memory, given out in batches: shuffled anew in every epoch, changed on the way, copied to a device ahead of time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/data/example_rows.h"
#include "tutti/ops/flatten.h"

namespace tutti {

// Where a pass over a data set is; to go on from there, give it to Dataset::from.
struct DatasetPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  // the next one
  bool operator==(const DatasetPosition&) const = default;
};

template <class Examples, class Batch = Examples>
class Dataset;

// One pass over a data set, from where it was begun to the end of the epoch.
template <class Examples, class Batch>
class Epoch {
 public:
  // Nothing: the epoch is over.
  std::optional<Batch> next() {
    while (ahead_.size() <= data_.ahead_ && started_ < data_.batches()) ahead_.push_back(data_.make(order_, started_++));
    if (ahead_.empty()) return std::nullopt;
    std::optional<Batch> out(std::move(ahead_.front()));
    ahead_.pop_front();
    ++position_.batch;
    return out;
  }
  // Of the batch that next() will give.
  [[nodiscard]] const DatasetPosition& position() const noexcept { return position_; }

  // for (const auto& [x, y] : data.epoch(3))
  class Iterator {
   public:
    explicit Iterator(Epoch& epoch) : epoch_(&epoch), batch_(epoch.next()) {}
    const Batch& operator*() const noexcept { return *batch_; }
    Iterator& operator++() {
      batch_ = epoch_->next();
      return *this;
    }
    bool operator==(std::nullptr_t) const noexcept { return !batch_.has_value(); }

   private:
    Epoch* epoch_;
    std::optional<Batch> batch_;
  };
  Iterator begin() { return Iterator(*this); }
  [[nodiscard]] std::nullptr_t end() const noexcept { return nullptr; }

 private:
  friend class Dataset<Examples, Batch>;
  Epoch(const Dataset<Examples, Batch>& data, const DatasetPosition& from)
      : data_(data), position_(from), started_(from.batch), order_(data.rows_.order(from.epoch)) {}

  Dataset<Examples, Batch> data_;
  DatasetPosition position_;
  std::int64_t started_;
  std::vector<std::int64_t> order_;
  std::deque<Batch> ahead_;
};

// Examples is any nesting of tensors (flatten.h) whose first axes are all of one size: the number of examples. They are kept on
// the CPU. Each of these functions gives a data set of its own; copies share their tensors.
//   const auto data = Dataset(std::tuple(images, labels)).shuffle(7).batch(64).prefetch("GPU:0");
//   for (std::int64_t epoch = 0; epoch < 5; ++epoch)
//     for (const auto& [x, y] : data.epoch(epoch)) step(x, y);
template <class Examples, class Batch>
class Dataset {
 public:
  explicit Dataset(const Examples& examples, Site site = {})
    requires std::same_as<Examples, Batch>
      : form_(examples), rows_(leaves(form_), site), map_([](Examples batch) { return batch; }), site_(site) {}

  [[nodiscard]] std::int64_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] std::int64_t batches() const noexcept { return rows_.batches(); }  // of an epoch

  // Another order in every epoch, the same in every run.
  [[nodiscard]] Dataset shuffle(std::uint64_t seed) const {
    Dataset out = *this;
    out.rows_.shuffle(seed);
    return out;
  }
  // The last batch of an epoch has what is left.
  [[nodiscard]] Dataset batch(std::int64_t size, const BatchOptions& options = {}, Site site = {}) const {
    Dataset out = *this;
    out.rows_.set_batch(size, options, site);
    return out;
  }
  // The function gets whole batches, on the device they were copied to.
  template <class F>
  [[nodiscard]] auto map(F function) const {
    using Mapped = std::remove_cvref_t<std::invoke_result_t<F&, Batch>>;
    return Dataset<Examples, Mapped>(
        form_, rows_, [before = map_, function](Examples batch) -> Mapped { return function(before(std::move(batch))); }, stream_,
        ahead_, site_);
  }
  // So many batches are on their way to the device while one is in use, through pinned memory and on a stream of their own.
  [[nodiscard]] Dataset prefetch(std::string_view device, std::int64_t ahead = 2, Site site = {}) const {
    Dataset out = *this;
    out.stream_ = std::make_shared<const Stream>(device, StreamOptions{}, site);
    out.ahead_ = static_cast<std::size_t>(std::max<std::int64_t>(ahead, 0));
    return out;
  }
  [[nodiscard]] bool is_prefetched() const noexcept { return stream_ != nullptr; }

  [[nodiscard]] Epoch<Examples, Batch> epoch(std::int64_t number = 0) const { return from({.epoch = number}); }
  [[nodiscard]] Epoch<Examples, Batch> from(const DatasetPosition& position) const {
    return Epoch<Examples, Batch>(*this, position);
  }

 private:
  template <class, class>
  friend class Dataset;
  friend class Epoch<Examples, Batch>;

  Dataset(Examples form, detail::ExampleRows rows, std::function<Batch(Examples)> map, std::shared_ptr<const Stream> stream,
          std::size_t ahead, Site site)
      : form_(std::move(form)),
        rows_(std::move(rows)),
        map_(std::move(map)),
        stream_(std::move(stream)),
        ahead_(ahead),
        site_(site) {}

  // Takes the tensors out: form_ keeps what else there is.
  static std::vector<Tensor> leaves(Examples& examples) {
    std::vector<Tensor> out;
    each_leaf(examples, [&](auto& leaf) {
      static_assert(std::same_as<std::remove_cvref_t<decltype(leaf)>, Tensor>, "a data set holds tensors, not variables");
      out.push_back(std::exchange(leaf, Tensor()));
    });
    return out;
  }

  [[nodiscard]] Batch make(const std::vector<std::int64_t>& order, std::int64_t number) const {
    std::vector<Tensor> tensors = rows_.batch(order, number, site_);
    std::optional<StreamScope> on;
    if (stream_) {
      tensors = detail::moved(tensors, *stream_, site_);
      on.emplace(*stream_, site_);
    }
    Examples out = form_;
    std::size_t next = 0;
    each_leaf(out, [&](Tensor& leaf) { leaf = std::move(tensors[next++]); });
    return map_(std::move(out));
  }

  Examples form_;
  detail::ExampleRows rows_;
  std::function<Batch(Examples)> map_;
  std::shared_ptr<const Stream> stream_;  // null: batches stay on the CPU
  std::size_t ahead_ = 0;
  Site site_;
};

template <class Examples>
Dataset(Examples) -> Dataset<Examples, Examples>;
template <class Examples>
Dataset(Examples, Site) -> Dataset<Examples, Examples>;

}  // namespace tutti
