#include "conformance/recorded_cases.h"

#include "conformance/shards_of.h"

namespace tutti::conformance {

Inputs::Inputs(std::uint64_t key) {
  const auto drawn = [&](const Shape& shape) { return uniform(shape, {.key = ++key, .low = 0.1, .high = 0.9}); };
  x = drawn({4, 6});
  y = drawn({4, 6});
  matrix = drawn({6, 4});
  line = drawn({6});
  const Tensor root = drawn({4, 4});
  square = matmul(root, transpose(root)) + eye(4);
  images = drawn({2, 3, 8, 8});
  weight = drawn({4, 3, 3, 3});
  whole = randint({4, 6}, 1, 8, {.key = ++key, .dtype = DType::i32});
  other_whole = randint({4, 6}, 1, 4, {.key = ++key, .dtype = DType::i32});
  places = permutation(4, {.key = ++key});
  columns = randint({4, 6}, 0, 6, {.key = ++key});
  mask = bernoulli({4, 6}, 0.5, {.key = ++key});
}

std::vector<Tensor> Inputs::all() const {
  return {x, y, matrix, line, square, images, weight, whole, other_whole, places, columns, mask};
}

Inputs Inputs::with(const std::function<Tensor(const Tensor&)>& change) const {
  Inputs out = *this;
  for (Tensor* each : {&out.x, &out.y, &out.matrix, &out.line, &out.square, &out.images, &out.weight, &out.whole,
                       &out.other_whole, &out.places, &out.columns, &out.mask})
    *each = change(*each);
  return out;
}

namespace {

#define TUTTI_UNARY(name)                                           \
  Case {                                                            \
    #name, [](const Inputs& in) -> Results { return {name(in.x)}; } \
  }
#define TUTTI_BINARY(name)                                                \
  Case {                                                                  \
    #name, [](const Inputs& in) -> Results { return {name(in.x, in.y)}; } \
  }
#define TUTTI_WHOLE(name)                                                               \
  Case {                                                                                \
    #name, [](const Inputs& in) -> Results { return {name(in.whole, in.other_whole)}; } \
  }
#define TUTTI_CASE(name, ...)               \
  Case {                                    \
    name, [](const Inputs& in) -> Results { \
      (void)in;                             \
      __VA_ARGS__                           \
    }                                       \
  }

#define TUTTI_SHARDED(name)                                                                      \
  Case {                                                                                         \
    #name, [](const Inputs& in) -> Results { return name(shard(in.x, on_mesh(true))).shards(); } \
  }

std::string type_under_test;  // of the two devices

Mesh mesh() {
  std::vector<std::string> names;
  for (const LogicalDeviceInfo& each : list_logical_devices(type_under_test)) names.push_back(each.name);
  return create_mesh({{"x", 2}}, names);
}
Layout columns_on_mesh() { return Layout::inner_sharded(mesh(), "x", 2); }
Layout on_mesh(bool is_sharded) { return is_sharded ? Layout::batch_sharded(mesh(), "x", 2) : Layout::replicated(mesh(), 2); }

}  // namespace

const std::vector<Case>& cases_on(const std::string& type) {
  type_under_test = type;
  static const std::vector<Case> every_case {
    TUTTI_UNARY(abs), TUTTI_UNARY(negative), TUTTI_UNARY(positive), TUTTI_UNARY(sign), TUTTI_UNARY(square), TUTTI_UNARY(sqrt),
        TUTTI_UNARY(floor), TUTTI_UNARY(ceil), TUTTI_UNARY(trunc), TUTTI_UNARY(round), TUTTI_UNARY(exp), TUTTI_UNARY(expm1),
        TUTTI_UNARY(log), TUTTI_UNARY(log1p), TUTTI_UNARY(log2), TUTTI_UNARY(log10), TUTTI_UNARY(sin), TUTTI_UNARY(cos),
        TUTTI_UNARY(tan), TUTTI_UNARY(asin), TUTTI_UNARY(acos), TUTTI_UNARY(atan), TUTTI_UNARY(sinh), TUTTI_UNARY(cosh),
        TUTTI_UNARY(tanh), TUTTI_UNARY(asinh), TUTTI_UNARY(atanh), TUTTI_UNARY(erf), TUTTI_UNARY(isnan), TUTTI_UNARY(isinf),
        TUTTI_UNARY(isfinite), TUTTI_UNARY(signbit), TUTTI_CASE("logical_not", return {logical_not(in.mask)};), TUTTI_UNARY(relu),
        TUTTI_UNARY(sigmoid), TUTTI_UNARY(silu), TUTTI_UNARY(gelu), TUTTI_UNARY(sum), TUTTI_UNARY(prod), TUTTI_UNARY(max),
        TUTTI_UNARY(min), TUTTI_UNARY(mean), TUTTI_UNARY(var), TUTTI_UNARY(std), TUTTI_UNARY(all), TUTTI_UNARY(any),
        TUTTI_UNARY(count_nonzero), TUTTI_UNARY(argmax), TUTTI_UNARY(argmin), TUTTI_UNARY(logsumexp), TUTTI_UNARY(vector_norm),
        TUTTI_UNARY(softmax), TUTTI_UNARY(log_softmax), TUTTI_UNARY(tril), TUTTI_UNARY(triu), TUTTI_UNARY(sort),
        TUTTI_UNARY(argsort), TUTTI_UNARY(contiguous), TUTTI_UNARY(squeeze), TUTTI_UNARY(flip), TUTTI_UNARY(transpose),
        TUTTI_UNARY(matrix_transpose), TUTTI_UNARY(trace), TUTTI_UNARY(zeros_like), TUTTI_UNARY(ones_like), TUTTI_BINARY(add),
        TUTTI_BINARY(subtract), TUTTI_BINARY(multiply), TUTTI_BINARY(divide), TUTTI_BINARY(floor_divide), TUTTI_BINARY(remainder),
        TUTTI_BINARY(pow), TUTTI_BINARY(maximum), TUTTI_BINARY(minimum), TUTTI_BINARY(copysign), TUTTI_BINARY(logaddexp),
        TUTTI_BINARY(atan2), TUTTI_BINARY(hypot), TUTTI_BINARY(equal), TUTTI_BINARY(not_equal), TUTTI_BINARY(less),
        TUTTI_BINARY(less_equal), TUTTI_BINARY(greater), TUTTI_BINARY(greater_equal), TUTTI_BINARY(isclose),
        TUTTI_BINARY(allclose), TUTTI_CASE("logical_and", return {logical_and(in.mask, less(in.x, in.y))};),
        TUTTI_CASE("logical_or", return {logical_or(in.mask, less(in.x, in.y))};),
        TUTTI_CASE("logical_xor", return {logical_xor(in.mask, less(in.x, in.y))};), TUTTI_BINARY(vecdot),
        TUTTI_WHOLE(bitwise_and), TUTTI_WHOLE(bitwise_or), TUTTI_WHOLE(bitwise_xor), TUTTI_WHOLE(bitwise_left_shift),
        TUTTI_WHOLE(bitwise_right_shift),
        TUTTI_CASE("constant", return {constant({1.5F, 2.5F, 3.5F, 4.5F, 5.5F, 6.5F}) * in.line};),
        TUTTI_CASE("from_bytes", const std::vector<float> values(6, 3.0F);
                   return {from_bytes(DType::f32, {6}, std::as_bytes(std::span(values))) + in.line};),
        TUTTI_CASE("zeros", return {zeros({6}) + in.line};), TUTTI_CASE("ones", return {ones({6}) + in.line};),
        TUTTI_CASE("full", return {full({6}, 2.5) + in.line, full({2}, sum(in.x))};),
        TUTTI_CASE("empty", return {zeros_like(empty({4, 6})) + in.x};), TUTTI_CASE("full_like", return {full_like(in.x, 3)};),
        TUTTI_CASE("empty_like", return {zeros_like(empty_like(in.x)) + in.x};),
        TUTTI_CASE("arange", return {arange(6) * in.line, arange(0.5, 3.5, 0.5) * in.line};),
        TUTTI_CASE("linspace", return {linspace(0, 1, 6) * in.line};), TUTTI_CASE("eye", return {matmul(in.x, eye(6))};),
        TUTTI_CASE("meshgrid", return meshgrid({in.line, in.line + 1});), TUTTI_CASE("uniform", return {uniform({4, 6}) + in.x};),
        TUTTI_CASE("normal", return {normal({4, 6}) + in.x};), TUTTI_CASE("randint", return {randint({4, 6}, 0, 9) + in.whole};),
        TUTTI_CASE("bernoulli", return {where(bernoulli({4, 6}, 0.5), in.x, in.y)};),
        TUTTI_CASE("permutation", return {permutation(in.x), permutation(5)};),
        TUTTI_CASE("add_n", return {add_n({in.x, in.y, in.x})};),
        TUTTI_CASE("clip", return {clip(in.x, 0.3, in.y), clip(in.x, std::nullopt, 0.5)};),
        TUTTI_CASE("where", return {where(in.mask, in.x, in.y), where(in.mask, in.x, 0)};),
        TUTTI_CASE("cast", return {cast(in.x, DType::f64), cast(in.whole, DType::f16)};),
        TUTTI_CASE("acosh", return {acosh(in.x + 1)};), TUTTI_CASE("bitwise_invert", return {bitwise_invert(in.whole)};),
        TUTTI_CASE("cumulative_sum", return {cumulative_sum(in.x, 0, {.include_initial = true}), cumulative_sum(in.line)};),
        TUTTI_CASE("cumsum", return {cumsum(in.x, 1), cumsum(transpose(in.x), 1)};),
        TUTTI_CASE("cumprod", return {cumprod(in.x, 0)};),
        TUTTI_CASE("layer_norm", return {layer_norm(in.x, in.line, in.line * 2)};),
        TUTTI_CASE("linear", return {linear(in.x, in.matrix, matmul(in.line, in.matrix))};),
        TUTTI_CASE("embedding", return {embedding(in.x, in.places)};),
        TUTTI_CASE("cross_entropy",
                   return {cross_entropy(in.x, in.places), cross_entropy(in.x, in.places, {.reduction = LossReduction::sum})};),
        TUTTI_CASE("dropout", return {dropout(in.x, 0.5), dropout(transpose(in.x), 0.25)};),
        TUTTI_CASE("one_hot", return {one_hot(in.places, 4)};),
        TUTTI_CASE("channels_last", return {conv2d(channels_last(in.images), in.weight, {}, {.stride = 2, .padding = 1})};),
        TUTTI_CASE("conv2d", return {conv2d(in.images, in.weight, {}, {.padding = 1}),
                                     conv2d(in.images, in.weight, sum(in.weight, {1, 2, 3}))};),
        TUTTI_CASE("max_pool2d", return {max_pool2d(in.images, 2)};),
        TUTTI_CASE("avg_pool2d", return {avg_pool2d(in.images, {2, 3})};),
        TUTTI_CASE("matmul", return {matmul(in.x, in.matrix), matmul(in.x, in.line)};),
        TUTTI_CASE("tensordot", return {tensordot(in.x, in.matrix, 1)};), TUTTI_CASE("outer", return {outer(in.line, in.line)};),
        TUTTI_CASE("einsum",
                   return {einsum("ij,jk->ik", in.x, in.matrix), einsum("ij,ij->ij", in.x, in.y), einsum("ij->j", in.x)};),
        TUTTI_CASE("cholesky", return {cholesky(in.square)};),
        TUTTI_CASE("cholesky_ex", const auto [factor, info] = cholesky_ex(in.square); return {factor, info};),
        TUTTI_CASE("solve", return {solve(in.square, in.x)};), TUTTI_CASE("inv", return {inv(in.square)};),
        TUTTI_CASE("det", return {det(in.square)};),
        TUTTI_CASE("slogdet", const auto [sign_of, log_abs] = slogdet(in.square); return {sign_of, log_abs};),
        TUTTI_CASE("qr", const auto [q, r] = qr(in.square); return {q, r};),
        TUTTI_CASE("topk", const auto [values, indices] = topk(in.x, 3); return {values, indices};),
        TUTTI_CASE("searchsorted", return {searchsorted(sort(in.line), in.x)};),
        TUTTI_CASE("unique_values", const auto [values, count] = unique_values(in.whole, {.size = 10}); return {values, count};),
        TUTTI_CASE("unique_counts", const auto [values, counts, count] = unique_counts(in.whole, {.size = 10});
                   return {values, counts, count};),
        TUTTI_CASE("unique_inverse", const auto [values, inverse, count] = unique_inverse(in.whole, {.size = 10});
                   return {values, inverse, count};),
        TUTTI_CASE("unique_all", const auto [values, indices, inverse, counts, count] = unique_all(in.whole, {.size = 10});
                   return {values, indices, inverse, counts, count};),
        TUTTI_CASE("index", return {index(in.x, {1}), index(in.x, {Range{1, 3}, new_axis, -1}), index(in.x, {in.places}),
                                    index(in.x, {ellipsis, Range{{}, {}, -2}})};),
        TUTTI_CASE("at", return {at(in.x, {1}).get()};),
        TUTTI_CASE("At::get", return {at(in.x, {in.places, Range{0, 2}}).get()};),
        TUTTI_CASE("At::set", return {at(in.x, {1}).set(in.line), at(in.x, {in.mask}).set(0)};),
        TUTTI_CASE("At::add", return {at(in.x, {in.places}).add(in.y), at(in.x, {in.mask}).add(2)};),
        TUTTI_CASE("At::multiply", return {at(in.x, {Range{1, 3}, 2}).multiply(3)};),
        TUTTI_CASE("At::min", return {at(in.x, {in.places}).min(0.5)};),
        TUTTI_CASE("At::max", return {at(in.x, {ellipsis, 0}).max(0.5)};),
        TUTTI_CASE("take", return {take(in.x, in.places, 0), take(transpose(in.x), in.places, 1)};),
        TUTTI_CASE("index_select", return {index_select(in.x, 1, in.places)};),
        TUTTI_CASE("take_along_axis", return {take_along_axis(in.x, in.columns, 1)};),
        TUTTI_CASE("gather", return {gather(in.x, 1, in.columns)};),
        TUTTI_CASE("scatter", return {scatter(in.x, 0, expand_dims(in.places, 0), 7)};),
        TUTTI_CASE("nonzero", const auto [positions, count] = nonzero(in.mask, {.size = 12}); return {positions, count};),
        TUTTI_CASE("masked_select", const auto [values, count] = masked_select(in.x, in.mask, {.size = 12});
                   return {values, count};),
        TUTTI_CASE("masked_scatter", return {masked_scatter(in.x, in.mask, in.y)};),
        TUTTI_CASE("repeat_interleave", return {repeat_interleave(in.x, 2, 1)};),
        TUTTI_CASE("slice", return {slice(in.x, 1, {1, 6, 2}), slice(in.x, 0, {{}, {}, -1})};),
        TUTTI_CASE("permute_dims", return {permute_dims(in.images, {3, 1, 0, 2})};),
        TUTTI_CASE("moveaxis", return {moveaxis(in.images, 1, 3)};),
        TUTTI_CASE("broadcast_to", return {broadcast_to(in.line, {4, 6})};),
        TUTTI_CASE("broadcast_arrays", return broadcast_arrays(std::vector{in.x, in.line});),
        TUTTI_CASE("expand_dims", return {expand_dims(in.x, 1)};),
        TUTTI_CASE("reshape", return {reshape(in.x, {2, -1}), reshape(transpose(in.x), {24})};),
        TUTTI_CASE("diagonal", return {diagonal(in.x, {.offset = 1})};), TUTTI_CASE("split", return split(in.x, 2, 0);),
        TUTTI_CASE("unstack", return unstack(in.x, 1);),
        TUTTI_CASE("concat", return {concat({in.x, in.y}, 0), concat({transpose(in.x), in.matrix}, 1)};),
        TUTTI_CASE("stack", return {stack({in.x, in.y}, 1)};),
        TUTTI_CASE("roll", return {roll(in.x, 2), roll(in.x, {1, -1}, {0, 1})};),
        TUTTI_CASE("repeat", return {repeat(in.x, 3, 0)};), TUTTI_CASE("tile", return {tile(in.x, {2, 1, 3})};),
        TUTTI_CASE("pad", return {pad(in.x, {{1, 2}}, 0.5), pad(transpose(in.x), {{1, 0}, {0, 2}})};),
        TUTTI_CASE("copy_to", return {copy_to(in.x, list_logical_devices().front().name) + in.y};),
        TUTTI_CASE("pin", return {pin(in.x)};), TUTTI_CASE("stop_gradient", return {stop_gradient(in.whole)};),
        TUTTI_CASE("cond", return {cond(
                               greater(sum(in.x), sum(in.y)), [&] { return in.x * 2; }, [&] { return in.y; })};),
        TUTTI_CASE("while_loop", const WhileResult loop = while_loop([](const Results& s) { return less(sum(s[0]), 100); },
                                                                     [](const Results& s) { return Results{s[0] * 2}; }, {in.x},
                                                                     {.most_iterations = 12});
                   return {loop.state[0], loop.iterations, loop.is_finished};),
        TUTTI_CASE("Variable::value", const Variable v(in.x); return {v.value() * 2, v + in.y, sum(v)};),
        TUTTI_CASE("Variable::assign", const Variable v(zeros_like(in.x)); v.assign(in.x); const Tensor before = v.value();
                   v.assign(3); return {before, v.value()};),
        TUTTI_CASE("Variable::assign_add", const Variable v(in.x); v.assign_add(in.y); v.assign_add(1); return {v.value()};),
        TUTTI_BINARY(mse_loss), TUTTI_BINARY(mae_loss), TUTTI_BINARY(dense_cross_entropy), TUTTI_BINARY(binary_cross_entropy),
        TUTTI_CASE("smoothed_cross_entropy", return {smoothed_cross_entropy(in.x, in.places, 0.1)};),
        TUTTI_CASE("scaled_dot_product_attention", return {scaled_dot_product_attention(in.x, in.y, in.x, {.causal = true})};),
        TUTTI_CASE("shard", return shard(in.x, on_mesh(true)).shards();),
        TUTTI_CASE("pack", return pack(std::vector{in.x, in.y}, on_mesh(true)).shards();),
        TUTTI_CASE("unpack", return unpack(shard(in.x, on_mesh(true)));),
        TUTTI_CASE("to_tensor", return {to_tensor(shard(in.x, on_mesh(true)))};),
        TUTTI_CASE("relayout", return relayout(shard(in.x, on_mesh(true)), on_mesh(false)).shards();),
        TUTTI_CASE("all_reduce", return all_reduce({in.x, in.y}, mesh(), "x", Reduction::sum);),
        TUTTI_CASE("broadcast", return broadcast({in.x, in.y}, mesh(), "x", 1);),
        TUTTI_CASE("all_gather", return all_gather({in.x, in.y}, mesh(), "x", 0);),
        TUTTI_CASE("reduce_scatter", return reduce_scatter({in.x, in.y}, mesh(), "x", 0, Reduction::sum);),
        TUTTI_CASE("all_to_all", return all_to_all({in.x, in.y}, mesh(), "x", 0, 1);),
        TUTTI_CASE("elementwise", return (shard(in.x, on_mesh(true)) + 1).shards();),
        // Functions of sharded tensors, which share their names with those above.
        TUTTI_CASE("zeros", return (zeros({4, 6}, on_mesh(true)) + shard(in.x, on_mesh(true))).shards();),
        TUTTI_CASE("ones", return (ones({4, 6}, on_mesh(true)) + shard(in.x, on_mesh(true))).shards();),
        TUTTI_CASE("full", return (full({4, 6}, on_mesh(false), 2.5) + shard(in.x, on_mesh(false))).shards();),
        TUTTI_CASE("arange", return arange(0, 6, Layout::batch_sharded(mesh(), "x", 1)).shards();),
        TUTTI_CASE("uniform", return uniform({4, 6}, on_mesh(true), {.key = 7}).shards();),
        TUTTI_CASE("normal", return normal({4, 6}, on_mesh(false), {.key = 7}).shards();),
        TUTTI_CASE("randint", return randint({4, 6}, on_mesh(true), 0, 9, {.key = 7}).shards();),
        TUTTI_CASE("bernoulli", return bernoulli({4, 6}, on_mesh(true), 0.5, {.key = 7}).shards();),
        TUTTI_CASE("cast", return cast(shard(in.x, on_mesh(true)), DType::f64).shards();),
        TUTTI_CASE("matmul", return matmul(shard(in.x, on_mesh(true)), shard(in.matrix, on_mesh(false))).shards();),
        TUTTI_CASE("matmul", return matmul(shard(in.x, columns_on_mesh()), shard(in.matrix, on_mesh(true))).shards();),
        TUTTI_SHARDED(sum), TUTTI_SHARDED(prod), TUTTI_SHARDED(mean), TUTTI_SHARDED(max), TUTTI_SHARDED(min),
        TUTTI_CASE("all", return all(shard(in.mask, on_mesh(true))).shards();),
        TUTTI_CASE("any", return any(shard(in.mask, on_mesh(true)), 1).shards();), TUTTI_SHARDED(transpose),
        TUTTI_SHARDED(matrix_transpose),
        TUTTI_CASE("permute_dims", return permute_dims(shard(in.x, on_mesh(true)), {1, 0}).shards();),
        TUTTI_CASE("moveaxis", return moveaxis(shard(in.x, on_mesh(true)), 0, 1).shards();),
        TUTTI_CASE("expand_dims", return expand_dims(shard(in.x, on_mesh(true)), 1).shards();),
        TUTTI_CASE("squeeze", return squeeze(expand_dims(shard(in.x, on_mesh(true)), 1)).shards();),
        TUTTI_CASE("broadcast_to", return broadcast_to(shard(in.x, on_mesh(true)), {2, 4, 6}).shards();),
        TUTTI_CASE("slice", return slice(shard(in.x, on_mesh(true)), 1, {1, 6, 2}).shards();),
        TUTTI_CASE("flip", return flip(shard(in.x, on_mesh(true)), 1).shards();),
        TUTTI_CASE("reshape", return reshape(shard(in.x, on_mesh(true)), {24}).shards();),
        TUTTI_CASE("split", return shards_of(split(shard(in.x, on_mesh(true)), 2, 1));),
        TUTTI_CASE("split", return shards_of(split(shard(in.x, on_mesh(true)), {1, -1}, 1));),
        TUTTI_CASE("unstack", return shards_of(unstack(shard(in.x, on_mesh(true)), 1));),
        TUTTI_CASE("diagonal",
                   return diagonal(expand_dims(shard(in.x, on_mesh(true)), 0), {.offset = 2, .axis1 = 0, .axis2 = 2}).shards();),
        TUTTI_CASE("broadcast_arrays", const ShardedTensor x = shard(in.x, on_mesh(true));
                   return shards_of(broadcast_arrays({x, expand_dims(x, 0)}));),
        TUTTI_CASE("where", const Layout at = on_mesh(true);
                   return where(shard(in.mask, at), shard(in.x, at), shard(in.y, at)).shards();),
        TUTTI_CASE("uniform", return uniform({4, 6}, on_mesh(true)).shards();),
        TUTTI_CASE("normal", return normal({4, 6}, columns_on_mesh()).shards();),
        TUTTI_CASE("all_reduce", return all_reduce(shard(in.x, on_mesh(false)), "x", Reduction::sum).shards();),
        TUTTI_CASE("broadcast", return broadcast(shard(in.x, on_mesh(false)), "x", 1).shards();),
        TUTTI_CASE("all_gather", return all_gather(shard(in.x, on_mesh(true)), "x").shards();),
        TUTTI_CASE("reduce_scatter", return reduce_scatter(shard(in.x, on_mesh(false)), "x", 1, Reduction::sum).shards();),
        TUTTI_CASE("all_to_all", return all_to_all(shard(in.x, on_mesh(true)), "x", 1).shards();),
  };
  return every_case;
}

#undef TUTTI_UNARY
#undef TUTTI_BINARY
#undef TUTTI_WHOLE
#undef TUTTI_CASE
#undef TUTTI_SHARDED

}  // namespace tutti::conformance
