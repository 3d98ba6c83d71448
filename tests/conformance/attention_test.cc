// Attention against the formula written with ordinary ops: values, gradients, masks, layouts, half precision.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "conformance/backend.h"
#include "tutti/tutti.h"

namespace tutti::conformance {

namespace {

Tensor some_heads(const Shape& shape, std::uint64_t key, DType dtype = DType::f64) {
  return uniform(shape, {.key = key, .low = -1, .high = 1, .dtype = dtype});
}

// All weights at once.
Tensor by_formula(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, const Tensor& mask) {
  const std::int64_t queries = q.shape()[q.rank() - 2];
  const std::int64_t keys = k.shape()[k.rank() - 2];
  Tensor match = matmul(q, matrix_transpose(k)) / std::sqrt(static_cast<double>(q.shape()[q.rank() - 1]));
  const float unseen = -std::numeric_limits<float>::max() / 4;
  if (causal) match = where(greater_equal(reshape(arange(queries), {queries, 1}), arange(keys)), match, unseen);
  if (mask.is_defined()) match = where(mask, match, unseen);
  return matmul(softmax(match, -1), v);
}

using Inputs3 = std::vector<Tensor>;

std::vector<Tensor> slopes_of(const std::function<Tensor(const Inputs3&)>& function, Inputs3 inputs) {
  Tape tape;
  std::vector<Tape::Wanted> wanted;
  for (Tensor& each : inputs) {
    tape.watch(each);
    wanted.push_back({.tensor = &each});
  }
  Tensor loss;
  {
    const Tape::Recording on(tape);
    loss = function(inputs);
  }
  return tape.gradients(loss, wanted);
}

// The same weights, whatever the dtype.
Tensor weighed_sum(const Tensor& y) { return sum(y * cast(some_heads(y.shape(), 77, DType::bf16), y.dtype())); }

bool are_close(const Tensor& a, const Tensor& b, double tolerance) {
  return item<bool>(allclose(cast(a, DType::f64), cast(b, DType::f64), {.rtol = tolerance, .atol = tolerance}));
}

class AttentionOn : public OnBackend {};

TEST_P(AttentionOn, IsTheFormulaAndSoAreItsGradients) {
  struct Case {
    Shape q, k, v;
    Shape mask;
    bool causal;
    std::int64_t chunk;
  };
  const std::vector<Case> cases{
      {{2, 3, 10, 8}, {2, 3, 10, 8}, {2, 3, 10, 8}, {}, false, 512},
      {{2, 3, 10, 8}, {2, 3, 10, 8}, {2, 3, 10, 8}, {}, true, 4},
      {{2, 2, 5, 8}, {2, 2, 9, 8}, {2, 2, 9, 6}, {5, 9}, false, 2},
      {{6, 4}, {7, 4}, {7, 4}, {}, true, 512},
      {{9, 4}, {5, 4}, {5, 3}, {}, true, 2},
      {{300, 4}, {300, 4}, {300, 4}, {}, true, 512},
      {{3, 6, 4}, {3, 6, 4}, {3, 6, 5}, {3, 6, 6}, true, 4},
      {{2, 2, 4, 8}, {1, 2, 4, 8}, {2, 1, 4, 8}, {2, 1, 4, 4}, false, 512},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(to_string(c.q) + (c.causal ? " causal" : "") + ", mask " + to_string(c.mask));
    const Inputs3 inputs{some_heads(c.q, 1), some_heads(c.k, 2), some_heads(c.v, 3)};
    Tensor mask;
    if (!c.mask.empty()) mask = greater(some_heads(c.mask, 4), 0);
    const auto ours = [&](const Inputs3& in) {
      return scaled_dot_product_attention(in[0], in[1], in[2], {.causal = c.causal, .mask = mask, .chunk = c.chunk});
    };
    const auto theirs = [&](const Inputs3& in) { return by_formula(in[0], in[1], in[2], c.causal, mask); };
    EXPECT_TRUE(are_close(ours(inputs), theirs(inputs), 1e-10));
    const auto found = slopes_of([&](const Inputs3& in) { return weighed_sum(ours(in)); }, inputs);
    const auto wanted = slopes_of([&](const Inputs3& in) { return weighed_sum(theirs(in)); }, inputs);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(are_close(found[i], wanted[i], 1e-9)) << "input " << i;
  }
}

TEST_P(AttentionOn, HasGradientsOfSecondOrder) {
  const Inputs3 inputs{some_heads({1, 2, 5, 4}, 1), some_heads({1, 2, 5, 4}, 2), some_heads({1, 2, 5, 4}, 3)};
  const auto second = [&](const auto& attend) {
    const auto first = [&attend](const Inputs3& in) {
      Tensor total;
      for (const Tensor& slope : slopes_of([&](const Inputs3& x) { return weighed_sum(square(attend(x))); }, in)) {
        const Tensor part = sum(square(slope));
        total = total.is_defined() ? total + part : part;
      }
      return total;
    };
    return slopes_of(first, inputs);
  };
  const auto found =
      second([](const Inputs3& in) { return scaled_dot_product_attention(in[0], in[1], in[2], {.causal = true}); });
  const auto wanted = second([](const Inputs3& in) { return by_formula(in[0], in[1], in[2], true, {}); });
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(are_close(found[i], wanted[i], 1e-8)) << "input " << i;
}

TEST_P(AttentionOn, TakesEveryDtypeMasksAndHeadsThatLieApart) {
  const auto masked = [](const Shape& shape) { return shape.empty() ? Tensor() : greater(some_heads(shape, 4), -0.3); };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const double tolerance = dtype == DType::f32 ? 1e-5 : dtype == DType::f16 ? 1e-2 : 6e-2;
    for (const bool causal : {false, true}) {
      for (const Shape& shape : {Shape{}, Shape{70, 70}, Shape{2, 1, 1, 70}}) {
        SCOPED_TRACE(std::string(to_string(dtype)) + (causal ? " causal, mask " : ", mask ") + to_string(shape));
        // As a layer has them: (batch, places, heads, features), the middle axes exchanged.
        const auto laid = [&](std::uint64_t key) { return permute_dims(some_heads({2, 70, 3, 16}, key, dtype), {0, 2, 1, 3}); };
        const Inputs3 inputs{laid(1), laid(2), laid(3)};
        const auto wide = [](const Tensor& x) { return cast(x, DType::f64); };
        const Inputs3 exact{wide(inputs[0]), wide(inputs[1]), wide(inputs[2])};
        Tensor mask = masked(shape);
        // A query that sees nothing is a matter of choice: the first key is seen by all.
        if (mask.is_defined()) mask = logical_or(mask, equal(arange(70), 0));
        const auto ours = [&](const Inputs3& in) {
          return scaled_dot_product_attention(in[0], in[1], in[2], {.causal = causal, .mask = mask});
        };
        EXPECT_TRUE(are_close(ours(inputs), by_formula(exact[0], exact[1], exact[2], causal, mask), tolerance));
        const auto found = slopes_of([&](const Inputs3& in) { return weighed_sum(ours(in)); }, inputs);
        const auto wanted =
            slopes_of([&](const Inputs3& in) { return weighed_sum(by_formula(in[0], in[1], in[2], causal, mask)); }, exact);
        for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(are_close(found[i], wanted[i], 3 * tolerance)) << "input " << i;
      }
    }
  }
}

TEST_P(AttentionOn, KeepsMemoryLinearInTheLength) {
  const auto peak = [&](std::int64_t length, DType dtype, bool masked) {
    const Inputs3 inputs{some_heads({1, 1, length, 8}, 1, dtype), some_heads({1, 1, length, 8}, 2, dtype),
                         some_heads({1, 1, length, 8}, 3, dtype)};
    const Tensor mask = masked ? greater(some_heads({1, 1, 1, length}, 4, DType::f32), -0.5) : Tensor();
    sync_devices();
    reset_peak(device(0));
    const std::uint64_t before = memory_info(device(0)).in_use;
    const auto found = slopes_of(
        [&](const Inputs3& in) {
          return sum(scaled_dot_product_attention(in[0], in[1], in[2], {.causal = true, .mask = mask, .chunk = 64}));
        },
        inputs);
    sync_devices();
    return static_cast<double>(memory_info(device(0)).peak - before);
  };
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const bool masked : {false, true}) {
      (void)peak(256, dtype, masked);
      EXPECT_LT(peak(2048, dtype, masked), 2.5 * peak(1024, dtype, masked)) << to_string(dtype) << (masked ? " masked" : "");
    }
  }
}

TUTTI_ON_EVERY_BACKEND(AttentionOn);

}  // namespace

}  // namespace tutti::conformance
