// The cell behind a Variable, shared by all handles to it. For whoever records or binds cells; not for users.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tutti/exec/op_call.h"

namespace tutti {

class VariableCell {
 public:
  VariableCell(LogicalDevice& device, Tensor initial);

  [[nodiscard]] LogicalDevice& on() const noexcept { return on_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] bool is_trainable() const noexcept {
    return is_trainable_.load(std::memory_order_relaxed) && !is_frozen_.load(std::memory_order_relaxed);
  }
  // Also while it is frozen.
  [[nodiscard]] bool is_trainable_by_itself() const noexcept { return is_trainable_.load(std::memory_order_relaxed); }
  void set_trainable(bool trainable) noexcept { set(is_trainable_, trainable); }
  // For a while: what is not trainable by itself is not afterwards either.
  void set_frozen(bool frozen) noexcept { set(is_frozen_, frozen); }
  [[nodiscard]] bool is_frozen() const noexcept { return is_frozen_.load(std::memory_order_relaxed); }
  // How often one of these was changed of a cell that a captured function uses, of all cells: what was recorded before is
  // another function.
  static std::uint64_t changes_of_settings() noexcept;

  // Of a mirrored variable's first cell: those of the other replicas, in their order. Before anyone else has it.
  void mirror(std::vector<std::shared_ptr<VariableCell>> others) {
    others_ = std::move(others);
    is_mirrored_ = true;
  }
  [[nodiscard]] std::span<const std::shared_ptr<VariableCell>> others() const noexcept { return others_; }
  [[nodiscard]] bool is_mirrored_over(std::span<LogicalDevice* const> devices) const noexcept;

  // From now on the value stays where it is in memory: every assignment writes there, and a read gives a copy, one for each
  // version of the value; where the thread is being recorded, one for each read.
  void bind(Site site);
  [[nodiscard]] bool is_bound() const;
  // The memory of a bound cell.
  [[nodiscard]] Tensor storage() const;
  // In every process a cell made later has a higher one.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  static std::uint64_t next_number() noexcept;

  // Keeps assignments away while work that uses a bound cell's memory is handed over; `is_written`: it gets another value.
  [[nodiscard]] std::unique_lock<std::mutex> hold(bool is_written);

  [[nodiscard]] Tensor read(Site site);
  // A value that was given away and lies by itself in memory of this device is taken over as it is.
  void assign(const Tensor& value, Site site, bool is_given_away = false);
  void assign_add(const OpInput& delta, Site site);

 private:
  void set(std::atomic<bool>& setting, bool value) noexcept;
  [[nodiscard]] bool has_snapshots() const { return !current_.impl().is_unique() || !current_.impl().buffer()->is_unique(); }
  void replace(const Tensor& value, Site site);

  mutable std::mutex mutex_;  // held while an assignment is handed over: that is what orders assignments
  LogicalDevice& on_;
  const Shape shape_;  // asked for without the lock, so not taken from the value of the moment
  const DType dtype_;
  const std::uint64_t number_;
  Tensor current_;
  bool is_bound_ = false;
  bool is_mirrored_ = false;
  std::vector<std::shared_ptr<VariableCell>> others_;
  std::atomic<bool> is_trainable_{true};
  std::atomic<bool> is_frozen_{false};
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
