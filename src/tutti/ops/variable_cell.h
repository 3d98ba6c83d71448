// The cell behind a Variable, shared by all handles to it. For whoever records or binds cells; not for users.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "tutti/exec/op_call.h"

namespace tutti {

class VariableCell {
 public:
  VariableCell(LogicalDevice& device, Tensor initial);

  [[nodiscard]] LogicalDevice& on() const noexcept { return on_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] bool is_trainable() const noexcept { return is_trainable_.load(std::memory_order_relaxed); }
  void set_trainable(bool trainable) noexcept { is_trainable_.store(trainable, std::memory_order_relaxed); }

  // From now on the value stays where it is in memory: every assignment writes there, and a read gives a copy, one for each
  // version of the value.
  void bind(Site site);
  [[nodiscard]] bool is_bound() const;
  // The memory of a bound cell.
  [[nodiscard]] Tensor storage() const;

  [[nodiscard]] Tensor read(Site site);
  void assign(const Tensor& value, Site site);
  void assign_add(const OpInput& delta, Site site);

 private:
  [[nodiscard]] bool has_snapshots() const { return !current_.impl().is_unique() || !current_.impl().buffer()->is_unique(); }
  void replace(const Tensor& value, Site site);

  mutable std::mutex mutex_;  // held while an assignment is handed over: that is what orders assignments
  LogicalDevice& on_;
  const Shape shape_;  // asked for without the lock, so not taken from the value of the moment
  const DType dtype_;
  Tensor current_;
  bool is_bound_ = false;
  std::atomic<bool> is_trainable_{true};
  Tensor read_;  // of a bound cell: the copy of this version, if someone asked for it
};

// The data of calls that read or assign one.
class CellData final : public CallData {
 public:
  explicit CellData(std::shared_ptr<VariableCell> cell) noexcept : cell_(std::move(cell)) {}
  [[nodiscard]] VariableCell& cell() const noexcept { return *cell_; }
  [[nodiscard]] const std::shared_ptr<VariableCell>& shared() const noexcept { return cell_; }
  [[nodiscard]] std::shared_ptr<const CallData> keep() const override { return std::make_shared<CellData>(cell_); }

 private:
  std::shared_ptr<VariableCell> cell_;
};

}  // namespace tutti
