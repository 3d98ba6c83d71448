#include <array>

#include "conformance/random_call_lists.h"

namespace tutti::conformance {

namespace {

using Results = std::vector<Tensor>;

// A part of a tensor of shape (n, m, ...), n and m at least 2: every kind of item comes up. Places are distinct.
std::vector<Index> items(Draw& d, const Shape& shape) {
  const std::int64_t n = shape[0];
  const std::int64_t m = shape[1];
  switch (d.between(0, 8)) {
    case 0: return {Index(d.between(-n, n - 1))};
    case 1: return {Index(Range{1, {}}), Index(Range{{}, {}, -1})};
    case 2: return {Index(Range{{}, {}, 2}), Index(d.between(0, m - 1))};
    case 3: return {Index(ellipsis), Index(Range{0, 1})};
    case 4: return {Index(d.places(2, n))};
    case 5: return {Index(Range{}), Index(d.places(2, m))};
    case 6: return {Index(d.places(2, n)), Index(d.places(2, m))};
    case 7: return {Index(expand_dims(d.places(2, n), 1)), Index(d.places(2, m))};
    default: return {Index(d.places(2, n)), Index(Range{1, 2})};
  }
}

using Change = Tensor (*)(At place, TensorArg values);
Results changed(Draw& d, Change change) {
  const Shape shape = d.shape(2, 3, 2);
  const Tensor x = d.any(shape);
  if (d.between(0, 4) == 0) return {change(at(x, {d.mask(shape)}), 0.5)};
  const std::vector<Index> where_to = items(d, shape);
  if (d.between(0, 3) == 0) return {change(at(x, where_to), 0.5)};
  const Tensor values = d.any(d.narrower(index(x, where_to).shape()));
  return {change(at(x, where_to), values)};
}

Results scattered(Draw& d, ScatterMode mode) {
  const Shape shape = d.shape(1, 3, 2);
  const std::int64_t axis = d.axis(shape);
  const Tensor x = d.any(shape);
  const std::int64_t size = shape[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis)];
  // Distinct along the axis, the same in every line.
  Shape line;
  for (std::size_t i = 0; i < shape.size(); ++i) line.push_back(1);
  line[axis] = 2;
  Shape places = shape;
  places[axis] = 2;
  const Tensor indices = broadcast_to(reshape(d.places(2, size), line), places);
  if (d.between(0, 3) == 0) return {scatter(x, axis, indices, 0.5, {mode})};
  return {scatter(x, axis, indices, d.any(places), {mode})};
}

}  // namespace

std::vector<RandomCall> movement_calls() {
  return {
      {"zeros_like", [](Draw& d) -> Results { return {zeros_like(d.any(d.shape()))}; }},
      {"ones_like", [](Draw& d) -> Results { return {ones_like(d.any(d.shape()))}; }},
      {"empty_like", [](Draw& d) -> Results { return {zeros_like(empty_like(d.any(d.shape())))}; }},
      {"full", [](Draw& d) -> Results { return {full(d.shape(), d.any({}))}; }},
      {"full_like", [](Draw& d) -> Results { return {full_like(d.any(d.shape()), d.any({}))}; }},
      {"tril", [](Draw& d) -> Results { return {tril(d.any(d.shape(2, 3)), d.between(-2, 2))}; }},
      {"triu", [](Draw& d) -> Results { return {triu(d.any(d.shape(2, 3)), d.between(-2, 2))}; }},
      {"meshgrid",
       [](Draw& d) {
         std::vector<Tensor> lines;
         for (std::int64_t i = d.between(0, 2); i >= 0; --i) lines.push_back(d.any({d.between(1, 4)}));
         return meshgrid(lines, {.indexing = d.pick({Indexing::xy, Indexing::ij})});
       }},
      {"permutation", [](Draw& d) -> Results { return {permutation(d.any(d.shape(1, 3)))}; }},
      {"sort",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         return {sort(d.any(shape), d.axis(shape), {.descending = d.coin()})};
       }},
      {"argsort",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         return {argsort(d.any(shape), d.axis(shape), {.descending = d.coin()})};
       }},
      {"topk",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3, 2);
         const auto [values, indices] = topk(d.any(shape), d.between(1, 2), d.axis(shape), {.largest = d.coin()});
         return {values, indices};
       }},
      {"searchsorted", [](Draw& d) -> Results { return {searchsorted(sort(d.any({5})), d.any(d.shape()))}; }},
      {"unique_values",
       [](Draw& d) -> Results {
         const auto [values, count] = unique_values(d.any({5}), {.size = 5});
         return {values, count};
       }},
      {"unique_counts",
       [](Draw& d) -> Results {
         const auto [values, counts, count] = unique_counts(d.any({5}), {.size = 5});
         return {values, counts, count};
       }},
      {"unique_inverse",
       [](Draw& d) -> Results {
         const auto [values, inverse, count] = unique_inverse(d.any({5}), {.size = 5});
         return {values, inverse, count};
       }},
      {"unique_all",
       [](Draw& d) -> Results {
         const auto [values, indices, inverse, counts, count] = unique_all(d.any({5}), {.size = 5});
         return {values, indices, inverse, counts, count};
       }},
      {"index",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(2, 3, 2);
         if (d.between(0, 3) == 0) return {index(d.any(shape), {new_axis, Range{{}, {}, -1}, new_axis, 0})};
         if (d.between(0, 3) == 0) return {index(d.any(shape), {d.whole({2, 3}, -2, 2)})};  // some more than once
         return {index(d.any(shape), items(d, shape))};
       }},
      {"at",
       [](Draw& d) -> Results {
         return {at(d.any({3, 4}), {d.between(0, 2)}).get()};
       }},
      {"At::get",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(2, 3, 2);
         return {at(d.any(shape), items(d, shape)).get()};
       }},
      {"At::set",
       [](Draw& d) { return changed(d, [](At place, TensorArg values) { return std::move(place).set(std::move(values)); }); }},
      {"At::add",
       [](Draw& d) { return changed(d, [](At place, TensorArg values) { return std::move(place).add(std::move(values)); }); }},
      {"At::multiply",
       [](Draw& d) {
         return changed(d, [](At place, TensorArg values) { return std::move(place).multiply(std::move(values)); });
       }},
      {"At::min",
       [](Draw& d) { return changed(d, [](At place, TensorArg values) { return std::move(place).min(std::move(values)); }); }},
      {"At::max",
       [](Draw& d) { return changed(d, [](At place, TensorArg values) { return std::move(place).max(std::move(values)); }); }},
      {"At::add",  // several values for one place
       [](Draw& d) -> Results {
         return {at(d.any({3, 2}), {d.whole({5}, 0, 3)}).add(d.any({5, 2}))};
       }},
      {"At::set",
       [](Draw& d) -> Results {
         return {at(d.any({3, 2}), {d.whole({5}, 0, 3)}).set(d.any({5, 2}))};
       }},
      {"At::multiply",
       [](Draw& d) -> Results {
         return {at(d.any({3, 2}), {d.whole({5}, 0, 3)}).multiply(d.any({5, 2}))};
       }},
      {"At::max",
       [](Draw& d) -> Results {
         return {at(d.any({3, 2}), {d.whole({5}, 0, 3)}).max(d.any({5, 2}))};
       }},
      {"take",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3, 2);
         return {take(d.any(shape), d.whole(d.shape(0, 2), 0, 2), d.axis(shape))};
       }},
      {"index_select",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3, 2);
         return {index_select(d.any(shape), d.axis(shape), d.whole({3}, 0, 2))};
       }},
      {"take_along_axis",
       [](Draw& d) -> Results {
         Shape shape = d.shape(1, 3, 2);
         const Tensor x = d.any(shape);
         const std::int64_t axis = d.axis(shape);
         shape[axis] = d.between(1, 4);
         return {take_along_axis(x, d.whole(shape, 0, 2), axis)};
       }},
      {"gather",
       [](Draw& d) -> Results {
         Shape shape = d.shape(1, 3, 2);
         const Tensor x = d.any(shape);
         const std::int64_t axis = d.axis(shape);
         shape[axis] = d.between(1, 4);
         return {gather(x, axis, d.whole(shape, 0, 2))};
       }},
      {"scatter",
       [](Draw& d) {
         return scattered(
             d, d.pick({ScatterMode::set, ScatterMode::add, ScatterMode::multiply, ScatterMode::minimum, ScatterMode::maximum}));
       }},
      {"nonzero",
       [](Draw& d) -> Results {
         const auto [positions, count] = nonzero(d.any(d.shape(1, 3)), {.size = 4});
         return {positions, count};
       }},
      {"masked_select",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         const auto [values, count] = masked_select(d.any(shape), d.mask(shape), {.size = d.between(0, 9)});
         return {values, count};
       }},
      {"masked_scatter",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         return {masked_scatter(d.any(shape), d.mask(d.narrower(shape)), d.any(shape))};
       }},
      {"repeat_interleave",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         if (d.coin()) return {repeat_interleave(d.any(shape), d.between(0, 3), d.axis(shape))};
         const auto [values, count] = repeat_interleave(d.any({4, 2}), d.whole({4}, 0, 3), {.axis = 0, .output_size = 6});
         return {values, count};
       }},
      {"slice",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3, 2);
         return {slice(d.any(shape), d.axis(shape), {d.between(-2, 1), {}, d.pick({1L, 2L, -1L, -2L})})};
       }},
      {"transpose", [](Draw& d) -> Results { return {transpose(d.any(d.shape(0, 4)))}; }},
      {"permute_dims",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 4);
         return {permute_dims(d.any(shape), d.order(shape.size()))};
       }},
      {"moveaxis",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 4);
         return {moveaxis(d.any(shape), d.axis(shape), d.axis(shape))};
       }},
      {"broadcast_to",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         return {broadcast_to(d.any(d.narrower(shape)), shape)};
       }},
      {"broadcast_arrays",
       [](Draw& d) {
         const Shape shape = d.shape();
         return broadcast_arrays(std::vector{d.any(d.narrower(shape)), d.any(d.narrower(shape)), d.any(shape)});
       }},
      {"expand_dims",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         return {expand_dims(d.any(shape), d.between(0, static_cast<std::int64_t>(shape.size())))};
       }},
      {"squeeze",
       [](Draw& d) -> Results {
         return {squeeze(d.any({1, d.between(1, 3), 1, d.between(1, 3)}))};
       }},
      {"reshape",
       [](Draw& d) -> Results {
         const std::int64_t n = d.between(1, 3);
         return {reshape(d.any({2, n, 6}), d.pick({Shape{-1}, Shape{n, 12}, Shape{4, -1, 3}, Shape{2, 2, n, 3}}))};
       }},
      {"contiguous", [](Draw& d) -> Results { return {contiguous(d.any(d.shape()))}; }},
      {"stop_gradient", [](Draw& d) -> Results { return {stop_gradient(d.whole(d.shape(), 0, 4))}; }},
      {"diagonal",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(2, 3, 2);
         const Dims axes = d.order(shape.size());
         return {diagonal(d.any(shape), {.offset = d.between(-1, 1), .axis1 = axes[0], .axis2 = axes[1]})};
       }},
      {"flip",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         return {flip(d.any(shape), d.some_axes(shape))};
       }},
      {"split",
       [](Draw& d) {
         if (d.coin()) return split(d.any({3, 4}), 2, 1);
         return split(d.any({5, 2}), {1, 4}, 0);
       }},
      {"unstack",
       [](Draw& d) {
         const Shape shape = d.shape(1, 3);
         return unstack(d.any(shape), d.axis(shape));
       }},
      {"concat",
       [](Draw& d) -> Results {
         Shape shape = d.shape(1, 3);
         const std::int64_t axis = d.axis(shape);
         const Tensor first = d.any(shape);
         shape[axis] = d.between(1, 4);
         if (d.between(0, 3) == 0) return {concat({first, d.any(shape)}, std::nullopt)};
         return {concat({first, d.any(shape), first}, axis)};
       }},
      {"stack",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         return {stack({d.any(shape), d.any(shape)}, d.between(0, static_cast<std::int64_t>(shape.size())))};
       }},
      {"roll",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         if (d.coin()) return {roll(d.any(shape), d.between(-4, 4))};
         return {roll(d.any(shape), d.between(-4, 4), d.axis(shape))};
       }},
      {"repeat",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         if (d.coin()) return {repeat(d.any(shape), d.between(0, 3))};
         return {repeat(d.any(shape), d.between(0, 3), d.axis(shape))};
       }},
      {"tile",
       [](Draw& d) -> Results {
         return {tile(d.any(d.shape(1, 3)), d.pick({Dims{2}, Dims{1, 3}, Dims{2, 1, 2}, Dims{2, 1, 1, 1}}))};
       }},
      {"pad",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         std::vector<PadWidth> widths;
         for (std::size_t i = 0; i < shape.size(); ++i) widths.push_back({d.between(0, 2), d.between(0, 2)});
         return {d.coin() ? pad(d.any(shape), widths, d.any({})) : pad(d.any(shape), {{1, 2}}, 0.5)};
       }},
      {"copy_to", [](Draw& d) -> Results { return {copy_to(d.any(d.shape()), list_logical_devices().front().name) * 2}; }},
      {"pin", [](Draw& d) -> Results { return {pin(d.any(d.shape())) * 2}; }},
      {"cond",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         const Tensor x = d.any(shape);
         const Tensor y = d.any(shape);
         return {cond(
             greater(sum(x), sum(y)), [&] { return x * 2; }, [&] { return y; })};
       }},
      {"while_loop",
       [](Draw& d) -> Results {
         const WhileResult loop =
             while_loop([](const Results& s) { return less(sum(s[0]), 100); }, [](const Results& s) { return Results{s[0] * 2}; },
                        {d.positive({3})}, {.most_iterations = 12});
         return {loop.state[0], loop.iterations, loop.is_finished};
       }},
      {"Variable::value",
       [](Draw& d) -> Results {
         const Variable v(d.any(d.shape()));
         return {v.value() * 2, sum(v)};
       }},
      {"Variable::assign",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         const Variable v(zeros(shape, DType::f64));
         v.assign(d.any(d.narrower(shape)));
         const Tensor before = v.value();
         v.assign(3);
         return {before, v.value()};
       }},
      {"Variable::assign_add",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         const Variable v(d.any(shape));
         v.assign_add(d.any(d.narrower(shape)));
         v.assign_add(1);
         return {v.value()};
       }},
      {"checkpoint",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 2);
         return {checkpoint([](const Tensor& x, const Tensor& y) { return tanh(x * y) * y; })(d.any(shape), d.any(shape))};
       }},
      {"custom_gradient",
       [](Draw& d) -> Results {
         const auto doubled = custom_gradient(
             [](const Tensor& x) { return x * 2; },
             [](std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor> g) { return Results{g[0] * 2}; });
         return {doubled(d.any(d.shape()))};
       }},
  };
}

}  // namespace tutti::conformance
