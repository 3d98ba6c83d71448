// Tensors with one row per example, cut into batches of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tutti/exec/stream.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

struct BatchOptions {
  bool drop_remainder = false;  // no last batch that is smaller than the others
};

namespace detail {

// Tensors with one row per example, and in which order rows go into batches.
class ExampleRows {
 public:
  ExampleRows(std::vector<Tensor> tensors, Site site);

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t batches() const noexcept;
  void set_batch(std::int64_t size, const BatchOptions& options, Site site);
  void shuffle(std::uint64_t seed) noexcept { seed_ = seed; }

  // Which row stands where in that epoch; empty: as they are. The same for the same seed and epoch, always.
  [[nodiscard]] std::vector<std::int64_t> order(std::int64_t epoch) const;
  // Nothing waits, and nothing runs in the caller: rows are gathered by the CPU's own stream.
  [[nodiscard]] std::vector<Tensor> batch(const std::vector<std::int64_t>& order, std::int64_t number, Site site) const;

 private:
  std::vector<Tensor> tensors_;  // on the CPU
  std::int64_t size_ = 0;
  std::int64_t batch_ = 1;
  bool drop_remainder_ = false;
  std::optional<std::uint64_t> seed_;
};

// Copies in memory that the device copies from by itself, made by the CPU's own stream.
std::vector<Tensor> pinned(const std::vector<Tensor>& tensors, const std::string& device, Site site);
// Copies from pinned memory on a stream of its own.
std::vector<Tensor> moved(const std::vector<Tensor>& tensors, const Stream& stream, Site site);

}  // namespace detail

}  // namespace tutti
