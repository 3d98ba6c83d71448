#include "conformance/random_calls.h"

#include <limits>

#include "conformance/random_call_lists.h"

namespace tutti::conformance {

namespace {

using Results = std::vector<Tensor>;

// Operands that are broadcast against each other; now and then one is a number.
template <class F>
Results of_two(Draw& d, F&& function, const std::function<Tensor(const Shape&)>& first,
               const std::function<Tensor(const Shape&)>& second) {
  const Shape shape = d.shape();
  switch (d.between(0, 7)) {
    case 0: return {function(TensorArg(0.75), TensorArg(second(shape)))};
    case 1: return {function(TensorArg(first(shape)), TensorArg(1.25))};
    case 2: return {function(TensorArg(first(d.narrower(shape))), TensorArg(second(shape)))};
    case 3: return {function(TensorArg(first(shape)), TensorArg(second(d.narrower(shape))))};
    case 4: return {function(TensorArg(first(d.narrower(shape))), TensorArg(second(d.narrower(shape))))};
    default: return {function(TensorArg(first(shape)), TensorArg(second(shape)))};
  }
}

template <class F>
Results of_two(Draw& d, F&& function) {
  const auto any = [&](const Shape& shape) { return d.any(shape); };
  return of_two(d, function, any, any);
}

#define TUTTI_UNARY(name)                                                                \
  RandomCall {                                                                           \
    #name, [](Draw& d) -> Results { return {tutti::name(TensorArg(d.any(d.shape())))}; } \
  }
#define TUTTI_POSITIVE(name)                                                                  \
  RandomCall {                                                                                \
    #name, [](Draw& d) -> Results { return {tutti::name(TensorArg(d.positive(d.shape())))}; } \
  }
#define TUTTI_BINARY(name)                                                                                             \
  RandomCall {                                                                                                         \
    #name, [](Draw& d) { return of_two(d, [](const TensorArg& a, const TensorArg& b) { return tutti::name(a, b); }); } \
  }
#define TUTTI_WHOLE(name)                                                           \
  RandomCall {                                                                      \
    #name, [](Draw& d) -> Results {                                                 \
      const Shape shape = d.shape();                                                \
      return {tutti::name(d.whole(shape, 1, 8), d.whole(d.narrower(shape), 1, 4))}; \
    }                                                                               \
  }
#define TUTTI_REDUCED(name)                                                \
  RandomCall {                                                             \
    #name, [](Draw& d) -> Results {                                        \
      const Shape shape = d.shape(0, 4);                                   \
      const Tensor x = d.any(shape);                                       \
      if (d.between(0, 4) == 0) return {tutti::name(x)};                   \
      return {tutti::name(x, d.some_axes(shape), {.keepdims = d.coin()})}; \
    }                                                                      \
  }
#define TUTTI_ARGUMENT(name)                                                     \
  RandomCall {                                                                   \
    #name, [](Draw& d) -> Results {                                              \
      const Shape shape = d.shape(1, 4);                                         \
      return {tutti::name(d.any(shape), d.axis(shape), {.keepdims = d.coin()})}; \
    }                                                                            \
  }

}  // namespace

std::vector<RandomCall> elementwise_calls() {
  return {
      TUTTI_UNARY(abs),
      TUTTI_UNARY(negative),
      TUTTI_UNARY(positive),
      TUTTI_UNARY(sign),
      TUTTI_UNARY(square),
      TUTTI_POSITIVE(sqrt),
      TUTTI_UNARY(floor),
      TUTTI_UNARY(ceil),
      TUTTI_UNARY(trunc),
      TUTTI_UNARY(round),
      TUTTI_UNARY(exp),
      TUTTI_UNARY(expm1),
      TUTTI_POSITIVE(log),
      TUTTI_POSITIVE(log1p),
      TUTTI_POSITIVE(log2),
      TUTTI_POSITIVE(log10),
      TUTTI_UNARY(sin),
      TUTTI_UNARY(cos),
      TUTTI_UNARY(tan),
      TUTTI_UNARY(asin),
      TUTTI_UNARY(acos),
      TUTTI_UNARY(atan),
      TUTTI_UNARY(sinh),
      TUTTI_UNARY(cosh),
      TUTTI_UNARY(tanh),
      TUTTI_UNARY(asinh),
      TUTTI_UNARY(atanh),
      TUTTI_UNARY(erf),
      TUTTI_UNARY(isnan),
      TUTTI_UNARY(isinf),
      TUTTI_UNARY(isfinite),
      TUTTI_UNARY(signbit),
      TUTTI_UNARY(relu),
      TUTTI_UNARY(sigmoid),
      TUTTI_UNARY(silu),
      TUTTI_BINARY(add),
      TUTTI_BINARY(subtract),
      TUTTI_BINARY(multiply),
      TUTTI_BINARY(divide),
      TUTTI_BINARY(floor_divide),
      TUTTI_BINARY(remainder),
      TUTTI_BINARY(maximum),
      TUTTI_BINARY(minimum),
      TUTTI_BINARY(copysign),
      TUTTI_BINARY(logaddexp),
      TUTTI_BINARY(atan2),
      TUTTI_BINARY(hypot),
      TUTTI_BINARY(equal),
      TUTTI_BINARY(not_equal),
      TUTTI_BINARY(less),
      TUTTI_BINARY(less_equal),
      TUTTI_BINARY(greater),
      TUTTI_BINARY(greater_equal),
      TUTTI_BINARY(isclose),
      TUTTI_BINARY(allclose),
      TUTTI_WHOLE(bitwise_and),
      TUTTI_WHOLE(bitwise_or),
      TUTTI_WHOLE(bitwise_xor),
      TUTTI_WHOLE(bitwise_left_shift),
      TUTTI_WHOLE(bitwise_right_shift),
      {"bitwise_invert", [](Draw& d) -> Results { return {bitwise_invert(d.whole(d.shape(), 0, 9))}; }},
      {"logical_and",
       [](Draw& d) -> Results {
         return {logical_and(d.mask({2, 3}), less(d.any({3}), 0))};
       }},
      {"logical_or",
       [](Draw& d) -> Results {
         return {logical_or(d.mask({2, 3}), less(d.any({3}), 0))};
       }},
      {"logical_xor",
       [](Draw& d) -> Results {
         return {logical_xor(d.mask({2, 3}), less(d.any({3}), 0))};
       }},
      {"logical_not", [](Draw& d) -> Results { return {logical_not(less(d.any({3}), 0))}; }},
      {"acosh", [](Draw& d) -> Results { return {acosh(d.positive(d.shape()) + 1)}; }},
      {"gelu",
       [](Draw& d) -> Results {
         return {gelu(d.any(d.shape()), {.form = d.pick({GeluForm::exact, GeluForm::by_tanh})})};
       }},
      {"pow",
       [](Draw& d) -> Results {
         if (d.coin()) return {pow(d.any(d.shape()), static_cast<double>(d.between(-2, 4)))};
         return of_two(
             d, [](const TensorArg& a, const TensorArg& b) { return pow(a, b); },
             [&](const Shape& shape) { return d.positive(shape); }, [&](const Shape& shape) { return d.any(shape); });
       }},
      {"add_n",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         std::vector<Tensor> all;
         for (std::int64_t i = d.between(0, 3); i >= 0; --i) all.push_back(d.any(shape));
         return {add_n(all)};
       }},
      {"clip",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         const Tensor x = d.any(shape);
         const Tensor low = d.any(d.narrower(shape));
         const Tensor high = d.any(d.narrower(shape));
         switch (d.between(0, 3)) {
           case 0: return {clip(x, low, std::nullopt)};
           case 1: return {clip(x, std::nullopt, high)};
           case 2: return {clip(x, -0.5, high)};
           default: return {clip(x, low, high)};
         }
       }},
      {"where",
       [](Draw& d) {
         const Tensor mask = d.mask(d.narrower(d.shape()));
         const Shape shape = mask.shape();
         if (d.coin()) return Results{where(mask, d.any(shape), 0)};
         return Results{where(mask, d.any(d.narrower(shape)), d.any(shape))};
       }},
      {"cast",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         return {cast(d.any(shape), DType::f64) * cast(d.whole(shape, 1, 5), DType::f64)};
       }},
  };
}

std::vector<RandomCall> reduction_calls() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {
      TUTTI_REDUCED(sum),
      TUTTI_REDUCED(prod),
      TUTTI_REDUCED(max),
      TUTTI_REDUCED(min),
      TUTTI_REDUCED(mean),
      TUTTI_REDUCED(logsumexp),
      TUTTI_REDUCED(all),
      TUTTI_REDUCED(any),
      TUTTI_REDUCED(count_nonzero),
      TUTTI_ARGUMENT(argmax),
      TUTTI_ARGUMENT(argmin),
      {"var",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3, 2);
         return {var(d.any(shape), d.axis(shape), {.correction = d.pick({0.0, 1.0}), .keepdims = d.coin()})};
       }},
      {"std",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3, 2);
         return {std(d.any(shape), d.axis(shape), {.correction = d.pick({0.0, 1.0}), .keepdims = d.coin()})};
       }},
      {"vector_norm",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         const double order = d.pick({0.0, 0.5, 1.0, 1.5, 2.0, 3.0, infinity, -infinity});
         return {vector_norm(d.any(shape), d.some_axes(shape), {.ord = order, .keepdims = d.coin()})};
       }},
      {"cumulative_sum",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         return {cumulative_sum(d.any(shape), d.axis(shape), {.include_initial = d.coin()})};
       }},
      {"cumsum",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         return {cumsum(d.any(shape), d.axis(shape))};
       }},
      {"cumprod",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         return {cumprod(d.any(shape), d.axis(shape))};
       }},
  };
}

std::vector<RandomCall> neural_calls() {
  return {
      {"softmax",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         return {softmax(d.any(shape), d.axis(shape))};
       }},
      {"log_softmax",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         return {log_softmax(d.any(shape), d.axis(shape))};
       }},
      {"layer_norm",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3, 2);
         const std::int64_t axes = d.between(1, static_cast<std::int64_t>(shape.size()));
         const Shape last(shape.view().subspan(shape.size() - static_cast<std::size_t>(axes)));
         const Tensor x = d.any(shape);
         const Tensor weight = d.coin() ? d.any(last) : Tensor();
         const Tensor bias = d.coin() ? d.any(last) : Tensor();
         return {layer_norm(x, weight, bias, {.axes = axes, .epsilon = 0.1})};
       }},
      {"linear",
       [](Draw& d) -> Results {
         Shape shape = d.shape(1, 3);
         const std::int64_t outputs = d.between(1, 4);
         const Tensor x = d.any(shape);
         const Tensor weight = d.any({shape[shape.size() - 1], outputs});
         return {linear(x, weight, d.any({outputs}))};
       }},
      {"embedding",
       [](Draw& d) -> Results {
         return {embedding(d.any({5, d.between(1, 4)}), d.whole(d.shape(), 0, 5))};
       }},
      {"cross_entropy",
       [](Draw& d) -> Results {
         const std::int64_t classes = d.between(2, 5);
         const Shape labels = d.shape(1, 3);
         Shape logits{labels[0], classes};
         for (std::size_t i = 1; i < labels.size(); ++i) logits.push_back(labels[i]);
         CrossEntropyOptions options{.reduction = d.pick({LossReduction::none, LossReduction::sum, LossReduction::mean})};
         Tensor truth = d.whole(labels, 0, classes);
         if (d.coin()) {
           options.ignore_index = 1;
           truth = where(equal(cumsum(reshape(ones(labels), {-1}), 0), 1), 0, reshape(truth, {-1}));  // one counts at least
           truth = reshape(truth, labels);
         }
         return {cross_entropy(d.any(logits), truth, options)};
       }},
      {"dropout",
       [](Draw& d) -> Results {
         if (d.coin()) return {dropout(d.any(d.shape()), 0.5)};
         return {dropout(d.any(d.shape()), 0.25, {.key = 3})};
       }},
      {"one_hot", [](Draw& d) -> Results { return {one_hot(d.whole(d.shape(), 0, 4), 4)}; }},
      {"conv2d",
       [](Draw& d) -> Results {
         const std::int64_t groups = d.between(1, 2);
         const Size2d kernel(d.between(1, 3), d.between(1, 3));
         const Size2d dilation(d.between(1, 2), d.between(1, 2));
         const std::int64_t channels = groups * d.between(1, 2);
         const std::int64_t outputs = groups * d.between(1, 2);
         const Tensor images = d.any({d.between(1, 2), channels, (kernel.height - 1) * dilation.height + d.between(1, 4),
                                      (kernel.width - 1) * dilation.width + d.between(1, 4)});
         const Tensor weight = d.any({outputs, channels / groups, kernel.height, kernel.width});
         const Tensor bias = d.coin() ? d.any({outputs}) : Tensor();
         return {conv2d(images, weight, bias,
                        {.stride = {d.between(1, 2), d.between(1, 2)},
                         .padding = {d.between(0, 2), d.between(0, 2)},
                         .dilation = dilation,
                         .groups = groups})};
       }},
      {"channels_last",
       [](Draw& d) -> Results {
         return {channels_last(d.any({d.between(1, 2), d.between(1, 3), d.between(1, 4), d.between(1, 4)}))};
       }},
      {"max_pool2d",
       [](Draw& d) -> Results {
         const Size2d kernel(d.between(1, 3), d.between(1, 3));
         const Tensor images = d.any({d.between(1, 2), d.between(1, 2), 5 + d.between(0, 3), 5 + d.between(0, 3)});
         return {max_pool2d(images, kernel,
                            {.stride = Size2d(d.between(1, 3), d.between(1, 3)),
                             .padding = {d.between(0, kernel.height / 2), d.between(0, kernel.width / 2)},
                             .dilation = {d.between(1, 2), d.between(1, 2)},
                             .ceil_mode = d.coin()})};
       }},
      {"avg_pool2d",
       [](Draw& d) -> Results {
         const Size2d kernel(d.between(1, 3), d.between(1, 3));
         const Tensor images = d.any({d.between(1, 2), d.between(1, 2), 3 + d.between(0, 3), 3 + d.between(0, 3)});
         return {avg_pool2d(images, kernel,
                            {.stride = Size2d(d.between(1, 3), d.between(1, 3)),
                             .padding = {d.between(0, kernel.height / 2), d.between(0, kernel.width / 2)},
                             .ceil_mode = d.coin(),
                             .count_include_pad = d.coin()})};
       }},
      {"scaled_dot_product_attention",
       [](Draw& d) -> Results {
         Shape batch = d.shape(0, 2);
         const std::int64_t queries = d.between(1, 5);
         const std::int64_t keys = d.between(1, 5);
         const std::int64_t features = d.between(1, 4);
         const auto with = [&](std::int64_t places, std::int64_t size) {
           Shape shape = batch;
           shape.push_back(places);
           shape.push_back(size);
           return d.any(shape);
         };
         ScaledDotProductOptions options{.causal = d.coin()};
         if (d.coin()) options.mask = logical_or(d.mask({queries, keys}), equal(arange(keys), 0));  // none sees nothing
         return {
             scaled_dot_product_attention(with(queries, features), with(keys, features), with(keys, d.between(1, 4)), options)};
       }},
      {"mse_loss",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         return {mse_loss(d.any(shape), d.any(shape))};
       }},
      {"mae_loss",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         return {mae_loss(d.any(shape), d.any(shape))};
       }},
      {"dense_cross_entropy",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3, 2);
         return {dense_cross_entropy(d.any(shape), d.positive(shape))};
       }},
      {"smoothed_cross_entropy",
       [](Draw& d) -> Results {
         const std::int64_t batch = d.between(1, 4);
         return {smoothed_cross_entropy(d.any({batch, 3}), d.whole({batch}, 0, 3), d.pick({0.0, 0.1, 0.5}))};
       }},
      {"binary_cross_entropy",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         return {binary_cross_entropy(d.any(shape), d.positive(shape))};
       }},
  };
}

std::vector<RandomCall> matrix_calls() {
  const auto batched = [](Draw& d, const Shape& batch, std::int64_t rows, std::int64_t columns) {
    Shape shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    return d.any(shape);
  };
  const auto definite = [](Draw& d) {
    const std::int64_t size = d.between(1, 4);
    Shape shape = d.shape(0, 1);
    shape.push_back(size);
    shape.push_back(size);
    const Tensor root = d.any(shape);
    return matmul(root, matrix_transpose(root)) + eye(size, {.dtype = DType::f64});
  };
  return {
      {"matmul",
       [=](Draw& d) -> Results {
         const std::int64_t rows = d.between(1, 4);
         const std::int64_t inner = d.between(1, 4);
         const std::int64_t columns = d.between(1, 4);
         const Shape batch = d.shape(0, 2);
         switch (d.between(0, 5)) {
           case 0: return {matmul(d.any({inner}), d.any({inner}))};
           case 1: return {matmul(batched(d, batch, rows, inner), d.any({inner}))};
           case 2: return {matmul(d.any({inner}), batched(d, batch, inner, columns))};
           case 3: return {matmul(batched(d, d.narrower(batch), rows, inner), batched(d, batch, inner, columns))};
           case 4: return {matmul(batched(d, batch, rows, inner), batched(d, d.narrower(batch), inner, columns))};
           default: return {matmul(d.any({rows, inner}), d.any({inner, columns}))};
         }
       }},
      {"matrix_transpose", [](Draw& d) -> Results { return {matrix_transpose(d.any(d.shape(2, 4)))}; }},
      {"tensordot",
       [](Draw& d) -> Results {
         const std::int64_t n = d.between(1, 3);
         const std::int64_t m = d.between(1, 3);
         switch (d.between(0, 2)) {
           case 0: return {tensordot(d.any({2, n, m}), d.any({n, m, 3}), 2)};
           case 1: return {tensordot(d.any({n, 2, m}), d.any({m, n}), {0, -1}, {1, 0})};
           default: return {tensordot(d.any({n}), d.any({m}), 0)};
         }
       }},
      {"vecdot",
       [](Draw& d) -> Results {
         const Shape shape = d.shape(1, 3);
         if (d.coin()) return {vecdot(d.any({shape[shape.size() - 1]}), d.any(shape))};
         return {vecdot(d.any(shape), d.any(shape), -d.between(1, static_cast<std::int64_t>(shape.size())))};
       }},
      {"outer", [](Draw& d) -> Results { return {outer(d.any({d.between(1, 5)}), d.any({d.between(1, 5)}))}; }},
      {"trace", [](Draw& d) -> Results { return {trace(d.any(d.shape(2, 3, 2)), d.between(-1, 1))}; }},
      {"einsum",
       [](Draw& d) -> Results {
         const auto i = d.between(1, 4);
         const auto j = d.between(1, 4);
         const auto k = d.between(1, 4);
         switch (d.between(0, 8)) {
           case 0: return {einsum("ij,jk->ik", d.any({i, j}), d.any({j, k}))};
           case 1: return {einsum("bij,bjk->bik", d.any({2, i, j}), d.any({2, j, k}))};
           case 2: return {einsum("ij->ji", d.any({i, j}))};
           case 3: return {einsum("ii->i", d.any({i, i}))};
           case 4: return {einsum("ij,j", d.any({i, j}), d.any({j}))};
           case 5: return {einsum("i,j->ij", d.any({i}), d.any({j}))};
           case 6: return {einsum("...ij,...jk->...ik", d.any({2, i, j}), d.any({j, k}))};
           case 7: return {einsum("ij,jk,ki->", d.any({i, j}), d.any({j, k}), d.any({k, i}))};
           default: return {einsum("ijk->k", d.any({i, j, k}))};
         }
       }},
      {"cholesky", [=](Draw& d) -> Results { return {cholesky(definite(d), {.upper = d.coin()})}; }},
      {"cholesky_ex",
       [=](Draw& d) -> Results {
         const auto [factor, info] = cholesky_ex(definite(d), {.upper = d.coin()});
         return {factor, info};
       }},
      {"solve",
       [=](Draw& d) -> Results {
         const std::int64_t size = d.between(1, 4);
         const Shape batch = d.shape(0, 2);
         switch (d.between(0, 3)) {
           case 0: return {solve(d.invertible(batch, size), d.any({size}))};
           case 1: return {solve(d.invertible(d.narrower(batch), size), batched(d, batch, size, 2))};
           case 2: return {solve(d.invertible(batch, size), batched(d, d.narrower(batch), size, 2))};
           default: return {solve(d.invertible(batch, size), batched(d, batch, size, d.between(1, 3)))};
         }
       }},
      {"inv", [](Draw& d) -> Results { return {inv(d.invertible(d.shape(0, 2), d.between(1, 4)))}; }},
      {"det", [](Draw& d) -> Results { return {det(d.invertible(d.shape(0, 2), d.between(1, 4)))}; }},
      {"slogdet",
       [](Draw& d) -> Results {
         const auto [sign_of, log_abs] = slogdet(d.invertible(d.shape(0, 2), d.between(1, 4)));
         return {sign_of, log_abs};
       }},
      {"qr",
       [](Draw& d) -> Results {
         const std::int64_t size = d.between(1, 3);
         Tensor x = d.invertible(d.shape(0, 1), size);
         const bool is_tall = d.coin();
         if (is_tall) x = concat({x, d.any(x.shape())}, -2);
         const auto [q, r] = qr(x, {.complete = !is_tall && d.coin()});
         return {q, r};
       }},
  };
}

#undef TUTTI_UNARY
#undef TUTTI_POSITIVE
#undef TUTTI_BINARY
#undef TUTTI_WHOLE
#undef TUTTI_REDUCED
#undef TUTTI_ARGUMENT

}  // namespace tutti::conformance
