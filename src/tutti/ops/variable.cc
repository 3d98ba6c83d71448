#include "tutti/ops/variable.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/launch_listener.h"
#include "tutti/exec/transfer.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/replica.h"
#include "tutti/ops/variable_cell.h"
#include "tutti/place/placement.h"
#include "tutti/place/scope.h"

namespace tutti {

namespace {

VariableCell& cell_of(const OpCall& call) { return call.data_as<CellData>().cell(); }

void note(const OpCall& call) {
  record_placement(call.op.name.c_str(), cell_of(call).on(), PlacementReason::variable, call.site);
}

void run_read(OpCall& call) {
  note(call);
  call.outputs.push_back(cell_of(call).read(call.site));
}

void run_assign(OpCall& call) {
  const OpInput& value = call.inputs()[0];
  const Tensor held = value.tensor != nullptr ? call.tensor(0)
                                              : from_bytes(value.scalar_dtype, Shape{},
                                                           std::span(value.scalar).first(size_of(value.scalar_dtype)), call.site);
  note(call);
  cell_of(call).assign(held, call.site, value.is_given_away);
}

void run_assign_add(OpCall& call) { cell_of(call).assign_add(call.inputs()[0], call.site); }

const OpRow& read_row =
    register_op({.name = "ReadVariableOp", .function = "Variable::value", .kind = OpKind::read, .run = run_read});
const OpRow& assign_row =
    register_op({.name = "AssignVariableOp", .function = "Variable::assign", .kind = OpKind::update, .run = run_assign});
const OpRow& assign_add_row = register_op(
    {.name = "AssignAddVariableOp", .function = "Variable::assign_add", .kind = OpKind::update, .run = run_assign_add});

LogicalDevice& device_for(const Tensor& initial, Site site) {
  static const OpRow& copy = find_op("_Copy");
  Runtime& instance = runtime(site);
  if (detail::thread_state.scope == nullptr || detail::thread_state.scope->is_automatic)
    return instance.of(initial.impl(site).buffer()->device());
  return place_op(instance, {"VarHandleOp", "Variable"}, copy.mask_for(DType::f32), {}, site);
}

void check_fits(const char* what, const Shape& value, const Shape& variable, Site site) {
  const std::optional<Shape> fitted = broadcast(value, variable);
  if (fitted && *fitted == variable) return;
  throw ShapeError(text(what, ": a value of shape ", to_string(value), " does not fit a variable of shape ", to_string(variable)),
                   site);
}

}  // namespace

Variable::Variable(const Tensor& initial, Site site) {
  (void)initial.impl(site);  // before anything is recorded
  // What a replica makes while it runs is its own.
  const detail::Mirroring* const mirroring = detail::thread_state.replica == nullptr ? detail::thread_state.mirroring : nullptr;
  const Tensor value = mirroring != nullptr ? mirroring->first_value(initial, site) : initial;
  LogicalDevice& on = mirroring != nullptr ? *mirroring->devices().front() : device_for(initial, site);
  {
    const Unheard meanwhile;
    cell_ = std::make_shared<VariableCell>(on, fresh_copy(value, on, site));
    if (mirroring != nullptr) {
      std::vector<std::shared_ptr<VariableCell>> others;
      for (LogicalDevice* const other : mirroring->devices().subspan(1))
        others.push_back(std::make_shared<VariableCell>(*other, fresh_copy(value, *other, site)));
      cell_->mirror(std::move(others));
    }
  }
  if (detail::thread_state.top != nullptr) [[unlikely]]
    assign(value, site);  // a call, so that a record begins with its own first value
}

VariableCell& Variable::first(Site site) const {
  if (!cell_) [[unlikely]]
    throw InvalidArgument("a variable that was moved from was used; use the one it was moved to", site);
  return *cell_;
}

VariableCell& Variable::checked(Site site) const {
  (void)first(site);
  return *cell();
}

const std::shared_ptr<VariableCell>& Variable::replica_cell() const noexcept {
  const detail::Replica& as = *detail::thread_state.replica;
  if (!cell_ || as.index == 0 || !cell_->is_mirrored_over(as.devices)) return cell_;
  return cell_->others()[as.index - 1];
}

template <class Each>
void Variable::assign_cells(const char* what, Site site, Each&& each) const {
  const VariableCell& whole = first(site);
  const detail::Replica* const as = detail::thread_state.replica;
  if (as == nullptr) {
    for (const std::shared_ptr<VariableCell>& other : whole.others()) each(other, false);
    return each(cell_, true);
  }
  if (whole.number() < as->first_cell && !whole.is_mirrored_over(as->devices)) {
    throw InvalidState(text(what, ": a replica may not change a variable that has no value of its own on every device of the ",
                            "strategy, here one on ", whole.on().name(),
                            "; make the variable while a MirroredStrategy::Scope of this strategy is open"),
                       site);
  }
  each(cell(), true);
}

const Shape& Variable::shape(Site site) const { return checked(site).shape(); }
DType Variable::dtype(Site site) const { return checked(site).dtype(); }
const std::string& Variable::device(Site site) const { return checked(site).on().name(); }

bool Variable::is_trainable(Site site) const { return first(site).is_trainable(); }
void Variable::set_trainable(bool trainable, Site site) const { first(site).set_trainable(trainable); }

Tensor Variable::value(Site site) const {
  VariableCell& cell = checked(site);
  if (detail::thread_state.top == nullptr) [[likely]] {
    record_placement(read_row.name.c_str(), cell.on(), PlacementReason::variable, site);
    return cell.read(site);
  }
  const CellData data(this->cell());
  OpCall call(read_row, site);
  call.data = &data;
  return dispatch_one(call);
}

void Variable::assign(TensorArg value, Site site) const {
  const DType dtype = first(site).dtype();
  if (!value.is_number()) {
    const Tensor& source = value.tensor();
    if (source.dtype(site) != dtype) {
      throw DTypeError(text("assign: the variable is ", to_string(dtype), " and the value ", to_string(source.dtype()),
                            "; cast() the value first"),
                       site);
    }
    check_fits("assign", source.shape(), cell_->shape(), site);
  }
  assign_cells("assign", site, [&](const std::shared_ptr<VariableCell>& cell, bool is_last) {
    const CellData data(cell);
    OpCall call(assign_row, site);
    call.data = &data;
    call.add(value.is_number() ? detail::scalar_input(value.number(), dtype, site)
                               : OpInput{.tensor = &value.tensor().impl(), .is_given_away = is_last && value.is_given_away()});
    dispatch(call);
  });
  value.let_go();
}

void Variable::assign_add(TensorArg delta, Site site) const {
  const DType dtype = first(site).dtype();
  if (!delta.is_number() && promote(delta.tensor().dtype(site), dtype) != dtype) {
    throw DTypeError(text("assign_add: the variable is ", to_string(dtype), " and cannot hold what a value of ",
                          to_string(delta.tensor().dtype()), " makes of it; cast() the value first"),
                     site);
  }
  if (!delta.is_number()) check_fits("assign_add", delta.tensor().shape(), cell_->shape(), site);
  Tensor held;
  const OpInput given = detail::input_of(delta, dtype, held, site);
  assign_cells("assign_add", site, [&](const std::shared_ptr<VariableCell>& cell, bool is_last) {
    OpInput input = given;
    Tensor there;
    if (!is_last && given.tensor != nullptr) {
      there = copied(held.is_defined() ? held : delta.tensor(), cell->on(), {.if_elsewhere = true}, site);
      input = {.tensor = &there.impl()};
    }
    if (detail::thread_state.top == nullptr) [[likely]]
      return cell->assign_add(input, site);
    const CellData data(cell);
    OpCall call(assign_add_row, site);
    call.data = &data;
    call.add(input);
    dispatch(call);
  });
}

Tensor::Tensor(const Variable& variable, Site site) : Tensor(variable.value(site)) {}
TensorArg::TensorArg(const Variable& variable, Site site) : held_(std::make_shared<Tensor>(variable.value(site))), site_(site) {
  tensor_ = given_ = held_.get();
}

}  // namespace tutti
