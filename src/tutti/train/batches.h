// A data set of any kind as lists of tensors: what a model is called with, and last what it should have given.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/data/dataset.h"

namespace tutti {

namespace detail {

template <class T>
constexpr bool is_tensor_list = false;
template <class... T>
constexpr bool is_tensor_list<std::tuple<T...>> = sizeof...(T) >= 2 && (std::same_as<T, Tensor> && ...);
template <>
inline constexpr bool is_tensor_list<std::pair<Tensor, Tensor>> = true;

}  // namespace detail

// Made of a Dataset where one is wanted. Copies share it.
class Batches {
 public:
  using Tensors = std::vector<Tensor>;

  Batches() = default;
  template <class Examples, class Batch>
  Batches(const Dataset<Examples, Batch>& data) : source_(std::make_shared<Of<Examples, Batch>>(data)) {
    static_assert(detail::is_tensor_list<Batch>,
                  "a model learns from batches that are tuples of tensors: its inputs, and last the targets; use Dataset::map() "
                  "to make such batches of others");
  }

  // A pass over the data, from a place to the end of its epoch.
  class Pass {
   public:
    virtual ~Pass() = default;
    // Nothing: the epoch is over.
    virtual std::optional<Tensors> next() = 0;
  };

  [[nodiscard]] bool is_defined() const noexcept { return source_ != nullptr; }
  [[nodiscard]] std::int64_t examples() const { return source_->examples(); }
  [[nodiscard]] std::int64_t batches() const { return source_->batches(); }
  [[nodiscard]] bool is_prefetched() const { return source_->is_prefetched(); }
  [[nodiscard]] Batches prefetch(const std::string& device, Site site) const { return Batches(source_->prefetch(device, site)); }
  [[nodiscard]] std::unique_ptr<Pass> from(const DatasetPosition& position) const { return source_->from(position); }

 private:
  struct Source {
    virtual ~Source() = default;
    [[nodiscard]] virtual std::int64_t examples() const = 0;
    [[nodiscard]] virtual std::int64_t batches() const = 0;
    [[nodiscard]] virtual bool is_prefetched() const = 0;
    [[nodiscard]] virtual std::shared_ptr<const Source> prefetch(const std::string& device, Site site) const = 0;
    [[nodiscard]] virtual std::unique_ptr<Pass> from(const DatasetPosition& position) const = 0;
  };
  template <class Examples, class Batch>
  struct Of final : Source {
    explicit Of(Dataset<Examples, Batch> given) : data(std::move(given)) {}
    [[nodiscard]] std::int64_t examples() const override { return data.size(); }
    [[nodiscard]] std::int64_t batches() const override { return data.batches(); }
    [[nodiscard]] bool is_prefetched() const override { return data.is_prefetched(); }
    [[nodiscard]] std::shared_ptr<const Source> prefetch(const std::string& device, Site site) const override {
      return std::make_shared<Of>(data.prefetch(device, 2, site));
    }
    [[nodiscard]] std::unique_ptr<Pass> from(const DatasetPosition& position) const override {
      return std::make_unique<PassOf<Examples, Batch>>(data.from(position));
    }
    Dataset<Examples, Batch> data;
  };
  template <class Examples, class Batch>
  struct PassOf final : Pass {
    explicit PassOf(Epoch<Examples, Batch> given) : epoch(std::move(given)) {}
    std::optional<Tensors> next() override {
      std::optional<Batch> batch = epoch.next();
      if (!batch) return std::nullopt;
      return std::apply([](auto&... each) { return Tensors{std::move(each)...}; }, *batch);
    }
    Epoch<Examples, Batch> epoch;
  };

  explicit Batches(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  std::shared_ptr<const Source> source_;
};

}  // namespace tutti
