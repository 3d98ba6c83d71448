#include "tutti/ops/indexing.h"

#include "tutti/exec/transfer.h"
#include "tutti/ops/index_plan.h"
#include "tutti/ops/repeats.h"
#include "tutti/place/placement.h"

namespace tutti {

Tensor index(const Tensor& x, std::span<const Index> items, Site site) {
  detail::IndexPlan plan = detail::plan_index(x.shape(site), x.strides(), x.impl().offset(), items, site);
  if (plan.is_view()) return detail::view_of(x, plan.shape, plan.strides, plan.offset);
  if (plan.is_one_mask() && plan.masks[0].tensor.rank() == plan.shape.size())
    return masked_select(detail::view_of(x, plan.shape, plan.strides, plan.offset), plan.masks[0].tensor, site);
  for (std::size_t i = 0; i < plan.mask_count; ++i) plan.replace_mask(i, nonzero(plan.masks[i].tensor, site), site);
  const detail::ArrangedIndex arranged = detail::arrange(plan, site);
  return detail::gather_nd(detail::view_of(x, arranged.shape, arranged.strides, plan.offset), arranged.first,
                           std::span(arranged.indices).first(arranged.count), arranged.names, site);
}

static Tensor copied_where_it_is(const Tensor& x, Site site) {
  return copy_to_device(x, runtime(site).of(x.impl(site).buffer()->device()), "_Copy", -1, site);
}

Tensor contiguous(const Tensor& x, Site site) {
  const std::uint32_t repeated = x.rank(site) == 0 ? 0 : detail::repeated_axes(x);
  if (repeated == 0 || !detail::is_worth_two_ops(x, site)) [[likely]]
    return copied_where_it_is(x, site);
  // Elements that are written many times and lie apart are put side by side first.
  const Tensor once = detail::once_along(x, repeated, site);
  if (detail::lies_side_by_side(once)) return copied_where_it_is(x, site);
  return copied_where_it_is(broadcast_to(copied_where_it_is(once, site), x.shape(), site), site);
}

Tensor reshape(const Tensor& x, const Shape& shape, Site site) {
  const Shape resolved = resolve_reshape(x.shape(site), shape, site);
  if (std::optional<Tensor> view = try_reshape(x, resolved)) return *std::move(view);
  return *try_reshape(contiguous(x, site), resolved);
}

Tensor copy_to(const Tensor& x, std::string_view device, Site site) {
  (void)x.impl(site);  // before anything is recorded
  LogicalDevice& to = find_device(device, site);
  record_placement("_Copy", to, PlacementReason::explicit_copy, site);
  return fresh_copy(x, to, site);
}

Tensor pin(const Tensor& x, std::string_view device, Site site) {
  (void)x.impl(site);  // before anything is recorded
  Runtime& instance = runtime(site);
  LogicalDevice* by = device.empty() ? &instance.cpu() : &find_device(device, site);
  for (LogicalDevice* each : instance.devices()) {
    if (device.empty() && by->staging() == nullptr && each->staging() != nullptr) by = each;
  }
  record_placement("_Copy", instance.cpu(), PlacementReason::explicit_copy, site);
  return pinned_copy(x, *by, site);
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
