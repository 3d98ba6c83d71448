// Convolutions: the GPU gives what the CPU gives within the bound of a sum as long as the kernel, on the GPU.
#include <limits>

#include "cuda/against_cpu.h"

namespace tutti::testing_cuda {

namespace {

using Convolutions = AgainstCpu;

struct Case {
  Shape images;
  Shape weight;
  Conv2dOptions options;
};

// Lines of 16 places and more: shorter ones are not the kernel's. Channels around those a thread has, and more elements of a
// kernel than are kept at once.
std::vector<Case> cases() {
  return {
      {{2, 16, 20, 30}, {16, 16, 3, 3}, {}},
      {{2, 3, 18, 18}, {1, 3, 3, 3}, {}},
      {{2, 3, 17, 33}, {17, 3, 3, 3}, {.padding = 1}},
      {{1, 40, 9, 40}, {33, 40, 3, 3}, {.stride = {2, 1}, .padding = {1, 2}}},
      {{3, 6, 9, 17}, {6, 1, 3, 3}, {.padding = 1, .groups = 6}},
      {{3, 6, 24, 24}, {10, 3, 3, 3}, {.dilation = {3, 1}, .groups = 2}},
      {{1, 5, 24, 50}, {20, 5, 3, 3}, {.padding = 2, .dilation = 2}},
      {{1, 33, 24, 50}, {20, 33, 5, 2}, {.stride = {1, 2}, .padding = {2, 1}, .dilation = {1, 3}}},
      {{2, 8, 4, 64}, {3, 8, 1, 1}, {.stride = {2, 2}}},
      {{1, 1, 1, 5000}, {2, 1, 1, 7}, {}},
      {{64, 4, 40, 40}, {16, 4, 3, 3}, {.padding = 1}},
      {{0, 4, 40, 40}, {16, 4, 3, 3}, {}},
      {{4, 16, 130, 130}, {16, 16, 3, 3}, {.padding = 1}},
  };
}

}  // namespace

TEST_F(Convolutions, StayWithinTheBound) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const auto& [images, weight, options] : cases()) {
      const Function function = [&](Inputs in) { return conv2d(in[0], in[1], {}, options); };
      const auto terms = static_cast<double>(weight[1] * weight[2] * weight[3]);
      expect_same("Conv2D",
                  {{dtype, images, Arrangement::dense, Draw::moderate}, {dtype, weight, Arrangement::dense, Draw::moderate}},
                  function, {.steps = 2 * terms, .magnitude = function});
    }
  }
}

TEST_F(Convolutions, SeeNothingOutsideTheImage) {
  const Tensor none = full({1, 1, 20, 30}, std::numeric_limits<double>::quiet_NaN(), DType::f32);
  const Tensor counts = conv2d(concat({none, ones({1, 1, 20, 30}), none}, 0), ones({1, 1, 3, 3}), {}, {.padding = 1});
  const std::vector<float> found = read<float>(slice(counts, 0, {1, 2}));
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t row = i / 30;
    const std::size_t column = i % 30;
    const float down = row == 0 || row == 19 ? 2 : 3;
    const float across = column == 0 || column == 29 ? 2 : 3;
    ASSERT_EQ(found[i], down * across) << row << ", " << column;
  }
}

TEST_F(Convolutions, AreTheSameOnEveryRun) {
  const Tensor x = uniform({2, 32, 60, 60}, {.key = 5, .low = -1, .high = 1});
  const Tensor weight = uniform({24, 32, 3, 3}, {.key = 6, .low = -1, .high = 1});
  const std::vector<float> first = read<float>(conv2d(x, weight, {}, {.padding = 1}));
  for (int i = 0; i < 5; ++i) ASSERT_EQ(read<float>(conv2d(x, weight, {}, {.padding = 1})), first);
}

}  // namespace tutti::testing_cuda
