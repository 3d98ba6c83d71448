#include "kernels/operands.h"
#include "kernels/random_checks.h"
#include "tutti/exec/neural_attributes.h"

namespace tutti::testing {

namespace {

WindowAxis axis_of(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t dilation) {
  return {size, kernel, stride, padding, dilation, (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1};
}

struct Case {
  std::int64_t images = 1;
  std::int64_t in = 1;   // channels of a group
  std::int64_t out = 1;  // channels of a group
  std::int64_t groups = 1;
  WindowAxis y;
  WindowAxis x;
};

template <class T>
void check_one(const Case& c, Random& random, Parallel& parallel) {
  const DType dtype = dtype_of<T>;
  SCOPED_TRACE(::testing::Message() << to_string(dtype) << ", " << c.images << " images, " << c.groups << " groups of " << c.in
                                    << " to " << c.out << " channels, " << c.y.size << " x " << c.x.size << ", kernel "
                                    << c.y.kernel << " x " << c.x.kernel << ", stride " << c.y.stride << " x " << c.x.stride
                                    << ", padding " << c.y.padding << " x " << c.x.padding << ", dilation " << c.y.dilation
                                    << " x " << c.x.dilation);
  Array image(dtype, {c.images, c.groups * c.in, c.y.size, c.x.size}, Lie::dense, random);
  Array weight(dtype, {c.groups * c.out, c.in, c.y.kernel, c.x.kernel}, Lie::dense, random);
  const Array output(dtype, {c.images, c.groups * c.out, c.y.outputs, c.x.outputs}, Lie::dense, random);
  image.fill(random, true);
  weight.fill(random, true);
  const auto before = output.surroundings();
  run_kernel(host_kernel("Conv2D"), parallel, {&image, &weight}, output, ConvolutionAttributes{{c.y, c.x}, c.groups});
  EXPECT_EQ(output.surroundings(), before);
  const std::int64_t taps = c.in * c.y.kernel * c.x.kernel;
  for (std::int64_t at = 0; at < output.count(); ++at) {
    const std::int64_t ox = at % c.x.outputs;
    const std::int64_t oy = at / c.x.outputs % c.y.outputs;
    const std::int64_t channel = at / (c.x.outputs * c.y.outputs);  // of all images
    const std::int64_t group = channel / c.out;
    long double sum = 0;
    long double size = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t row = c.y.start(oy) + tap / c.x.kernel % c.y.kernel * c.y.dilation;
      const std::int64_t column = c.x.start(ox) + tap % c.x.kernel * c.x.dilation;
      if (row < 0 || row >= c.y.size || column < 0 || column >= c.x.size) continue;
      const std::int64_t plane = group * c.in + tap / (c.x.kernel * c.y.kernel);
      const long double term = static_cast<long double>(image.get<T>((plane * c.y.size + row) * c.x.size + column)) *
                               weight.get<T>(channel % (c.groups * c.out) * taps + tap);
      sum += term;
      size += std::abs(term);
    }
    const long double allowed = std::numeric_limits<T>::epsilon() * static_cast<long double>(taps + 1) * size;
    const auto found = static_cast<long double>(output.get<T>(at));
    ASSERT_LE(static_cast<double>(std::abs(found - sum)), static_cast<double>(allowed)) << "element " << at;
  }
}

}  // namespace

void check_convolutions(std::uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Random random(seed);
  Threads threads(3);
  const auto axis = [&random](std::int64_t most) {
    const std::int64_t kernel = pick(random, 1, 4);
    const std::int64_t dilation = pick(random, 1, 3);
    const std::int64_t least = dilation * (kernel - 1) + 1;
    return axis_of(least + pick(random, 0, most), kernel, pick(random, 1, 3), pick(random, 0, 3), dilation);
  };
  const Case c{pick(random, 0, 2), pick(random, 0, 5), pick(random, 0, 2) == 0 ? 1 : pick(random, 2, 19),
               pick(random, 1, 3), axis(12),           axis(120)};
  check_one<float>(c, random, threads);
  check_one<double>(c, random, threads);
}

TEST(Convolution, AgreesWithAPlainLoopForEveryWindow) {
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) check_convolutions(seed);
}

TEST(Convolution, IsTheSameOnAnyNumberOfCores) {
  Random random(5);
  const Case c{2, 7, 11, 1, axis_of(70, 3, 1, 1, 1), axis_of(90, 3, 1, 1, 1)};
  Array image(DType::f32, {2, 7, 70, 90}, Lie::dense, random);
  Array weight(DType::f32, {11, 7, 3, 3}, Lie::dense, random);
  image.fill(random, true);
  weight.fill(random, true);
  std::vector<float> first;
  for (const std::size_t width : {1U, 2U, 5U}) {
    Threads threads(width);
    const Array output(DType::f32, {2, 11, 70, 90}, Lie::dense, random);
    run_kernel(host_kernel("Conv2D"), threads, {&image, &weight}, output, ConvolutionAttributes{{c.y, c.x}, 1});
    const std::vector<float> found(output.operand().as<float>(), output.operand().as<float>() + output.count());
    if (first.empty()) first = found;
    EXPECT_EQ(found, first) << width << " cores";
  }
}

TEST(Convolution, OfManyChannelsThatFitNoBandIsRight) {
  Random random(6);
  Threads threads(2);
  check_one<float>({1, 300, 9, 1, axis_of(9, 3, 1, 1, 1), axis_of(150, 3, 1, 1, 1)}, random, threads);
}

}  // namespace tutti::testing
