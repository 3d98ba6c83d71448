// Convolutions and pooling, over dtypes, layouts and windows, judged by NumPy.
#include <gtest/gtest.h>

#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

Layout any_layout(Random& random) { return all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))]; }
const char* truth(bool x) { return x ? "true" : "false"; }
std::string pair(const char* name, Size2d size) { return '"' + std::string(name) + "\":" + json({size.height, size.width}); }
Size2d any_size(Random& random, std::int64_t low, std::int64_t high) { return {random.from(low, high), random.from(low, high)}; }

// Images at least so large, with or without a batch, now and then none at all.
Shape any_images(Random& random, std::int64_t channels, Size2d least) {
  const Shape image{channels, least.height + random.from(0, 9), least.width + random.from(0, random.one_in(4) ? 60 : 9)};
  if (random.one_in(4)) return image;
  return {random.one_in(15) ? 0 : random.from(1, 3), image[0], image[1], image[2]};
}

TEST(WindowsAgainstNumPy, MaxPool) {
  compare_with_numpy(5, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      if (dtype == DType::boolean) continue;
      for (const Layout layout : all_layouts) {
        const Size2d kernel = any_size(random, 1, 4);
        MaxPool2dOptions options{.dilation = any_size(random, 1, 2), .ceil_mode = random.one_in(2)};
        if (random.one_in(2)) options.stride = any_size(random, 1, 3);
        options.padding = {random.from(0, kernel.height / 2), random.from(0, kernel.width / 2)};
        const Size2d least{(kernel.height - 1) * options.dilation.height + 1, (kernel.width - 1) * options.dilation.width + 1};
        const Input x = random_input(random, dtype, any_images(random, random.from(1, 4), least), layout, Values::any);
        oracle.add(random.seed(), "max_pool2d",
                   pair("kernel", kernel) + "," + pair("stride", options.stride.value_or(kernel)) + "," +
                       pair("padding", options.padding) + "," + pair("dilation", options.dilation) + R"(,"ceil_mode":)" +
                       truth(options.ceil_mode),
                   {&x}, max_pool2d(x.tensor, kernel, options));
      }
    }
  });
}

TEST(WindowsAgainstNumPy, AveragePool) {
  compare_with_numpy(8, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      for (const Layout layout : all_layouts) {
        const Size2d kernel = any_size(random, 1, 4);
        AvgPool2dOptions options{.ceil_mode = random.one_in(2), .count_include_pad = random.one_in(2)};
        if (random.one_in(2)) options.stride = any_size(random, 1, 3);
        options.padding = {random.from(0, kernel.height / 2), random.from(0, kernel.width / 2)};
        const Input x = random_input(random, dtype, any_images(random, random.from(1, 4), kernel), layout, Values::moderate);
        oracle.add(random.seed(), "avg_pool2d",
                   pair("kernel", kernel) + "," + pair("stride", options.stride.value_or(kernel)) + "," +
                       pair("padding", options.padding) + R"(,"ceil_mode":)" + truth(options.ceil_mode) +
                       R"(,"count_include_pad":)" + truth(options.count_include_pad),
                   {&x}, avg_pool2d(x.tensor, kernel, options));
      }
    }
  });
}

void add_convolution(Random& random, Oracle& oracle, const Input& x, const Input& weight, const Input* bias,
                     const Conv2dOptions& options) {
  std::vector<const Input*> inputs{&x, &weight};
  if (bias != nullptr) inputs.push_back(bias);
  oracle.add(random.seed(), "conv2d",
             pair("stride", options.stride) + "," + pair("padding", options.padding) + "," + pair("dilation", options.dilation) +
                 R"(,"groups":)" + std::to_string(options.groups),
             inputs, conv2d(x.tensor, weight.tensor, bias != nullptr ? bias->tensor : Tensor{}, options));
}

TEST(WindowsAgainstNumPy, Convolution) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      if (dtype == DType::boolean) continue;
      for (const Layout layout : all_layouts) {
        const Size2d kernel = any_size(random, 1, 3);
        Conv2dOptions options{.dilation = any_size(random, 1, 2), .groups = random.one_in(3) ? random.from(2, 3) : 1};
        if (random.one_in(2)) options.stride = any_size(random, 1, 3);
        if (random.one_in(2)) options.padding = any_size(random, 0, 4);
        const std::int64_t in = random.from(1, 4);
        const std::int64_t out = options.groups * random.from(1, 5);
        const Size2d least{(kernel.height - 1) * options.dilation.height + 1, (kernel.width - 1) * options.dilation.width + 1};
        const Input x = random_input(random, dtype, any_images(random, in * options.groups, least), layout, Values::moderate);
        const Input weight =
            random_input(random, dtype, {out, in, kernel.height, kernel.width}, any_layout(random), Values::moderate);
        const Input bias = random_input(random, dtype, {out}, any_layout(random), Values::moderate);
        add_convolution(random, oracle, x, weight, random.one_in(2) ? &bias : nullptr, options);
      }
    }
  });
}

// Lines long enough for a kernel of their own.
TEST(WindowsAgainstNumPy, ConvolutionOfLongLines) {
  compare_with_numpy(12, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Size2d kernel = any_size(random, 1, 5);
      Conv2dOptions options{.padding = any_size(random, 0, 5), .groups = random.one_in(3) ? random.from(2, 6) : 1};
      if (random.one_in(2)) options.dilation = any_size(random, 1, 3);
      if (random.one_in(2)) options.stride = any_size(random, 1, 4);
      const std::int64_t in = random.from(1, 9);
      const std::int64_t out = options.groups * (random.one_in(3) ? 1 : random.from(2, 20));
      const Shape images{random.from(1, 3), in * options.groups, random.from(13, 40), random.from(70, 170)};
      const Input x = random_input(random, dtype, images, any_layout(random), Values::moderate);
      const Input weight =
          random_input(random, dtype, {out, in, kernel.height, kernel.width}, any_layout(random), Values::moderate);
      const Input bias = random_input(random, dtype, {out}, Layout::dense, Values::moderate);
      add_convolution(random, oracle, x, weight, random.one_in(2) ? &bias : nullptr, options);
    }
  });
}

// Pixels one by one, two dtypes, and a batch whose columns do not fit at once.
TEST(WindowsAgainstNumPy, ConvolutionOfLargeImages) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    const Input plain = random_input(random, DType::f32, {3, 20, 33, 31}, Layout::dense, Values::moderate);
    const Input pixel = random_input(random, DType::f32, {24, 20, 1, 1}, Layout::dense, Values::moderate);
    add_convolution(random, oracle, plain, pixel, nullptr, {});
    const Input small = random_input(random, DType::f16, {24, 20, 3, 3}, Layout::dense, Values::moderate);
    const Input bias = random_input(random, DType::f16, {24}, Layout::dense, Values::moderate);
    add_convolution(random, oracle, plain, small, &bias, {.padding = 1});
    const Input many = random_input(random, DType::f16, {3, 4, 520, 500}, Layout::dense, Values::moderate);
    const Input wide = random_input(random, DType::f16, {2, 4, 7, 7}, Layout::dense, Values::moderate);
    const Input two = random_input(random, DType::f16, {2}, Layout::dense, Values::moderate);
    add_convolution(random, oracle, many, wide, &two, {.padding = 3});
  });
}

}  // namespace
}  // namespace tutti::oracle
