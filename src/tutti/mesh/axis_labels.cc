#include "tutti/mesh/axis_labels.h"

#include <array>
#include <optional>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti::detail {

namespace {

constexpr std::size_t most_labels = 2 * most_axes + 2;
constexpr std::array<const char*, 3> ordinals{"first", "second", "third"};

// Which dimension of the mesh shards the axes of a label.
class Assignment {
 public:
  [[nodiscard]] std::optional<std::size_t> dim_of(std::int64_t label) const {
    return label == AxisLabels::none ? std::nullopt : dims_[static_cast<std::size_t>(label)];
  }
  [[nodiscard]] std::optional<std::size_t> label_of(std::size_t dim) const {
    for (std::size_t label = 0; label < dims_.size(); ++label) {
      if (dims_[label] == dim) return label;
    }
    return std::nullopt;
  }
  void assign(std::int64_t label, std::size_t dim) { dims_[static_cast<std::size_t>(label)] = dim; }

 private:
  std::array<std::optional<std::size_t>, most_labels> dims_;
};

Layout layout_of(const Mesh& mesh, const Dims& labels, const Assignment& assignment) {
  Layout out = Layout::replicated(mesh, labels.size());
  for (std::size_t axis = 0; axis < labels.size(); ++axis) out = out.with(axis, assignment.dim_of(labels[axis]));
  return out;
}

// Everything that is cut up in one is cut up alike in the other.
bool is_slice_away(const Layout& from, const Layout& to) {
  for (std::size_t axis = 0; axis < from.rank(); ++axis) {
    if (from.num_shards(axis) > 1 && from.dim_of(axis) != to.dim_of(axis)) return false;
  }
  return true;
}

// Why an input cannot stay where it is.
std::string conflict(const Layout& own, const Dims& labels, const Assignment& assignment) {
  std::size_t axis = 0;
  while (own.num_shards(axis) == 1 || own.dim_of(axis) == assignment.dim_of(labels[axis])) ++axis;
  const std::optional<std::size_t> wanted = assignment.dim_of(labels[axis]);
  return text("axis ", axis, " is sharded over '", own.spec(axis), "', ",
              wanted ? text("but goes with an axis sharded over '", own.mesh().dims()[*wanted].name, "'")
                     : std::string("which shards another axis already"));
}

[[noreturn]] void refuse(const char* op, std::span<const ShardedTensor* const> inputs, std::size_t at, const Dims& labels,
                         const Assignment& assignment, Site site) {
  std::string layouts;
  for (const ShardedTensor* input : inputs) layouts += text(layouts.empty() ? "" : " and ", input->layout().specs_text());
  const Layout& own = inputs[at]->layout();
  const Layout wanted = layout_of(own.mesh(), labels, assignment);
  throw InvalidArgument(
      text(op, ": inputs of the layouts ", layouts, " cannot be combined without moving data: of the ", ordinals[at], " ",
           conflict(own, labels, assignment), ". Use relayout(", ordinals[at], ", ", as_written(wanted), ") first"),
      site);
}

void require_one_mesh(const char* op, std::span<const ShardedTensor* const> inputs, Site site) {
  for (const ShardedTensor* input : inputs) {
    if (input->mesh(site) == inputs.front()->mesh()) continue;
    throw InvalidArgument(text(op, ": all inputs must be on one mesh; there are ", printable(inputs.front()->mesh().to_string()),
                               " and ", printable(input->mesh().to_string())),
                          site);
  }
}

}  // namespace

std::string as_written(const Layout& layout) {
  std::string specs;
  for (std::size_t axis = 0; axis < layout.rank(); ++axis)
    specs += text(axis > 0 ? ", " : "", layout.dim_of(axis) ? text('"', layout.spec(axis), '"') : std::string(unsharded));
  return text("Layout({", specs, "}, mesh)");
}

AxisLabels elementwise_labels(const char* op, std::span<const ShardedTensor* const> inputs, Site site) {
  Shape common = inputs.front()->shape(site);
  for (const ShardedTensor* input : inputs) {
    const std::optional<Shape> both = broadcast(common, input->shape(site));
    if (!both) {
      throw ShapeError(text(op, ": the shapes ", to_string(common), " and ", to_string(input->shape()), " do not broadcast"),
                       site);
    }
    common = *both;
  }
  AxisLabels out;
  for (std::size_t axis = 0; axis < common.size(); ++axis) out.output.push_back(static_cast<std::int64_t>(axis));
  for (const ShardedTensor* input : inputs) {
    Dims labels;
    const std::size_t missing = common.size() - input->rank();
    for (std::size_t axis = 0; axis < input->rank(); ++axis) {
      const bool is_broadcast = input->shape()[axis] != common[axis + missing];
      labels.push_back(is_broadcast ? AxisLabels::none : static_cast<std::int64_t>(axis + missing));
    }
    out.inputs.push_back(labels);
  }
  return out;
}

AxisLabels matmul_labels(const ShardedTensor& a, const ShardedTensor& b, Site site) {
  const auto refuse_shapes = [&](const char* why) {
    throw ShapeError(
        text("matmul: the shapes ", to_string(a.shape()), " and ", to_string(b.shape()), " do not go together: ", why), site);
  };
  if (a.rank(site) == 0 || b.rank(site) == 0) refuse_shapes("both inputs need at least one axis");
  const std::size_t a_batch = a.rank() < 2 ? 0 : a.rank() - 2;
  const std::size_t b_batch = b.rank() < 2 ? 0 : b.rank() - 2;
  const std::size_t batch = std::max(a_batch, b_batch);
  const auto rows = static_cast<std::int64_t>(batch);
  const std::int64_t columns = rows + 1;
  const std::int64_t contracted = rows + 2;
  if (a.shape()[a.rank() - 1] != b.shape()[b.rank() == 1 ? 0 : b.rank() - 2])
    refuse_shapes("the last axis of the first must be as long as the last but one of the second");
  AxisLabels out;
  out.inputs.resize(2);
  for (std::size_t axis = 0; axis < batch; ++axis) {
    const bool in_a = axis + a_batch >= batch;
    const bool in_b = axis + b_batch >= batch;
    const std::int64_t a_size = in_a ? a.shape()[axis + a_batch - batch] : 1;
    const std::int64_t b_size = in_b ? b.shape()[axis + b_batch - batch] : 1;
    if (a_size != b_size && a_size != 1 && b_size != 1) refuse_shapes("the leading axes do not broadcast");
    const auto label = static_cast<std::int64_t>(axis);
    if (in_a) out.inputs[0].push_back(a_size == 1 && b_size != 1 ? AxisLabels::none : label);
    if (in_b) out.inputs[1].push_back(b_size == 1 && a_size != 1 ? AxisLabels::none : label);
    out.output.push_back(label);
  }
  if (a.rank() > 1) out.inputs[0].push_back(rows);
  out.inputs[0].push_back(contracted);
  out.inputs[1].push_back(contracted);
  if (b.rank() > 1) out.inputs[1].push_back(columns);
  if (a.rank() > 1) out.output.push_back(rows);
  if (b.rank() > 1) out.output.push_back(columns);
  return out;
}

AxisLabels reduction_labels(std::size_t rank, std::uint32_t mask, bool keepdims) {
  AxisLabels out;
  out.inputs.emplace_back();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto label = static_cast<std::int64_t>(axis);
    out.inputs[0].push_back(label);
    const bool is_reduced = (mask >> axis & 1U) != 0;
    if (!is_reduced) out.output.push_back(label);
    if (is_reduced && keepdims) out.output.push_back(AxisLabels::none);
  }
  return out;
}

Agreement agree(const char* op, const AxisLabels& labels, std::span<const ShardedTensor* const> inputs, Site site) {
  require_one_mesh(op, inputs, site);
  const Mesh& mesh = inputs.front()->mesh();
  // Earlier inputs decide, later ones add what is still free.
  Assignment assignment;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Layout& own = inputs[i]->layout();
    for (std::size_t axis = 0; axis < own.rank(); ++axis) {
      const std::optional<std::size_t> dim = own.dim_of(axis);
      const std::int64_t label = labels.inputs[i][axis];
      if (dim && label != AxisLabels::none && !assignment.dim_of(label) && !assignment.label_of(*dim))
        assignment.assign(label, *dim);
    }
  }
  Agreement out;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    out.inputs.push_back(layout_of(mesh, labels.inputs[i], assignment));
    if (!is_slice_away(inputs[i]->layout(), out.inputs.back())) refuse(op, inputs, i, labels.inputs[i], assignment, site);
  }
  out.output = layout_of(mesh, labels.output, assignment);
  for (std::size_t dim = 0; dim < mesh.dims().size(); ++dim) {
    if (assignment.label_of(dim) && !out.output.axis_of(dim)) out.combined.push_back(mesh.dims()[dim].name);
  }
  return out;
}

}  // namespace tutti::detail
