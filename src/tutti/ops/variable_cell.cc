#include "tutti/ops/variable_cell.h"

#include "tutti/exec/dispatch.h"
#include "tutti/exec/transfer.h"
#include "tutti/tensor/mirrors.h"
#include "tutti/tensor/view.h"

namespace tutti {

namespace {
std::atomic<std::uint64_t> cells_made{0};
std::atomic<std::uint64_t> settings_changed{0};
}  // namespace

VariableCell::VariableCell(LogicalDevice& device, Tensor initial)
    : on_(device),
      shape_(initial.shape()),
      dtype_(initial.dtype()),
      number_(cells_made.fetch_add(1, std::memory_order_relaxed)),
      current_(std::move(initial)) {}

std::uint64_t VariableCell::next_number() noexcept { return cells_made.load(std::memory_order_relaxed); }

bool VariableCell::is_mirrored_over(std::span<LogicalDevice* const> devices) const noexcept {
  if (!is_mirrored_ || devices.size() != others_.size() + 1 || devices[0] != &on_) return false;
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (&others_[i]->on_ != devices[i + 1]) return false;
  }
  return true;
}

std::uint64_t VariableCell::changes_of_settings() noexcept { return settings_changed.load(std::memory_order_relaxed); }

void VariableCell::set(std::atomic<bool>& setting, bool value) noexcept {
  if (setting.exchange(value, std::memory_order_relaxed) != value && is_bound())
    settings_changed.fetch_add(1, std::memory_order_relaxed);
}

void VariableCell::bind(Site site) {
  const std::lock_guard lock(mutex_);
  if (is_bound_) return;
  if (has_snapshots()) current_ = fresh_copy(current_, on_, site);
  is_bound_ = true;
}

bool VariableCell::is_bound() const {
  const std::lock_guard lock(mutex_);
  return is_bound_;
}

std::unique_lock<std::mutex> VariableCell::hold(bool is_written) {
  std::unique_lock lock(mutex_);
  if (is_written) {
    read_ = {};
    Mirrors::drop(current_.impl());
  }
  return lock;
}

Tensor VariableCell::storage() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

Tensor VariableCell::read(Site site) {
  const std::lock_guard lock(mutex_);
  if (!is_bound_) [[likely]]
    return current_;
  // A record needs a copy of its own: one that another thread made would be a constant in it.
  if (detail::thread_state.listener != nullptr) [[unlikely]]
    return fresh_copy(current_, on_, site);
  if (!read_.is_defined()) read_ = fresh_copy(current_, on_, site);
  return read_;
}

void VariableCell::replace(const Tensor& value, Site site) {
  read_ = {};
  Mirrors::drop(current_.impl());
  overwrite(current_, value, site);
}

void VariableCell::assign(const Tensor& value, Site site, bool is_given_away) {
  const std::lock_guard lock(mutex_);
  const Ref<Buffer>& memory = value.impl().buffer();
  if (is_given_away && !is_bound_ && value.shape() == shape_ && value.is_contiguous() && memory->is_unique() &&
      !memory->is_lent() && memory->bytes() == checked_bytes("assign", dtype_, shape_, site) &&
      &memory->device() == &on_.device()) {
    current_ = make_dense(memory, dtype_, shape_);
    return;
  }
  if (is_bound_ || !has_snapshots()) return replace(value, site);
  current_ = fresh_copy(detail::broadcasted(value, shape_), on_, site);
}

void VariableCell::assign_add(const OpInput& delta, Site site) {
  static const OpRow& add = find_op("AddV2");
  const std::lock_guard lock(mutex_);
  OpCall call(add, site);
  call.pinned = &on_;
  call.add({.tensor = &current_.impl(), .is_given_away = true});  // in place unless a snapshot is alive
  call.add(delta);
  run_now(call);
  if (is_bound_ && call.outputs[0].impl().buffer() != current_.impl().buffer()) return replace(call.outputs[0], site);
  current_ = std::move(call.outputs[0]);
  read_ = {};
}

}  // namespace tutti
