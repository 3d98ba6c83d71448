#include "tutti/ops/variable_cell.h"

#include "tutti/exec/dispatch.h"
#include "tutti/exec/transfer.h"
#include "tutti/tensor/mirrors.h"
#include "tutti/tensor/view.h"

namespace tutti {

VariableCell::VariableCell(LogicalDevice& device, Tensor initial)
    : on_(device), shape_(initial.shape()), dtype_(initial.dtype()), current_(std::move(initial)) {}

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

Tensor VariableCell::storage() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

Tensor VariableCell::read(Site site) {
  const std::lock_guard lock(mutex_);
  if (!is_bound_) [[likely]]
    return current_;
  if (!read_.is_defined()) read_ = fresh_copy(current_, on_, site);
  return read_;
}

void VariableCell::replace(const Tensor& value, Site site) {
  read_ = {};
  Mirrors::drop(current_.impl());
  overwrite(current_, value, site);
}

void VariableCell::assign(const Tensor& value, Site site) {
  const std::lock_guard lock(mutex_);
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
