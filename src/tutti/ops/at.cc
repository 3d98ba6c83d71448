#include "tutti/ops/at.h"

#include <array>

#include "tutti/base/error.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/index_plan.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/selection.h"

namespace tutti {

namespace {

using detail::ArrangedIndex;
using detail::IndexPlan;

const char* function_of(ScatterMode mode) noexcept {
  constexpr std::array functions{"At::set", "At::add", "At::multiply", "At::min", "At::max"};  // in the order of ScatterMode
  return functions[static_cast<std::size_t>(mode)];
}

Tensor scatter_to(const TensorArg& x, const IndexPlan& plan, ScatterMode mode, const TensorArg& values, Site site) {
  const ArrangedIndex arranged = detail::arrange(function_of(mode), plan, site);
  ScatterAttributes attributes;
  attributes.mode = mode;
  attributes.offset = plan.offset;
  attributes.rank = static_cast<std::int8_t>(arranged.shape.size());
  attributes.first = static_cast<std::int8_t>(arranged.first);
  attributes.names = arranged.names;
  for (std::size_t i = 0; i < arranged.shape.size(); ++i) attributes.axes[i] = {arranged.shape[i], arranged.strides[i]};
  return detail::scatter_values(function_of(mode), x, attributes, std::span(arranged.indices).first(arranged.count),
                                arranged.result, values, site);
}

// How many values there are for a mask's elements, with so many axes after those it covers; 1: the same for all.
std::int64_t values_along(const TensorArg& values, std::size_t axes_after, Site site) {
  if (values.is_number() || values.tensor().rank(site) <= axes_after) return 1;
  return values.tensor().shape()[values.tensor().rank() - axes_after - 1];
}

// A mask whose elements all get the same values: the device chooses, over the whole region, between what is there and what it
// would become.
Tensor choose_by_mask(const TensorArg& x, std::span<const Index> items, const IndexPlan& plan, ScatterMode mode,
                      const TensorArg& given, Site site) {
  const Tensor& mask = *plan.masks[0].tensor;
  const std::size_t first = plan.masks[0].first;
  const std::size_t end = first + mask.rank();
  Shape ones_after = mask.shape();
  for (std::size_t i = end; i < plan.shape.size(); ++i) ones_after.push_back(1);
  const Tensor condition = reshape(mask, ones_after, site);
  TensorArg values = given.is_number() ? given : TensorArg(given.tensor(), site);
  Tensor held;
  if (!given.is_number()) {
    Shape one_for_mask(plan.shape.view().first(first));
    one_for_mask.push_back(1);
    Shape ones_for_mask = plan.shape;
    for (std::size_t i = first; i < end; ++i) ones_for_mask[i] = 1;
    for (const std::int64_t size : plan.shape.view().subspan(end)) one_for_mask.push_back(size);
    held = detail::values_for(function_of(mode), given.tensor(), x.tensor().dtype(), one_for_mask, site);
    if (held.rank() > 0) held = reshape(held, ones_for_mask, site);
    values = TensorArg(held, site);
  }
  if (mode != ScatterMode::set) {
    IndexPlan all;
    all.shape = plan.shape;
    all.strides = dense_strides(plan.shape);
    const Tensor region = detail::view_by(function_of(mode), x.tensor(), items, site);
    held = scatter_to(region, all, mode, values, site);
    values = TensorArg(std::move(held), site);
  }
  const bool is_whole = plan.offset == 0 && plan.shape == x.tensor().shape() && plan.strides == dense_strides(plan.shape);
  if (is_whole) return where(condition, values, x, site);
  Tensor chosen = where(condition, values, detail::view_by(function_of(mode), x.tensor(), items, site), site);
  IndexPlan region = plan;
  region.mask_count = 0;
  return scatter_to(x, region, ScatterMode::set, chosen, site);
}

}  // namespace

At::At(TensorArg x, std::span<const Index> items, Site site) : x_(x), items_(items.begin(), items.end()) {
  if (x.is_number()) throw InvalidArgument("at() names places of a tensor; a number was given", site);
  (void)x.tensor().impl(site);
}

Tensor At::get(Site site) const { return detail::index_as("At::get", x_.tensor(), items_, site); }

Tensor At::update(ScatterMode mode, const TensorArg& values, Site site) {
  Tensor out = changed(mode, values, site);
  values.let_go();
  return out;
}

Tensor At::changed(ScatterMode mode, const TensorArg& values, Site site) const {
  const Shape shape = x_.tensor().shape(site);
  IndexPlan plan = detail::plan_index(function_of(mode), shape, items_, site);
  if (plan.is_one_mask()) {
    const Tensor& mask = *plan.masks[0].tensor;
    const std::int64_t count = values_along(values, plan.shape.size() - plan.masks[0].first - mask.rank(), site);
    if (count == 1) return choose_by_mask(x_, items_, plan, mode, values, site);
    plan.replace_mask(0, detail::positions_of(mask, count, site), site);
  } else {
    for (std::size_t i = 0; i < plan.mask_count; ++i) plan.replace_mask(i, nonzero(*plan.masks[i].tensor, site), site);
  }
  return scatter_to(x_, plan, mode, values, site);
}

}  // namespace tutti
