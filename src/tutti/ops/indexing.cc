#include "tutti/ops/indexing.h"

#include "tutti/exec/dispatch.h"
#include "tutti/exec/transfer.h"
#include "tutti/ops/index_plan.h"
#include "tutti/place/placement.h"

namespace tutti {

Tensor detail::index_as(const char* function, const Tensor& x, std::span<const Index> items, Site site) {
  detail::IndexPlan plan = detail::plan_index(function, x.shape(site), items, site);
  Tensor part = detail::slice_by(x, plan.part, site);
  if (plan.is_view()) return part;
  if (plan.is_one_mask() && plan.masks[0].tensor->rank() == plan.shape.size())
    return masked_select(part, *plan.masks[0].tensor, site);
  for (std::size_t i = 0; i < plan.mask_count; ++i) plan.replace_mask(i, nonzero(*plan.masks[i].tensor, site), site);
  const detail::ArrangedIndex arranged = detail::arrange(function, plan, site);
  return detail::gather_nd(function, permute_dims(part, arranged.axes, site), arranged.first,
                           std::span(arranged.indices).first(arranged.count), arranged.names, site);
}

Tensor index(const Tensor& x, std::span<const Index> items, Site site) { return detail::index_as("index", x, items, site); }

namespace {

struct PinAttributes {
  LogicalDevice* by;  // null: any that pins
};

LogicalDevice& any_that_pins(Runtime& instance) {
  for (LogicalDevice* each : instance.devices()) {
    if (each->staging() != nullptr) return *each;
  }
  return instance.cpu();
}

void run_pin(OpCall& call) {
  Runtime& instance = runtime(call.site);
  LogicalDevice* const asked = call.attributes.as<PinAttributes>().by;
  record_placement("_Copy", instance.cpu(), PlacementReason::explicit_copy, call.site);
  call.outputs.push_back(pinned_copy(call.tensor(0), asked != nullptr ? *asked : any_that_pins(instance), call.site));
}

void run_contiguous(OpCall& call) {
  const Tensor x = call.tensor(0);
  LogicalDevice& here = runtime(call.site).of(x.impl().buffer()->device());
  call.outputs.push_back(x.is_contiguous() ? x : fresh_copy(x, here, call.site, call.function()));
}

const OpRow& pin_row = register_op({.name = "_Pin", .function = "pin", .kind = OpKind::copy, .run = run_pin});
const OpRow& contiguous_row =
    register_op({.name = "_Contiguous", .function = "contiguous", .kind = OpKind::copy, .run = run_contiguous});

}  // namespace

Tensor contiguous(const Tensor& x, Site site) {
  OpCall call(contiguous_row, site);
  call.add(x);
  return dispatch_one(call);
}

Tensor copy_to(const Tensor& x, std::string_view device, Site site) {
  static const OpRow& copy_row = find_op("_Copy");
  OpCall call(copy_row, site);
  call.add(x);
  call.pinned = &find_device(device, site);
  return dispatch_one(call);
}

Tensor pin(const Tensor& x, std::string_view device, Site site) {
  OpCall call(pin_row, site);
  call.add(x);
  call.attributes = Attributes(PinAttributes{device.empty() ? nullptr : &find_device(device, site)});
  return dispatch_one(call);
}

bool is_pinned(const Tensor& x, Site site) {
  const Buffer& buffer = *x.impl(site).buffer();
  Runtime& instance = runtime(site);
  if (!instance.of(buffer.device()).is_cpu()) return false;
  for (LogicalDevice* each : instance.devices()) {
    if (each->staging() != nullptr && each->device().reaches(buffer.address(), buffer.bytes())) return true;
  }
  return false;
}

}  // namespace tutti
