#include "tutti/ops/variable.h"

#include <mutex>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/executor.h"
#include "tutti/exec/transfer.h"
#include "tutti/ops/creation.h"
#include "tutti/place/placement.h"
#include "tutti/place/scope.h"
#include "tutti/tensor/mirrors.h"
#include "tutti/tensor/view.h"

namespace tutti {

struct Variable::State {
  mutable std::mutex mutex;  // held while an assignment is handed over: that is what orders assignments
  LogicalDevice& on;
  const Shape shape;  // asked for without the lock, so not taken from the value of the moment
  const DType dtype;
  Tensor current;

  State(LogicalDevice& device, Tensor initial)
      : on(device), shape(initial.shape()), dtype(initial.dtype()), current(std::move(initial)) {}

  [[nodiscard]] bool has_snapshots() const { return !current.impl().is_unique() || !current.impl().buffer()->is_unique(); }
};

namespace {

// Rows of the log and of the journal, as TensorFlow names them; the work itself is a copy.
void infer_nothing(Inference& in) { in.reject_shapes("use a Variable"); }
const OpRow& assign_row = register_op({.name = "AssignVariableOp",
                                       .function = "Variable::assign",
                                       .infer = infer_nothing,
                                       .access = {Access::update, Access::read},
                                       .strided = true});

LogicalDevice& device_for(const Tensor& initial, Site site) {
  static const OpRow& copy = find_op("_Copy");
  Runtime& instance = runtime(site);
  if (detail::current_scope == nullptr || detail::current_scope->is_automatic)
    return instance.of(initial.impl(site).buffer()->device());
  return place_op(instance, "VarHandleOp", copy.mask_for(DType::f32), {}, site);
}

}  // namespace

Variable::Variable(const Tensor& initial, Site site) {
  (void)initial.impl(site);  // before anything is recorded
  LogicalDevice& on = device_for(initial, site);
  state_ = std::make_unique<State>(on, fresh_copy(initial, on, site));
}

Variable::Variable(Variable&&) noexcept = default;
Variable& Variable::operator=(Variable&&) noexcept = default;
Variable::~Variable() = default;

Variable::State& Variable::checked(Site site) const {
  if (!state_) [[unlikely]]
    throw InvalidArgument("a variable that was moved from was used; use the one it was moved to", site);
  return *state_;
}

const Shape& Variable::shape(Site site) const { return checked(site).shape; }
DType Variable::dtype(Site site) const { return checked(site).dtype; }
const std::string& Variable::device(Site site) const { return checked(site).on.name(); }

Tensor Variable::value(Site site) const {
  State& state = checked(site);
  record_placement("ReadVariableOp", state.on, PlacementReason::variable, site);
  const std::lock_guard lock(state.mutex);
  return state.current;
}

void Variable::assign(TensorArg value, Site site) {
  State& state = checked(site);
  Tensor held;
  if (value.is_number()) {
    const OpInput scalar = detail::scalar_input(value.number(), dtype(), site);
    held = from_bytes(dtype(), Shape{}, std::span(scalar.scalar).first(size_of(dtype())), site);
  }
  const Tensor& source = value.is_number() ? held : value.tensor();
  if (source.dtype(site) != dtype()) {
    throw DTypeError(text("assign: the variable is ", to_string(dtype()), " and the value ", to_string(source.dtype()),
                          "; cast() the value first"),
                     site);
  }
  const std::optional<Shape> fitted = broadcast(source.shape(), shape());
  if (!fitted || !(*fitted == shape())) {
    throw ShapeError(
        text("assign: a value of shape ", to_string(source.shape()), " does not fit a variable of shape ", to_string(shape())),
        site);
  }
  record_placement(assign_row.name.c_str(), state.on, PlacementReason::variable, site);
  const std::lock_guard lock(state.mutex);
  if (state.has_snapshots()) {
    state.current = fresh_copy(broadcast_to(source, shape(), site), state.on, site);
    return;
  }
  Mirrors::drop(state.current.impl());
  overwrite(state.current, source, site);
}

void Variable::assign_add(TensorArg delta, Site site) {
  static const OpRow& add = find_op("AddV2");
  State& state = checked(site);
  Tensor held;
  if (!delta.is_number() && promote(delta.tensor().dtype(site), dtype()) != dtype()) {
    throw DTypeError(text("assign_add: the variable is ", to_string(dtype()), " and cannot hold what a value of ",
                          to_string(delta.tensor().dtype()), " makes of it; cast() the value first"),
                     site);
  }
  const OpInput input = detail::input_of(delta, dtype(), held, site);
  if (input.tensor != nullptr) {
    const std::optional<Shape> fitted = broadcast(input.tensor->shape(), shape());
    if (!fitted || !(*fitted == shape())) {
      throw ShapeError(text("assign_add: a value of shape ", to_string(input.tensor->shape()),
                            " does not fit a variable of shape ", to_string(shape())),
                       site);
    }
  }
  const std::lock_guard lock(state.mutex);
  OpCall call(add, site);
  call.pinned = &state.on;
  call.add({.tensor = &state.current.impl(), .is_given_away = true});  // in place unless a snapshot is alive
  call.add(input);
  execute(call);
  state.current = std::move(call.outputs[0]);
}

}  // namespace tutti
