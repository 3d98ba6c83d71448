// A function that refuses a call names itself, also where it shares a row with others or is made of them.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/ops/catalogue.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

struct Function {
  const char* name;
  std::function<void(const Tensor& a, const Tensor& b)> call;
};

#define TUTTI_OF_ONE(name)                                         \
  {                                                                \
    #name, [](const Tensor& a, const Tensor&) { (void)(name)(a); } \
  }
#define TUTTI_OF_TWO(name)                                              \
  {                                                                     \
    #name, [](const Tensor& a, const Tensor& b) { (void)(name)(a, b); } \
  }
#define TUTTI_WITH(name, ...)                    \
  {                                              \
    name, [](const Tensor& a, const Tensor& b) { \
      (void)a;                                   \
      (void)b;                                   \
      (void)(__VA_ARGS__);                       \
    }                                            \
  }

// clang-format off
const Function functions[] = {
    TUTTI_WITH("constant", constant({1.F, 2.F}, {3})), TUTTI_WITH("from_bytes", from_bytes(DType::f32, {3}, {})), TUTTI_WITH("full", full({2}, a)),
    TUTTI_WITH("full_like", full_like(a, b)), TUTTI_WITH("arange", arange(0, 1, 0)), TUTTI_WITH("zeros", zeros({-1})),
    TUTTI_WITH("ones", ones({2, -1})), TUTTI_WITH("empty", empty({-1})), TUTTI_WITH("full", full({-1}, 2)),
    TUTTI_WITH("eye", eye(-1)), TUTTI_WITH("uniform", uniform({-1})), TUTTI_WITH("normal", normal({-1})),
    TUTTI_WITH("bernoulli", bernoulli({-1}, 0.5)), TUTTI_WITH("randint", randint({-1}, 0, 3)),
    TUTTI_WITH("linspace", linspace(0, 1, -1)), TUTTI_OF_ONE(tril), TUTTI_OF_ONE(triu),
    TUTTI_WITH("meshgrid", meshgrid({a, b})), TUTTI_WITH("meshgrid", meshgrid(std::vector<Tensor>(9, reshape(a, {-1})))),
    TUTTI_WITH("uniform", uniform({2}, {.low = 2, .high = 1})),
    TUTTI_WITH("normal", normal({2}, {.stddev = -1})), TUTTI_WITH("randint", randint({2}, 3, 1)),
    TUTTI_WITH("bernoulli", bernoulli({2}, 2)), TUTTI_WITH("permutation", permutation(a)),
    TUTTI_OF_TWO(add), TUTTI_OF_TWO(subtract), TUTTI_OF_TWO(multiply), TUTTI_OF_TWO(divide), TUTTI_OF_TWO(floor_divide),
    TUTTI_OF_TWO(remainder), TUTTI_OF_TWO(pow), TUTTI_WITH("pow", pow(a, 2)), TUTTI_WITH("add_n", add_n({a, b})),
    TUTTI_OF_ONE(abs), TUTTI_OF_ONE(negative), TUTTI_OF_ONE(positive), TUTTI_OF_ONE(sign), TUTTI_OF_ONE(square),
    TUTTI_OF_ONE(sqrt), TUTTI_OF_TWO(copysign), TUTTI_OF_TWO(maximum), TUTTI_OF_TWO(minimum),
    TUTTI_WITH("clip", clip(a, b, {})), TUTTI_WITH("clip", clip(a, {}, b)), TUTTI_WITH("clip", clip(a, b, b)),
    TUTTI_OF_ONE(floor), TUTTI_OF_ONE(ceil), TUTTI_OF_ONE(trunc), TUTTI_OF_ONE(round),
    TUTTI_WITH("where", where(a, b, 0)), TUTTI_WITH("where", where(equal(a, a), b, b)),
    TUTTI_OF_ONE(exp), TUTTI_OF_ONE(expm1), TUTTI_OF_ONE(log), TUTTI_OF_ONE(log1p), TUTTI_OF_ONE(log2), TUTTI_OF_ONE(log10),
    TUTTI_OF_TWO(logaddexp), TUTTI_OF_ONE(sin), TUTTI_OF_ONE(cos), TUTTI_OF_ONE(tan), TUTTI_OF_ONE(asin), TUTTI_OF_ONE(acos),
    TUTTI_OF_ONE(atan), TUTTI_OF_TWO(atan2), TUTTI_OF_TWO(hypot), TUTTI_OF_ONE(sinh), TUTTI_OF_ONE(cosh), TUTTI_OF_ONE(tanh),
    TUTTI_OF_ONE(asinh), TUTTI_OF_ONE(acosh), TUTTI_OF_ONE(atanh), TUTTI_OF_ONE(erf), TUTTI_OF_TWO(equal),
    TUTTI_OF_TWO(not_equal), TUTTI_OF_TWO(less), TUTTI_OF_TWO(less_equal), TUTTI_OF_TWO(greater), TUTTI_OF_TWO(greater_equal),
    TUTTI_OF_ONE(isnan), TUTTI_OF_ONE(isinf), TUTTI_OF_ONE(isfinite), TUTTI_OF_ONE(signbit), TUTTI_OF_TWO(isclose),
    TUTTI_OF_TWO(allclose), TUTTI_OF_TWO(logical_and), TUTTI_OF_TWO(logical_or), TUTTI_OF_TWO(logical_xor),
    TUTTI_OF_ONE(logical_not), TUTTI_OF_TWO(bitwise_and), TUTTI_OF_TWO(bitwise_or), TUTTI_OF_TWO(bitwise_xor),
    TUTTI_OF_ONE(bitwise_invert), TUTTI_OF_TWO(bitwise_left_shift), TUTTI_OF_TWO(bitwise_right_shift),
    TUTTI_WITH("sum", sum(a, all_axes, {.dtype = DType::boolean})),
    TUTTI_WITH("prod", prod(a, all_axes, {.dtype = DType::boolean})), TUTTI_OF_ONE(max), TUTTI_OF_ONE(min), TUTTI_OF_ONE(mean),
    TUTTI_OF_ONE(var), TUTTI_OF_ONE(std), TUTTI_OF_ONE(argmax), TUTTI_OF_ONE(argmin), TUTTI_OF_ONE(logsumexp),
    TUTTI_OF_ONE(vector_norm), TUTTI_OF_ONE(cumulative_sum), TUTTI_WITH("cumsum", cumsum(a, 0)),
    TUTTI_WITH("cumprod", cumprod(a, 0)), TUTTI_OF_ONE(relu), TUTTI_OF_ONE(sigmoid), TUTTI_OF_ONE(silu), TUTTI_OF_ONE(gelu),
    TUTTI_OF_ONE(softmax), TUTTI_OF_ONE(log_softmax), TUTTI_WITH("layer_norm", layer_norm(a, b, b)), TUTTI_WITH("linear", linear(a, b, b)), TUTTI_OF_TWO(embedding),
    TUTTI_OF_TWO(cross_entropy), TUTTI_WITH("dropout", dropout(a, 0.5)), TUTTI_WITH("one_hot", one_hot(a, 3)),
    TUTTI_WITH("conv2d", conv2d(a, b)), TUTTI_WITH("max_pool2d", max_pool2d(a, 2)), TUTTI_WITH("avg_pool2d", avg_pool2d(a, 2)),
    TUTTI_OF_TWO(matmul), TUTTI_OF_ONE(matrix_transpose), TUTTI_WITH("tensordot", tensordot(a, b, 1)), TUTTI_OF_TWO(vecdot),
    TUTTI_OF_TWO(outer), TUTTI_OF_ONE(trace), TUTTI_WITH("einsum", einsum("i,j->ij", a, b)),
    TUTTI_WITH("einsum", einsum("i,i->", a, b)), TUTTI_OF_ONE(cholesky), TUTTI_OF_ONE(cholesky_ex), TUTTI_OF_TWO(solve),
    TUTTI_OF_ONE(inv), TUTTI_OF_ONE(det), TUTTI_OF_ONE(slogdet), TUTTI_OF_ONE(qr), TUTTI_OF_ONE(sort), TUTTI_OF_ONE(argsort),
    TUTTI_WITH("topk", topk(a, 2)), TUTTI_OF_TWO(searchsorted),
    TUTTI_WITH("unique_values", unique_values(a, {.size = -1})), TUTTI_WITH("unique_counts", unique_counts(a, {.size = -1})),
    TUTTI_WITH("unique_inverse", unique_inverse(a, {.size = -1})), TUTTI_WITH("unique_all", unique_all(a, {.size = -1})),
    TUTTI_WITH("index", index(a, {b})), TUTTI_WITH("index", index(a, {9, 9})), TUTTI_WITH("At::set", at(a, {9}).set(1)),
    TUTTI_WITH("index", index(a, {Range{.step = 0}})), TUTTI_WITH("slice", slice(a, 0, {.step = 0})),
    TUTTI_WITH("At::add", at(a, {ellipsis, ellipsis}).add(1)), TUTTI_WITH("At::set", at(a, {}).set(b)),
    TUTTI_WITH("At::get", at(a, {b}).get()), TUTTI_WITH("At::set", at(a, {b}).set(a)),
    TUTTI_WITH("At::add", at(a, {b}).add(1)), TUTTI_WITH("At::multiply", at(a, {b}).multiply(a)),
    TUTTI_WITH("At::min", at(a, {b}).min(1)), TUTTI_WITH("At::max", at(a, {b}).max(b)), TUTTI_OF_TWO(take),
    TUTTI_WITH("index_select", index_select(a, 0, b)), TUTTI_OF_TWO(take_along_axis), TUTTI_WITH("gather", gather(a, 0, b)),
    TUTTI_WITH("scatter", scatter(a, 0, b, 1)), TUTTI_WITH("nonzero", nonzero(a, {.size = -1})),
    TUTTI_WITH("masked_select", masked_select(a, b, {.size = 2})), TUTTI_WITH("masked_scatter", masked_scatter(a, b, a)),
    TUTTI_WITH("repeat_interleave", repeat_interleave(a, b, {.output_size = 3})),
    TUTTI_WITH("repeat_interleave", repeat_interleave(a, 2, {.output_size = 3})),
    TUTTI_WITH("broadcast_to", broadcast_to(a, {7, 7})), TUTTI_WITH("broadcast_arrays", broadcast_arrays(std::vector{a, b})),
    TUTTI_WITH("reshape", reshape(a, {7})), TUTTI_OF_ONE(diagonal), TUTTI_WITH("split", split(a, 7)),
    TUTTI_WITH("concat", concat({a, b})), TUTTI_WITH("stack", stack({a, b})), TUTTI_WITH("roll", roll(a, {1, 1}, {0})),
    TUTTI_WITH("repeat", repeat(a, -1)), TUTTI_WITH("tile", tile(a, {-1})), TUTTI_WITH("pad", pad(a, {{-1, 0}})),
};

// With an axis that a of shape (2, 3) does not have; b holds indices.
const Function of_axis_9[] = {
    TUTTI_WITH("sum", sum(a, 9)), TUTTI_WITH("sum", sum(a, {0, 9}, {.dtype = DType::f64})), TUTTI_WITH("prod", prod(a, 9)),
    TUTTI_WITH("max", max(a, 9)), TUTTI_WITH("min", min(a, 9)), TUTTI_WITH("mean", mean(a, 9)), TUTTI_WITH("var", var(a, 9)),
    TUTTI_WITH("std", std(a, 9)), TUTTI_WITH("all", all(a, 9)), TUTTI_WITH("any", any(a, 9)),
    TUTTI_WITH("count_nonzero", count_nonzero(a, 9)), TUTTI_WITH("argmax", argmax(a, 9)), TUTTI_WITH("argmin", argmin(a, 9)),
    TUTTI_WITH("logsumexp", logsumexp(a, 9)), TUTTI_WITH("vector_norm", vector_norm(a, 9)),
    TUTTI_WITH("vector_norm", vector_norm(a, 9, {.ord = 0})), TUTTI_WITH("cumulative_sum", cumulative_sum(a, 9)),
    TUTTI_WITH("cumsum", cumsum(a, 9)), TUTTI_WITH("cumprod", cumprod(a, 9)), TUTTI_WITH("softmax", softmax(a, 9)),
    TUTTI_WITH("log_softmax", log_softmax(a, 9)), TUTTI_WITH("sort", sort(a, 9)), TUTTI_WITH("argsort", argsort(a, 9)),
    TUTTI_WITH("topk", topk(a, 1, 9)), TUTTI_WITH("take", take(a, b, 9)), TUTTI_WITH("index_select", index_select(a, 9, b)),
    TUTTI_WITH("take_along_axis", take_along_axis(a, b, 9)), TUTTI_WITH("gather", gather(a, 9, b)),
    TUTTI_WITH("scatter", scatter(a, 9, b, 1)), TUTTI_WITH("repeat_interleave", repeat_interleave(a, 2, 9)),
    TUTTI_WITH("repeat_interleave", repeat_interleave(a, b, {.axis = 9, .output_size = 3})),
    TUTTI_WITH("concat", concat({a, a}, 9)), TUTTI_WITH("stack", stack({a, a}, 9)), TUTTI_WITH("unstack", unstack(a, 9)),
    TUTTI_WITH("split", split(a, 2, 9)), TUTTI_WITH("split", split(a, std::vector<std::int64_t>{1}, 9)),
    TUTTI_WITH("roll", roll(a, {1}, {9})), TUTTI_WITH("repeat", repeat(a, 2, 9)), TUTTI_WITH("slice", slice(a, 9, {})),
    TUTTI_WITH("permute_dims", permute_dims(a, {0, 9})), TUTTI_WITH("transpose", transpose(a, 0, 9)),
    TUTTI_WITH("transpose", transpose(a, Dims{0, 9})), TUTTI_WITH("moveaxis", moveaxis(a, 9, 0)),
    TUTTI_WITH("moveaxis", moveaxis(a, 0, 9)), TUTTI_WITH("expand_dims", expand_dims(a, 9)),
    TUTTI_WITH("squeeze", squeeze(a, 9)), TUTTI_WITH("flip", flip(a, 9)), TUTTI_WITH("diagonal", diagonal(a, {.axis1 = 9})),
    TUTTI_WITH("diagonal", diagonal(a, {.axis2 = 9})), TUTTI_WITH("vecdot", vecdot(a, a, 9)),
    TUTTI_WITH("tensordot", tensordot(a, a, {9}, {0})), TUTTI_WITH("tensordot", tensordot(a, a, {0}, {9})),
};
// clang-format on

// The function of the catalogue that a message begins with.
std::string_view named_by(std::string_view message) {
  for (const CatalogueSection& section : catalogue()) {
    for (const CatalogueEntry& entry : section.entries) {
      if (message.substr(0, entry.name.size()) != entry.name) continue;
      const std::string_view rest = message.substr(entry.name.size());
      for (const std::string_view next : {":", " takes", " needs", " got", " was called", " gives", " draws"}) {
        if (rest.substr(0, next.size()) == next) return entry.name;
      }
    }
  }
  return {};
}

TEST(CalledAs, EveryRefusalNamesTheFunction) {
  const std::vector<Tensor> operands{ones({2, 3}),
                                     ones({4}),
                                     ones({}),
                                     ones({2}, DType::boolean),
                                     ones({2, 3}, DType::boolean),
                                     ones({3}, DType::i64),
                                     zeros({2, 3}, DType::i32),
                                     ones({0, 3}),
                                     ones({2, 3, 3}, DType::f16),
                                     ones({1, 1, 1, 1, 1, 1, 1, 1}, DType::i64)};
  std::set<std::string_view> refused;
  for (const Function& function : functions) {
    for (const Tensor& a : operands) {
      for (const Tensor& b : operands) {
        try {
          function.call(a, b);
        } catch (const Error& e) {
          EXPECT_EQ(named_by(e.message()), std::string_view(function.name)) << "it was refused with: " << e.message();
          refused.insert(function.name);
        }
      }
    }
    EXPECT_TRUE(refused.contains(function.name)) << function.name << " was never refused";
  }
}

TEST(CalledAs, AnAxisThatDoesNotExistIsRefusedByTheFunctionThatWasAsked) {
  const Tensor a = ones({2, 3});
  const Tensor b = zeros({2}, DType::i64);
  for (const Function& function : of_axis_9) {
    try {
      function.call(a, b);
      ADD_FAILURE() << function.name << " accepted it";
    } catch (const ShapeError& e) {
      const std::string begin = std::string(function.name) + ": axis 9 does not exist in a tensor with ";
      EXPECT_EQ(e.message().substr(0, begin.size()), begin);
    }
  }
}

TEST(CalledAs, AnAxisGivenTwiceIsRefusedByTheFunctionThatWasAsked) {
  const Tensor a = ones({2, 3});
  const auto refusal = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const ShapeError& e) {
      return e.message();
    }
    return "it was accepted";
  };
  EXPECT_EQ(refusal([&] { (void)mean(a, {1, -1}); }), "mean: axis -1 is given twice in (1, -1)");
  EXPECT_EQ(refusal([&] { (void)vector_norm(a, {0, 0}, {.ord = 0}); }), "vector_norm: axis 0 is given twice in (0, 0)");
  EXPECT_EQ(refusal([&] { (void)transpose(a, Dims{1, 1}); }), "transpose: axis 1 is given twice in (1, 1)");
  EXPECT_EQ(refusal([&] { (void)permute_dims(a, {1, 1}); }), "permute_dims: axis 1 is given twice in (1, 1)");
}

// Made of others, or here of what others made: it is one of those that is refused first.
const std::set<std::string_view> after_others{"isclose", "allclose", "trace",       "tensordot", "vecdot",
                                              "einsum",  "linear",   "permutation", "where",     "masked_scatter"};

TEST(CalledAs, ARefusedPlacementNamesTheFunction) {
  simulate_gpus(1);
  const std::vector<Tensor> operands{
      full({3, 3}, 2.0), ones({3}, DType::i64), ones({3}), ones({3, 3}, DType::boolean), ones({1, 2, 4, 4}), ones({})};
  for (const Function& function : functions) {
    std::set<std::string> named;
    for (const Tensor& a : operands) {
      for (const Tensor& b : operands) {
        try {
          const DeviceScope nowhere("GPU:7");
          function.call(a, b);
        } catch (const UnknownDevice& e) {
          const std::string message = e.message();
          const std::size_t begin = message.find("by op ") + 6;
          named.insert(message.substr(begin, message.find(" in the scope") - begin));
        } catch (const Error&) {  // these operands are not for it
        }
      }
    }
    EXPECT_TRUE(named.empty() || named.contains(function.name) || after_others.contains(function.name))
        << function.name << " was refused as " << *named.begin();
  }
}

TEST(CalledAs, OperandsAreShownAsTheyWereGiven) {
  try {
    (void)greater(ones({2, 3}), ones({4}));
    FAIL() << "it was accepted";
  } catch (const ShapeError& e) {
    EXPECT_NE(e.message().find("the shapes are (2, 3) and (4,)"), std::string::npos) << e.message();
  }
}

}  // namespace
}  // namespace tutti
