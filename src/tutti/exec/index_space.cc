#include "tutti/exec/index_space.h"

#include "tutti/exec/scatter_attributes.h"

namespace tutti {

namespace {

// A value that stands for all has stride 0 everywhere.
std::int64_t stride_at(const Operand& operand, std::size_t axis) {
  return operand.rank == 0 || operand.is_immediate ? 0 : operand.axes[axis].stride;
}

class Builder {
 public:
  explicit Builder(std::span<const Operand> indices) : indices_(indices) { space_.indices = indices.size(); }

  void indexed(std::size_t k, const Axis& axis, std::int64_t name) { space_.indexed[k] = {axis.size, axis.stride, name}; }

  // `index_axis`: of the index tensors; negative: the axis moves no index.
  void push(std::int64_t size, std::int64_t place, std::int64_t value, int index_axis) {
    if (size == 1) return;
    IndexSpace& s = space_;
    std::array<std::int64_t, most_axes> index{};
    for (std::size_t k = 0; index_axis >= 0 && k < indices_.size(); ++k)
      index[k] = indices_[k].axes[static_cast<std::size_t>(index_axis)].stride;
    if (s.rank > 0 && joins(s.rank - 1, size, place, value, index)) {
      --s.rank;
      size *= s.size[s.rank];
    }
    s.size[s.rank] = size;
    s.place[s.rank] = place;
    s.value[s.rank] = value;
    s.index[s.rank] = index;
    ++s.rank;
  }

  IndexSpace finish() {
    IndexSpace& s = space_;
    while (s.inner < s.rank && is_still(s.rank - 1 - s.inner)) ++s.inner;
    while (s.outer + s.inner < s.rank && is_still(s.outer)) ++s.outer;
    return s;
  }

 private:
  [[nodiscard]] bool joins(std::size_t before, std::int64_t size, std::int64_t place, std::int64_t value,
                           const std::array<std::int64_t, most_axes>& index) const {
    if (space_.place[before] != size * place || space_.value[before] != size * value) return false;
    for (std::size_t k = 0; k < indices_.size(); ++k) {
      if (space_.index[before][k] != size * index[k]) return false;
    }
    return true;
  }
  // Moves no index, and its elements have places of their own: two that meet are never told apart by such an axis.
  [[nodiscard]] bool is_still(std::size_t axis) const {
    if (space_.place[axis] == 0) return false;
    for (std::size_t k = 0; k < indices_.size(); ++k) {
      if (space_.index[axis][k] != 0) return false;
    }
    return true;
  }

  std::span<const Operand> indices_;
  IndexSpace space_;
};

IndexSpace nested_space(std::span<const Axis> places, const Operand& values, std::span<const Operand> indices, std::size_t first,
                        std::span<const std::int8_t> names) {
  Builder builder(indices);
  std::size_t at = 0;  // axis of the values
  for (std::size_t i = 0; i < first; ++i, ++at) builder.push(places[i].size, places[i].stride, stride_at(values, at), -1);
  for (std::size_t i = 0; !indices.empty() && i < indices[0].rank; ++i, ++at)
    builder.push(indices[0].axes[i].size, 0, stride_at(values, at), static_cast<int>(i));
  for (std::size_t k = 0; k < indices.size(); ++k) builder.indexed(k, places[first + k], names[k]);
  for (std::size_t i = first + indices.size(); i < places.size(); ++i, ++at)
    builder.push(places[i].size, places[i].stride, stride_at(values, at), -1);
  return builder.finish();
}

IndexSpace flat_space(std::span<const Axis> places, const Operand& values, std::span<const Operand> indices, std::size_t axis,
                      std::int64_t name) {
  Builder builder(indices);
  for (std::size_t i = 0; i < places.size(); ++i) {
    builder.push(indices[0].axes[i].size, i == axis ? 0 : places[i].stride, stride_at(values, i), static_cast<int>(i));
  }
  builder.indexed(0, places[axis], name);
  return builder.finish();
}

}  // namespace

IndexSpace IndexSpace::part(std::size_t axis, std::int64_t begin, std::int64_t end) const noexcept {
  IndexSpace some = *this;
  some.size[axis] = end - begin;
  some.place_base += begin * place[axis];
  some.value_base += begin * value[axis];
  for (std::size_t k = 0; k < indices; ++k) some.index_base[k] += begin * index[axis][k];
  return some;
}

IndexSpace gather_space(const KernelCall& call, std::size_t first, std::span<const std::int8_t> names) {
  const Operand& x = call.in(0);
  return nested_space({x.axes.data(), x.rank}, call.out(), {&call.in(1), std::size_t{call.inputs} - 1}, first, names);
}

IndexSpace along_space(const KernelCall& call, std::size_t axis) {
  const Operand& x = call.in(0);
  return flat_space({x.axes.data(), x.rank}, call.out(), {&call.in(1), 1}, axis, static_cast<std::int64_t>(axis));
}

IndexSpace scatter_space(const KernelCall& call) {
  const auto attributes = call.attributes->as<ScatterAttributes>();
  const std::span<const Axis> places(attributes.axes.data(), static_cast<std::size_t>(attributes.rank));
  const std::span<const Operand> indices(&call.in(1) + 1, std::size_t{call.inputs} - 2);
  const std::size_t first = static_cast<std::uint8_t>(attributes.first);
  if (attributes.is_along) return flat_space(places, call.in(1), indices, first, attributes.names[0]);
  return nested_space(places, call.in(1), indices, first, attributes.names);
}

}  // namespace tutti
