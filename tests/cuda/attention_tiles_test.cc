// Attention of f32: how exact it is, whatever the sizes and layouts, and that every run gives the same bits.
#include <functional>

#include "cuda/gpu.h"

namespace tutti::testing_cuda {

namespace {

using Tensors = std::vector<Tensor>;

class AttentionTiles : public OnGpu {
 protected:
  struct Case {
    Shape query, key, value;
    bool causal = false;
    Shape mask = {};
    bool is_apart = false;  // heads behind places, as layers have them
    std::int64_t cut = 0;   // so many features fewer than the rows in memory have
  };

  static Tensors inputs_of(const Case& c) {
    Tensors out;
    for (const Shape& shape : {c.query, c.key, c.value}) {
      const auto key = static_cast<std::uint64_t>(out.size() + 1);
      const UniformOptions options{.key = key, .low = -2, .high = 2, .dtype = DType::f32};
      const std::int64_t features = shape[3] + c.cut;
      const Tensor whole = c.is_apart ? permute_dims(uniform({shape[0], shape[2], shape[1], features}, options), {0, 2, 1, 3})
                                      : uniform({shape[0], shape[1], shape[2], features}, options);
      out.push_back(c.cut > 0 ? slice(whole, 3, {0, shape[3]}) : whole);
    }
    return out;
  }

  // The result and its gradients.
  static Tensors all_of(const Case& c, const Tensors& inputs) {
    const Tensor mask = c.mask.empty() ? Tensor() : greater(uniform(c.mask, {.key = 9, .dtype = DType::f32}), 0.4);
    const auto [value, slopes] = value_and_grad([&](const Tensors& x) {
      const Tensor out = scaled_dot_product_attention(x[0], x[1], x[2], {.causal = c.causal, .mask = mask});
      const Tensor weights = uniform(out.shape(), {.key = 10, .low = -1, .high = 1, .dtype = DType::f32});
      return std::pair(sum(out * cast(weights, out.dtype())), out);
    })(inputs);
    Tensors out{value.second};
    out.insert(out.end(), slopes.begin(), slopes.end());
    return out;
  }

  // By how much of the largest element the worst is off.
  static double error_of(const Tensor& found, const Tensor& exact) {
    return item<double>(max(abs(cast(found, DType::f64) - exact))) / item<double>(max(abs(exact)));
  }

  static void expect_errors_below(double most, const Case& c) {
    SCOPED_TRACE(to_string(c.query) + " and " + to_string(c.key) + (c.causal ? ", causal" : "") + ", mask " + to_string(c.mask));
    const Tensors inputs = inputs_of(c);
    Tensors wide;
    for (const Tensor& each : inputs) wide.push_back(cast(each, DType::f64));
    const Tensors found = all_of(c, inputs);
    const Tensors exact = all_of(c, wide);
    for (std::size_t i = 0; i < exact.size(); ++i)
      EXPECT_LT(error_of(found[i], exact[i]), most) << (i == 0 ? "the result" : "gradient ") << i;
  }
};

}  // namespace

TEST_F(AttentionTiles, AreAsExactAsF32WhateverTheSizes) {
  for (const Case& c : std::vector<Case>{
           {{2, 3, 128, 64}, {2, 3, 128, 64}, {2, 3, 128, 64}},
           {{2, 3, 129, 64}, {2, 3, 65, 64}, {2, 3, 65, 32}, true},
           {{1, 2, 300, 128}, {1, 2, 300, 128}, {1, 2, 300, 128}, true},
           {{1, 2, 70, 40}, {1, 2, 500, 40}, {1, 2, 500, 120}},
           {{1, 2, 31, 33}, {1, 2, 97, 33}, {1, 2, 97, 7}},  // rows that begin anywhere
           {{1, 1, 1, 1}, {1, 1, 3, 1}, {1, 1, 3, 1}},
           {{1, 2, 80, 66}, {1, 2, 80, 66}, {1, 2, 80, 66}, false, {}, false, 2},  // the last four are not all there
           {{1, 2, 40, 64}, {1, 2, 300, 64}, {1, 2, 300, 64}, true},               // keys that no query sees
           {{2, 4, 70, 64}, {1, 4, 70, 64}, {2, 1, 70, 64}},                       // shared by batches, by heads
           {{2, 2, 200, 96}, {2, 2, 200, 96}, {2, 2, 200, 96}, true, {}, true},
           {{2, 2, 150, 64}, {2, 2, 220, 64}, {2, 2, 220, 64}, false, {150, 220}},
           {{2, 2, 150, 64}, {2, 2, 150, 64}, {2, 2, 150, 64}, true, {2, 1, 1, 150}, true},
           {{2, 2, 90, 100}, {2, 2, 90, 100}, {2, 2, 90, 100}, true, {2, 2, 90, 90}},
       })
    expect_errors_below(1e-5, c);
}

// What tensor cores cut off at each step must not add up, which would be some 1e-4 here.
TEST_F(AttentionTiles, StayAsExactOverManyKeys) {
  const Case c{{1, 1, 64, 64}, {1, 1, 20'000, 64}, {1, 1, 20'000, 64}};
  Tensors inputs = inputs_of(c);
  inputs[2] = inputs[2] + 3;  // sums of one sign
  Tensors wide;
  for (const Tensor& each : inputs) wide.push_back(cast(each, DType::f64));
  EXPECT_LT(error_of(all_of(c, inputs)[0], all_of(c, wide)[0]), 5e-6);
}

TEST_F(AttentionTiles, RoundInputsToTf32WhereThatIsAllowed) {
  const Case c{{1, 2, 200, 64}, {1, 2, 200, 64}, {1, 2, 200, 64}, true};
  const Tensors inputs = inputs_of(c);
  Tensors wide;
  for (const Tensor& each : inputs) wide.push_back(cast(each, DType::f64));
  const Tensors exact = all_of(c, wide);
  set_allow_tf32(true);
  const Tensors found = all_of(c, inputs);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_LT(error_of(found[i], exact[i]), 5e-3) << i;
    EXPECT_GT(error_of(found[i], exact[i]), 1e-5) << i << ": that was not tf32";
  }
}

TEST_F(AttentionTiles, GiveTheSameBitsOnEveryRun) {
  for (const std::int64_t features : {64, 128}) {
    const Case c{{4, 8, 700, features}, {4, 8, 700, features}, {4, 8, 700, features}, true};
    const Tensors inputs = inputs_of(c);
    const Tensors first = all_of(c, inputs);
    for (int i = 0; i < 5; ++i) {
      const Tensors again = all_of(c, inputs);
      for (std::size_t j = 0; j < first.size(); ++j) EXPECT_TRUE(item<bool>(all(equal(again[j], first[j])))) << j;
    }
  }
}

// The GPU's own NaN, which has all bits but the sign.
TEST_F(AttentionTiles, AQueryThatIsNotANumberSpoilsItsOwnResultAndNoOther) {
  const Case c{{1, 1, 100, 64}, {1, 1, 100, 64}, {1, 1, 100, 64}, true};
  Tensors inputs = inputs_of(c);
  const Tensor nan = zeros({1}) / zeros({1});
  inputs[0] = where(reshape(equal(arange(100), 40), {100, 1}), nan, inputs[0]);
  for (const bool tf32 : {false, true}) {
    set_allow_tf32(tf32);
    const Tensor out = scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], {.causal = true});
    const Tensor is_spoiled = any(isnan(out), {0, 1, 3});
    EXPECT_TRUE(item<bool>(all(equal(is_spoiled, equal(arange(100), 40))))) << "tf32 " << tf32;
  }
}

// What a padded place holds must not matter, not even as 0 times it.
TEST_F(AttentionTiles, NothingComesBackToAKeyThatIsNotSeen) {
  Tensors inputs = inputs_of({{1, 1, 70, 64}, {1, 1, 70, 64}, {1, 1, 70, 64}});
  const Tensor is_seen = reshape(less(arange(70), 50), {1, 1, 1, 70});
  inputs[2] = where(reshape(less(arange(70), 50), {70, 1}), inputs[2], constant(1e38F));
  const auto slopes = value_and_grad([&](const Tensors& x) {
                        return sum(scaled_dot_product_attention(x[0], x[1], x[2], {.mask = is_seen}) * 4);
                      })(inputs)
                          .grads;
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(item<bool>(all(isfinite(slopes[i])))) << i;
}

}  // namespace tutti::testing_cuda
