#include "tutti/train/attention.h"

#include <cmath>
#include <optional>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/attention_attributes.h"
#include "tutti/exec/dispatch.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/deterministic.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/gradient_rules.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/neural.h"
#include "tutti/ops/patterns.h"
#include "tutti/ops/reduction.h"
#include "tutti/place/scope.h"
#include "tutti/train/tape.h"

namespace tutti {

namespace {

// Queries, keys and values are (batch, heads, places, features).
void check_attention(const Inference& in) {
  const auto attributes = in.attributes<AttentionAttributes>();
  const Shape& q = in.shape(0);
  const Shape& k = in.shape(1);
  const Shape& v = in.shape(2);
  const bool fits = q.size() == 4 && k.size() == 4 && v.size() == 4 && q[0] == k[0] && q[0] == v[0] && q[1] == k[1] &&
                    q[1] == v[1] && q[3] == k[3] && k[2] == v[2];
  if (!fits) in.reject_shapes("queries, keys and values do not fit each other");
  if (in.dtype(0) != in.dtype(1) || in.dtype(0) != in.dtype(2)) in.reject_dtypes("all must have one dtype");
  if (!attributes.has_mask) return;
  const std::size_t last = in.inputs() - 1;
  const std::optional<Shape> both = broadcast(in.shape(last), Shape{q[0], q[1], q[2], k[2]});
  if (in.shape(last).size() != 4 || !both || !(*both == Shape{q[0], q[1], q[2], k[2]}) || in.dtype(last) != DType::boolean)
    in.reject_shapes("the mask must be bool and broadcast to (batch, heads, queries, keys)");
}

DType dtype_of_stats(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

// The second output: for each query the logarithm of the sum its weights were divided by.
void infer_attention(Inference& in) {
  check_attention(in);
  const Shape& q = in.shape(0);
  in.output(in.dtype(0), {q[0], q[1], q[2], in.shape(2)[3]});
  in.output(dtype_of_stats(in.dtype(0)), {q[0], q[1], q[2]});
}

// (query, key, value, out, stats, gradient of out, mask)
void infer_attention_grad(Inference& in) {
  check_attention(in);
  const Shape& q = in.shape(0);
  const Shape out{q[0], q[1], q[2], in.shape(2)[3]};
  if (!(in.shape(3) == out) || !(in.shape(4) == Shape{q[0], q[1], q[2]}) || !(in.shape(5) == out))
    in.reject_shapes("the result and its gradient do not fit the queries");
  for (std::size_t i = 0; i < 3; ++i) in.output(in.dtype(i), in.shape(i));
}

const OpRow& attention_row = register_op({.name = "ScaledDotProductAttention",
                                          .function = "scaled_dot_product_attention",
                                          .infer = infer_attention,
                                          .strided = true,
                                          .takes = floating_dtypes});
const OpRow& attention_grad_row = register_op({.name = "ScaledDotProductAttentionGrad",
                                               .function = "scaled_dot_product_attention",
                                               .infer = infer_attention_grad,
                                               .strided = true,
                                               .takes = floating_dtypes});

void attention_rule(GradientCall& call) {
  if (!call.gradient(0).is_defined()) return;
  OpCall back(attention_grad_row, call.site);
  for (std::size_t i = 0; i < 3; ++i) back.add(call.input(i));
  back.add(call.output(0));
  back.add(call.output(1));
  back.add(call.gradient(0));
  if (call.inputs.size() > 3) back.add(call.input(3));
  back.attributes = call.attributes;
  dispatch(back);
  for (std::size_t i = 0; i < 3; ++i) call.give(i, back.outputs[i]);
}

// The three gradients as ordinary ops, all weights at once.
struct Gradients {
  Tensor query;
  Tensor key;
  Tensor value;
};
Gradients by_ops(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& g, const Tensor& mask,
                 const AttentionAttributes& attributes, Site site) {
  Tensor seen = mask;
  if (attributes.causal) {
    const DeviceScope there(q.device());
    const Tensor places = reshape(arange(q.shape()[2], {}, site), {q.shape()[2], 1}, site);
    const Tensor before = greater_equal(places, arange(k.shape()[2], {}, site), site);
    seen = seen.is_defined() ? logical_and(seen, before, site) : before;
  }
  Tensor match = matmul(multiply(q, attributes.scale, site), matrix_transpose(k, site), site);
  if (seen.is_defined()) match = where(seen, match, unseen_match, site);
  const Tensor weights = softmax(match, -1, site);
  const Tensor of_weights = matmul(g, matrix_transpose(v, site), site);
  const Tensor along = sum(multiply(weights, of_weights, site), -1, {.keepdims = true}, site);
  Tensor of_match = multiply(multiply(weights, subtract(of_weights, along, site), site), attributes.scale, site);
  if (seen.is_defined()) of_match = where(seen, of_match, 0, site);
  return {matmul(of_match, k, site), matmul(matrix_transpose(of_match, site), q, site),
          matmul(matrix_transpose(weights, site), g, site)};
}

// Of second order: through the ops that the gradients can be written with. The result and the sums follow from the rest.
void attention_grad_rule(GradientCall& call) {
  const auto attributes = call.as<AttentionAttributes>();
  const Tensor q = call.input(0);
  const Tensor k = call.input(1);
  const Tensor v = call.input(2);
  const Tensor g = call.input(5);
  Tape tape;
  tape.watch(q, k, v, g);
  Tensor total;
  {
    const Tape::Recording on(tape);
    const Gradients all = by_ops(q, k, v, g, attributes.has_mask ? call.input(6) : Tensor(), attributes, call.site);
    const Tensor* const each[] = {&all.query, &all.key, &all.value};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!call.gradient(i).is_defined()) continue;
      const Tensor part = sum(multiply(*each[i], call.gradient(i), call.site), call.site);
      total = total.is_defined() ? add(std::move(total), part, call.site) : part;
    }
  }
  const std::vector<Tape::Wanted> wanted{{.tensor = &q}, {.tensor = &k}, {.tensor = &v}, {.tensor = &g}};
  const std::vector<Tensor> found = tape.gradients(total, wanted, {}, false, call.site);
  for (std::size_t i = 0; i < 3; ++i) call.give(i, found[i]);
  call.give(5, found[3]);
}

[[maybe_unused]] const bool attention_rules[] = {
    register_gradient("ScaledDotProductAttention",
                      {.apply = attention_rule, .reads_inputs = 0b1111, .reads_outputs = reads::first | reads::second}),
    register_gradient("ScaledDotProductAttentionGrad", {.apply = attention_grad_rule, .reads_inputs = 0b1100111}),
};

// As (batch, heads, places, features), with the leading axes it shares with the others.
Tensor by_heads(const Tensor& x, const Shape& leading, Site site) {
  const std::size_t rank = x.rank();
  Shape shape = leading;
  for (std::size_t i = rank - 2; i < rank; ++i) shape.push_back(x.shape()[i]);
  Tensor all = broadcast_to(x, shape, site);
  if (leading.size() == 2) return all;
  std::int64_t batch = 1;
  for (std::size_t i = 0; i + 1 < leading.size(); ++i) batch *= leading[i];
  const std::int64_t heads = leading.empty() ? 1 : leading[leading.size() - 1];
  return reshape(all, {batch, heads, x.shape()[rank - 2], x.shape()[rank - 1]}, site);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const ScaledDotProductOptions& options, Site site) {
  const std::size_t rank = query.rank(site);
  const bool fits = rank >= 2 && key.rank(site) == rank && value.rank(site) == rank &&
                    query.shape()[rank - 1] == key.shape()[rank - 1] && key.shape()[rank - 2] == value.shape()[rank - 2];
  const auto leading_of = [](const Tensor& x) { return Shape(x.shape().view().first(x.rank() - 2)); };
  std::optional<Shape> leading = fits ? broadcast(leading_of(query), leading_of(key)) : std::nullopt;
  if (leading) leading = broadcast(*leading, leading_of(value));
  if (!leading) {
    throw ShapeError(text("scaled_dot_product_attention: queries and keys must have the same features, keys and values the same "
                          "places; the shapes are ",
                          to_string(query.shape()), ", ", to_string(key.shape()), " and ", to_string(value.shape())),
                     site);
  }
  if (options.chunk < 1)
    throw InvalidArgument(text("scaled_dot_product_attention: a chunk of ", options.chunk, " queries"), site);
  const DType dtype = promote(promote(query.dtype(), key.dtype()), value.dtype());
  OpCall call(attention_row, site);
  const Tensor operands[] = {by_heads(cast(query, dtype, site), *leading, site), by_heads(cast(key, dtype, site), *leading, site),
                             by_heads(cast(value, dtype, site), *leading, site)};
  for (const Tensor& each : operands) call.add(each);
  Tensor mask;
  if (options.mask.is_defined()) {
    Shape shape = *leading;
    shape.push_back(query.shape()[rank - 2]);
    shape.push_back(key.shape()[rank - 2]);
    mask = options.mask;
    if (leading->size() <= 2 && mask.rank(site) <= leading->size() + 2) {  // what is shared stays as small as it is
      Shape small;
      while (small.size() + mask.rank() < 4) small.push_back(1);
      for (std::size_t i = 0; i < mask.rank(); ++i) small.push_back(mask.shape()[i]);
      mask = reshape(mask, small, site);
    } else {
      mask = by_heads(broadcast_to(mask, shape, site), *leading, site);
    }
    call.add(mask);
  }
  call.attributes = Attributes(AttentionAttributes{.scale = 1 / std::sqrt(static_cast<double>(query.shape()[rank - 1])),
                                                   .chunk = options.chunk,
                                                   .causal = options.causal,
                                                   .tf32 = allows_tf32(),
                                                   .deterministic = is_deterministic(),
                                                   .has_mask = mask.is_defined()});
  dispatch(call);
  Shape shape = *leading;
  shape.push_back(query.shape()[rank - 2]);
  shape.push_back(value.shape()[rank - 1]);
  return leading->size() == 2 ? call.outputs[0] : reshape(call.outputs[0], shape, site);
}

}  // namespace tutti
