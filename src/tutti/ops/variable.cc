#include "tutti/ops/variable.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/transfer.h"
#include "tutti/ops/creation.h"
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
  cell_of(call).assign(held, call.site);
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
  return place_op(instance, "VarHandleOp", copy.mask_for(DType::f32), {}, site);
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
  LogicalDevice& on = device_for(initial, site);
  cell_ = std::make_shared<VariableCell>(on, fresh_copy(initial, on, site));
  if (detail::thread_state.top != nullptr) [[unlikely]]
    assign(initial, site);  // a call, so that a record begins with its own first value
}

VariableCell& Variable::checked(Site site) const {
  if (!cell_) [[unlikely]]
    throw InvalidArgument("a variable that was moved from was used; use the one it was moved to", site);
  return *cell_;
}

const Shape& Variable::shape(Site site) const { return checked(site).shape(); }
DType Variable::dtype(Site site) const { return checked(site).dtype(); }
const std::string& Variable::device(Site site) const { return checked(site).on().name(); }

bool Variable::is_trainable(Site site) const { return checked(site).is_trainable(); }
void Variable::set_trainable(bool trainable, Site site) const { checked(site).set_trainable(trainable); }

Tensor Variable::value(Site site) const {
  VariableCell& cell = checked(site);
  if (detail::thread_state.top == nullptr) [[likely]] {
    record_placement(read_row.name.c_str(), cell.on(), PlacementReason::variable, site);
    return cell.read(site);
  }
  const CellData data(cell_);
  OpCall call(read_row, site);
  call.data = &data;
  return dispatch_one(call);
}

void Variable::assign(TensorArg value, Site site) const {
  const VariableCell& cell = checked(site);
  const CellData data(cell_);
  OpCall call(assign_row, site);
  call.data = &data;
  if (value.is_number()) {
    call.add(detail::scalar_input(value.number(), cell.dtype(), site));
  } else {
    const Tensor& source = value.tensor();
    if (source.dtype(site) != cell.dtype()) {
      throw DTypeError(text("assign: the variable is ", to_string(cell.dtype()), " and the value ", to_string(source.dtype()),
                            "; cast() the value first"),
                       site);
    }
    check_fits("assign", source.shape(), cell.shape(), site);
    call.add(source);
  }
  dispatch(call);
}

void Variable::assign_add(TensorArg delta, Site site) const {
  VariableCell& cell = checked(site);
  Tensor held;
  if (!delta.is_number() && promote(delta.tensor().dtype(site), cell.dtype()) != cell.dtype()) {
    throw DTypeError(text("assign_add: the variable is ", to_string(cell.dtype()), " and cannot hold what a value of ",
                          to_string(delta.tensor().dtype()), " makes of it; cast() the value first"),
                     site);
  }
  if (!delta.is_number()) check_fits("assign_add", delta.tensor().shape(), cell.shape(), site);
  const OpInput input = detail::input_of(delta, cell.dtype(), held, site);
  if (detail::thread_state.top == nullptr) [[likely]]
    return cell.assign_add(input, site);
  const CellData data(cell_);
  OpCall call(assign_add_row, site);
  call.data = &data;
  call.add(input);
  dispatch(call);
}

Tensor::Tensor(const Variable& variable, Site site) : Tensor(variable.value(site)) {}
TensorArg::TensorArg(const Variable& variable, Site site) : held_(std::make_shared<Tensor>(variable.value(site))), site_(site) {
  tensor_ = given_ = held_.get();
}

}  // namespace tutti
