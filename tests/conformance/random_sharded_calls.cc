#include "conformance/random_call_lists.h"
#include "conformance/shards_of.h"

namespace tutti::conformance {

namespace {

using Results = std::vector<Tensor>;

std::string type_of_two;  // of the two devices

Mesh of_two_devices() {
  std::vector<std::string> names;
  for (const LogicalDeviceInfo& each : list_logical_devices(type_of_two)) names.push_back(each.name);
  return create_mesh({{"x", 2}}, names);
}

// Of an even number of rows and columns.
Shape even(Draw& d) { return {2 * d.between(1, 2), 2 * d.between(1, 3)}; }
Layout layout(Draw& d) {
  switch (d.between(0, 2)) {
    case 0: return Layout::batch_sharded(of_two_devices(), "x", 2);
    case 1: return Layout::inner_sharded(of_two_devices(), "x", 2);
    default: return Layout::replicated(of_two_devices(), 2);
  }
}
ShardedTensor drawn(Draw& d) { return shard(d.any(even(d)), layout(d)); }
std::vector<Tensor> two(Draw& d) {
  const Shape shape = even(d);
  return {d.any(shape), d.any(shape)};
}
Reduction reduction(Draw& d) {
  return d.pick({Reduction::sum, Reduction::mean, Reduction::min, Reduction::max, Reduction::prod});
}

// The functions that are there for sharded tensors too.
#define TUTTI_SHARDED(name)                                                  \
  RandomCall {                                                               \
    #name, [](Draw& d) -> Results { return tutti::name(drawn(d)).shards(); } \
  }
#define TUTTI_SHARDED_REDUCED(name)                                                   \
  RandomCall {                                                                        \
    #name, [](Draw& d) -> Results {                                                   \
      const ShardedTensor x = drawn(d);                                               \
      return tutti::name(x, d.some_axes(x.shape()), {.keepdims = d.coin()}).shards(); \
    }                                                                                 \
  }

}  // namespace

std::vector<RandomCall> sharded_calls() {
  return {
      {"shard", [](Draw& d) { return shard(d.any(even(d)), layout(d)).shards(); }},
      {"pack", [](Draw& d) { return pack(two(d), Layout::batch_sharded(of_two_devices(), "x", 2)).shards(); }},
      {"unpack", [](Draw& d) { return unpack(drawn(d)); }},
      {"to_tensor", [](Draw& d) -> Results { return {to_tensor(drawn(d))}; }},
      {"relayout", [](Draw& d) { return relayout(drawn(d), layout(d)).shards(); }},
      {"all_reduce", [](Draw& d) { return all_reduce(two(d), of_two_devices(), "x", reduction(d)); }},
      {"all_reduce",  // so large that each device reduces a part
       [](Draw& d) {
         const Shape shape{64, 80};
         const Tensor x = d.any({80});
         const Tensor y = d.any({80});
         return all_reduce({broadcast_to(x, shape), broadcast_to(y, shape)}, of_two_devices(), "x",
                           d.pick({Reduction::sum, Reduction::mean}));
       }},
      {"broadcast", [](Draw& d) { return broadcast(two(d), of_two_devices(), "x", d.between(0, 1)); }},
      {"all_gather", [](Draw& d) { return all_gather(two(d), of_two_devices(), "x", d.between(-2, 1)); }},
      {"reduce_scatter", [](Draw& d) { return reduce_scatter(two(d), of_two_devices(), "x", d.between(-2, 1), reduction(d)); }},
      {"all_to_all", [](Draw& d) { return all_to_all(two(d), of_two_devices(), "x", d.between(0, 1), d.between(0, 1)); }},
      {"elementwise", [](Draw& d) { return (drawn(d) * 2 + 1).shards(); }},
      {"multiply",
       [](Draw& d) {
         const Shape shape = even(d);
         const Layout at = layout(d);
         return multiply(shard(d.any(shape), at), shard(d.any(shape), at)).shards();
       }},
      {"matmul",
       [](Draw& d) {
         const Shape shape = even(d);
         const Tensor a = d.any(shape);
         const Tensor b = d.any({shape[1], 4});
         if (d.coin())
           return matmul(shard(a, Layout::batch_sharded(of_two_devices(), "x", 2)),
                         shard(b, Layout::replicated(of_two_devices(), 2)))
               .shards();
         return matmul(shard(a, Layout::inner_sharded(of_two_devices(), "x", 2)),
                       shard(b, Layout::batch_sharded(of_two_devices(), "x", 2)))
             .shards();
       }},
      TUTTI_SHARDED_REDUCED(sum),
      TUTTI_SHARDED_REDUCED(prod),
      TUTTI_SHARDED_REDUCED(mean),
      TUTTI_SHARDED_REDUCED(max),
      TUTTI_SHARDED_REDUCED(min),
      TUTTI_SHARDED(transpose),
      TUTTI_SHARDED(matrix_transpose),
      TUTTI_SHARDED(tanh),
      {"expand_dims", [](Draw& d) { return expand_dims(drawn(d), d.between(0, 2)).shards(); }},
      {"slice",
       [](Draw& d) {
         return slice(shard(d.any(even(d)), Layout::batch_sharded(of_two_devices(), "x", 2)), 1, {0, {}, 2}).shards();
       }},
      {"flip", [](Draw& d) { return flip(shard(d.any(even(d)), Layout::batch_sharded(of_two_devices(), "x", 2)), 1).shards(); }},
      {"broadcast_to",
       [](Draw& d) {
         const ShardedTensor x = drawn(d);
         return broadcast_to(x, {3, x.shape()[0], x.shape()[1]}).shards();
       }},
      {"split",
       [](Draw& d) {
         const ShardedTensor x = shard(d.any(even(d)), Layout::batch_sharded(of_two_devices(), "x", 2));
         return d.coin() ? shards_of(split(x, 2, 1)) : shards_of(split(x, {1, -1}, -1));
       }},
      {"unstack",
       [](Draw& d) { return shards_of(unstack(shard(d.any(even(d)), Layout::inner_sharded(of_two_devices(), "x", 2)))); }},
      {"diagonal",
       [](Draw& d) {
         const ShardedTensor x = shard(d.any(even(d)), Layout::batch_sharded(of_two_devices(), "x", 2));
         return diagonal(expand_dims(x), {.offset = d.between(0, 1), .axis1 = 0, .axis2 = 2}).shards();
       }},
      {"broadcast_arrays",
       [](Draw& d) {
         const ShardedTensor x = drawn(d);
         return shards_of(broadcast_arrays({x, expand_dims(x, 0)}));
       }},
      {"reshape",
       [](Draw& d) { return reshape(shard(d.any(even(d)), Layout::batch_sharded(of_two_devices(), "x", 2)), {-1}).shards(); }},
  };
}

#undef TUTTI_SHARDED
#undef TUTTI_SHARDED_REDUCED

const std::vector<RandomCall>& random_calls_on(const std::string& type) {
  type_of_two = type;
  static const std::vector<RandomCall> all = [] {
    std::vector<RandomCall> out;
    for (auto* list : {elementwise_calls, reduction_calls, neural_calls, matrix_calls, movement_calls, sharded_calls}) {
      for (RandomCall& each : list()) out.push_back(std::move(each));
    }
    return out;
  }();
  return all;
}

}  // namespace tutti::conformance
