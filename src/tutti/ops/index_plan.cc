#include "tutti/ops/index_plan.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/index_message.h"
#include "tutti/ops/elementwise.h"

namespace tutti::detail {

namespace {

std::size_t axes_taken(const Index& item, Site site) {
  if (std::holds_alternative<std::int64_t>(item.item()) || std::holds_alternative<Range>(item.item())) return 1;
  const Tensor* tensor = std::get_if<Tensor>(&item.item());
  if (tensor == nullptr) return 0;
  return tensor->dtype(site) == DType::boolean ? tensor->rank() : 1;
}

// Goes through the items, taking the tensor's axes one after the other.
class Planner {
 public:
  Planner(const char* function, const Shape& shape, IndexPlan& plan, Site site)
      : function_(function), shape_(shape), strides_(dense_strides(shape)), site_(site), plan_(plan) {}

  void operator()(std::int64_t position) {
    joins_group();
    const std::int64_t size = shape_[at_];
    if (position < -size || position >= size)
      throw InvalidArgument(text(function_, ": ", index_out_of_range(position, static_cast<std::int64_t>(at_), size)), site_);
    const std::int64_t start = position < 0 ? position + size : position;
    plan_.part.axes.push_back({start, 1, 1});
    plan_.part.dropped = static_cast<std::uint8_t>(plan_.part.dropped | 1U << at_);
    plan_.offset += start * strides_[at_];
    ++at_;
  }
  void operator()(const Range& range) {
    ends_group();
    keep(resolve_range(function_, range, shape_[at_], site_));
  }
  void operator()(Ellipsis) {
    ends_group();
    for (std::size_t i = 0; i < left_over_; ++i) keep_axis();
  }
  void operator()(NewAxis) {
    ends_group();
    if (plan_.shape.size() < most_axes) plan_.part.added = static_cast<std::uint8_t>(plan_.part.added | 1U << plan_.shape.size());
    push(1, 0);
  }
  void operator()(const Tensor& tensor) {
    joins_group();
    if (tensor.dtype() != DType::boolean) {
      plan_.indices[plan_.shape.size()] = as_indices(function_, tensor, site_);
      plan_.has_indices = true;
      keep_axis();
      return;
    }
    if (tensor.rank() == 0)
      throw InvalidArgument(
          text(function_, ": a mask needs at least one axis; this one has none. Use where() to choose by one bool"), site_);
    plan_.masks[plan_.mask_count++] = {&tensor, plan_.shape.size()};
    for (std::size_t i = 0; i < tensor.rank(); ++i) {
      if (tensor.shape()[i] != shape_[at_]) {
        throw ShapeError(
            text(function_, ": a mask of shape ", to_string(tensor.shape()), " does not fit a tensor of shape ",
                 to_string(shape_), ": axis ", at_, " has size ", shape_[at_], ", that of the mask ", tensor.shape()[i]),
            site_);
      }
      keep_axis();
    }
  }

  void run(std::span<const Index> items) {
    std::size_t taken = 0;
    int ellipses = 0;
    for (const Index& item : items) {
      taken += axes_taken(item, site_);
      ellipses += std::holds_alternative<Ellipsis>(item.item()) ? 1 : 0;
    }
    if (ellipses > 1)
      throw InvalidArgument(text(function_, ": an index has at most one ellipsis; this one has ", ellipses), site_);
    if (taken > shape_.size()) {
      throw ShapeError(text(function_, ": an index over ", taken, " axes was given to a tensor of shape ", to_string(shape_),
                            ", which has ", shape_.size()),
                       site_);
    }
    left_over_ = shape_.size() - taken;
    for (const Index& item : items) std::visit(*this, item.item());
    while (at_ < shape_.size()) keep_axis();
  }

 private:
  enum class Group : std::uint8_t { none, open, closed };

  void joins_group() {
    if (group_ == Group::none) plan_.group = plan_.shape.size();
    if (group_ == Group::closed) plan_.is_split = true;
    if (group_ == Group::none) group_ = Group::open;
  }
  void ends_group() {
    if (group_ == Group::open) group_ = Group::closed;
  }
  void push(std::int64_t size, std::int64_t stride) {
    if (plan_.shape.size() == most_axes)
      throw ShapeError(text(function_, ": the index would give a view with more than 8 axes"), site_);
    plan_.names[plan_.shape.size()] = static_cast<std::int8_t>(at_);
    plan_.shape.push_back(size);
    plan_.strides.push_back(stride);
  }
  void keep_axis() { keep({0, shape_[at_], 1}); }
  void keep(const Stretch& part) {
    plan_.part.axes.push_back(part);
    plan_.offset += part.start * strides_[at_];
    push(part.count, strides_[at_] * part.step);
    ++at_;
  }

  const char* function_;
  const Shape& shape_;
  const Dims strides_;
  Site site_;
  IndexPlan& plan_;
  std::size_t at_ = 0;  // the next axis of the tensor
  std::size_t left_over_ = 0;
  Group group_ = Group::none;
};

}  // namespace

Tensor as_indices(const char* function, const Tensor& x, Site site) {
  if (index_dtypes.contains(x.dtype(site))) return x;
  if (integer_dtypes.contains(x.dtype())) return cast(x, DType::i32, site);
  throw DTypeError(
      text(function, ": the indices must be integers; these are ", to_string(x.dtype()), ". Convert with cast() first"), site);
}

void IndexPlan::replace_mask(std::size_t number, const Tensor& positions, Site site) {
  const Mask& mask = masks[number];
  for (std::size_t i = 0; i < mask.tensor->rank(); ++i) {
    const auto column = static_cast<std::int64_t>(i);
    const Tensor one = slice(positions, 1, {column, column + 1}, site);
    indices[mask.first + i] = reshape(one, {positions.shape()[0]}, site);
  }
  has_indices = true;
}

IndexPlan plan_index(const char* function, const Shape& shape, std::span<const Index> items, Site site) {
  IndexPlan plan;
  Planner(function, shape, plan, site).run(items);
  return plan;
}

Tensor view_by(const char* function, const Tensor& x, std::span<const Index> items, Site site) {
  return slice_by(x, plan_index(function, x.shape(site), items, site).part, site);
}

ArrangedIndex arrange(const char* function, const IndexPlan& plan, Site site) {
  ArrangedIndex out;
  Shape common;
  const auto push = [&](std::size_t axis) {
    out.axes.push_back(static_cast<std::int64_t>(axis));
    out.shape.push_back(plan.shape[axis]);
    out.strides.push_back(plan.strides[axis]);
  };
  out.first = plan.is_split ? 0 : plan.group;
  for (std::size_t i = 0; i < out.first; ++i) push(i);
  for (std::size_t i = 0; i < plan.shape.size(); ++i) {
    if (!plan.indices[i].is_defined()) continue;
    push(i);
    const Tensor& tensor = plan.indices[i];
    const std::optional<Shape> both = broadcast(common, tensor.shape());
    if (!both) {
      throw ShapeError(text(function, ": index tensors of shapes ", to_string(common), " and ", to_string(tensor.shape()),
                            " do not broadcast: sizes must be equal or 1, counted from the last axis"),
                       site);
    }
    common = *both;
    out.names[out.count] = plan.names[i];
    out.indices[out.count++] = tensor;
  }
  for (std::size_t i = 0; i < out.count; ++i) {
    if (!(out.indices[i].shape() == common)) out.indices[i] = broadcast_to(out.indices[i], common, site);
  }
  for (std::size_t i = out.first; i < plan.shape.size(); ++i) {
    if (!plan.indices[i].is_defined()) push(i);
  }
  if (plan.shape.size() - out.count + common.size() > most_axes)
    throw ShapeError(text(function, ": the result would have more than 8 axes"), site);
  for (std::size_t i = 0; i < out.first; ++i) out.result.push_back(out.shape[i]);
  for (const std::int64_t size : common) out.result.push_back(size);
  for (std::size_t i = out.first + out.count; i < out.shape.size(); ++i) out.result.push_back(out.shape[i]);
  return out;
}

}  // namespace tutti::detail
