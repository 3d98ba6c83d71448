// Ops registered from outside the library: for one device or both, with attributes, scratch memory and several outputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tutti/exec/dispatch.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

class OwnOps : public testing::TestWithParam<const char*> {
 protected:
  OwnOps() : on_((simulate_gpus(2), GetParam())) {}

 private:
  DeviceScope on_;
};
INSTANTIATE_TEST_SUITE_P(Each, OwnOps, testing::Values("CPU:0", "GPU:1"),
                         [](const auto& param) { return std::string(param.param, 3); });

struct Scale {
  float factor;
  float offset;
};

void infer_scale(Inference& in) {
  in.expect_inputs(1);
  if (in.dtype(0) != DType::f32) in.reject_dtypes("the input must be float32");
  (void)in.attributes<Scale>();
  in.output(in.dtype(0), in.shape(0));
}

// A row that says strided gets its inputs as they are: the kernel walks their strides.
void scale(const KernelCall& call, KernelContext&) {
  const auto [factor, offset] = call.attributes->as<Scale>();
  const Operand& x = call.in(0);
  ASSERT_EQ(x.rank, 2);
  float* out = call.out().as<float>();
  for (std::int64_t i = 0; i < x.axes[0].size; ++i) {
    for (std::int64_t j = 0; j < x.axes[1].size; ++j)
      *out++ = x.as<const float>()[i * x.axes[0].stride + j * x.axes[1].stride] * factor + offset;
  }
}

TEST_P(OwnOps, HaveAttributesAndSeeStrides) {
  register_op({.name = "Scale", .infer = infer_scale, .strided = true}, {.cpu = scale, .sim = scale});
  const Tensor x = constant({{1.F, 2.F, 3.F}, {4.F, 5.F, 6.F}});
  const Tensor y = call_op("Scale", {transpose(x)}, Attributes(Scale{2, 1}))[0];
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  EXPECT_EQ(read<float>(y), (std::vector{3.F, 9.F, 5.F, 11.F, 7.F, 13.F}));
  EXPECT_EQ(y.device().substr(y.device().size() - 5), GetParam());
}

TEST_P(OwnOps, HaveAsManyOutputsAsTheyLike) {
  static constexpr std::int64_t parts = 12;
  const auto infer = [](Inference& in) {
    for (std::int64_t i = 0; i < parts; ++i) in.output(DType::i64, {i});
  };
  const auto count = [](const KernelCall& call, KernelContext&) {
    for (std::int64_t i = 0; i < parts; ++i) std::fill_n(call.out(static_cast<std::size_t>(i)).as<std::int64_t>(), i, i);
  };
  register_op({.name = "Counts", .infer = infer}, {.cpu = count, .sim = count});
  const std::vector<Tensor> out = call_op("Counts", {});
  ASSERT_EQ(out.size(), static_cast<std::size_t>(parts));
  for (std::int64_t i = 0; i < parts; ++i)
    EXPECT_EQ(read<std::int64_t>(out[static_cast<std::size_t>(i)]), std::vector<std::int64_t>(static_cast<std::size_t>(i), i));
}

void infer_extremes(Inference& in) {
  in.expect_inputs(1);
  in.output(in.dtype(0), {});
  in.output(in.dtype(0), {});
  in.output(DType::i64, {1});
  in.output(DType::boolean, {2});
}
void extremes(const KernelCall& call, KernelContext&) {
  const auto* x = call.in(0).as<const float>();
  const auto [low, high] = std::minmax_element(x, x + call.in(0).count());
  *call.out(0).as<float>() = *low;
  *call.out(1).as<float>() = *high;
  *call.out(2).as<std::int64_t>() = call.in(0).count();
  call.out(3).as<bool>()[0] = *low < 0;
  call.out(3).as<bool>()[1] = *high < 0;
}

TEST_P(OwnOps, HaveOutputsOfDifferentDTypes) {
  const OpRow& row = register_op({.name = "Extremes", .infer = infer_extremes}, {.cpu = extremes, .sim = extremes});
  const Tensor x = constant({3.F, -1.F, 4.F, 1.F});
  const std::vector<Tensor> out = call_op(row, std::span(&x, 1));
  ASSERT_EQ(out.size(), 4U);
  EXPECT_EQ(item<float>(out[0]), -1.F);
  EXPECT_EQ(item<float>(out[1]), 4.F);
  EXPECT_EQ(item<std::int64_t>(out[2]), 4);
  EXPECT_EQ(read<bool>(out[3]), (std::vector{true, false}));
}

void infer_sorted(Inference& in) {
  in.expect_inputs(1);
  in.output(in.dtype(0), in.shape(0));
  in.scratch(*element_count(in.shape(0)) * 4);
}
void sorted(const KernelCall& call, KernelContext&) {
  const std::int64_t n = call.in(0).count();
  ASSERT_GE(call.scratch().bytes, n * 4);
  auto* work = call.scratch().as<float>();
  std::memcpy(work, call.in(0).data, static_cast<std::size_t>(n) * 4);
  std::sort(work, work + n);
  std::memcpy(call.out().data, work, static_cast<std::size_t>(n) * 4);
}

TEST_P(OwnOps, HaveScratchMemoryThatIsGivenBack) {
  register_op({.name = "Sorted", .infer = infer_sorted}, {.cpu = sorted, .sim = sorted});
  const Tensor x = constant({3.F, -1.F, 4.F, 1.F});
  sync_devices();
  const std::uint64_t before = memory_info(GetParam()).in_use;
  Tensor y = call_op("Sorted", {x})[0];
  EXPECT_EQ(read<float>(y), (std::vector{-1.F, 1.F, 3.F, 4.F}));
  y = Tensor();
  EXPECT_EQ(memory_info(GetParam()).in_use, before);
}

void infer_same(Inference& in) { in.output(in.dtype(0), in.shape(0)); }
void negate(const KernelCall& call, KernelContext&) {
  for (std::int64_t i = 0; i < call.in(0).count(); ++i) call.out().as<float>()[i] = -call.in(0).as<const float>()[i];
}

TEST_P(OwnOps, ThatConsumeTakeOverWhatIsGivenAwayAndNothingElse) {
  const OpRow& row =
      register_op({.name = "Negate", .infer = infer_same, .access = {Access::consume}}, {.cpu = negate, .sim = negate});
  Tensor x = constant({1.F, 2.F});
  x.sync();
  const Buffer* const memory = x.impl().buffer().get();
  EXPECT_NE(call_op(row, std::span(&x, 1))[0].impl().buffer().get(), memory) << "call_op keeps its arguments";
  OpCall call(row, Site{});
  call.add({.tensor = &x.impl(), .is_given_away = true});
  dispatch(call);
  EXPECT_EQ(call.outputs[0].impl().buffer().get(), memory);
  x = std::move(call.outputs[0]);
  EXPECT_EQ(read<float>(x), (std::vector{-1.F, -2.F}));
}

TEST_P(OwnOps, ThatAreElementWiseFindTheirInputsBroadcast) {
  const auto infer = [](Inference& in) {
    in.expect_inputs(2);
    in.output(in.dtype(0), broadcast_inputs(in));
  };
  const Kernel kernel = [](const KernelCall& call, KernelContext&) {
    const Operand& a = call.in(0);
    const Operand& b = call.in(1);
    ASSERT_EQ(a.rank, 2);
    ASSERT_EQ(b.rank, 2);
    float* out = call.out().as<float>();
    for (std::int64_t i = 0; i < a.axes[0].size; ++i) {
      for (std::int64_t j = 0; j < a.axes[1].size; ++j) {
        *out++ = a.as<const float>()[i * a.axes[0].stride + j * a.axes[1].stride] -
                 b.as<const float>()[i * b.axes[0].stride + j * b.axes[1].stride];
      }
    }
  };
  register_op({.name = "Subtract", .infer = infer, .is_elementwise = true}, {.cpu = kernel, .sim = kernel});
  const Tensor out = call_op("Subtract", {constant({{1.F}, {2.F}}), constant({10.F, 20.F, 30.F})})[0];
  EXPECT_EQ(out.shape(), (Shape{2, 3}));
  EXPECT_EQ(read<float>(out), (std::vector{-9.F, -19.F, -29.F, -8.F, -18.F, -28.F}));
}

TEST_P(OwnOps, TakeManyInputs) {
  const auto infer = [](Inference& in) { in.output(in.dtype(0), in.shape(0)); };
  const Kernel kernel = [](const KernelCall& call, KernelContext&) {
    float total = 0;
    for (std::size_t i = 0; i < call.inputs; ++i) total += *call.in(i).as<const float>();
    *call.out().as<float>() = total;
  };
  const OpRow& row = register_op({.name = "SumOfAll", .infer = infer}, {.cpu = kernel, .sim = kernel});
  for (const bool synchronous : {true, false}) {
    set_synchronous_execution(synchronous);
    std::vector<Tensor> inputs;
    for (int i = 0; i < 40; ++i) inputs.push_back(constant(static_cast<float>(i)));
    EXPECT_EQ(item<float>(call_op(row, inputs)[0]), 780.F);
  }
}

TEST_P(OwnOps, FindTheirInputsContiguousUnlessTheySayStrided) {
  const OpRow& row = register_op({.name = "DenseNegate", .infer = infer_same}, {.cpu = negate, .sim = negate});
  const Tensor x = constant({{1.F, 2.F, 3.F}, {4.F, 5.F, 6.F}});
  for (const bool synchronous : {true, false}) {
    set_synchronous_execution(synchronous);
    const Tensor turned = transpose(x);
    const Tensor columns = slice(x, 1, {1, 3});
    const Tensor rows = broadcast_to(slice(x, 0, {0, 1}), {2, 3});
    EXPECT_EQ(read<float>(call_op(row, std::span(&turned, 1))[0]), (std::vector{-1.F, -4.F, -2.F, -5.F, -3.F, -6.F}));
    EXPECT_EQ(read<float>(call_op(row, std::span(&columns, 1))[0]), (std::vector{-2.F, -3.F, -5.F, -6.F}));
    EXPECT_EQ(read<float>(call_op(row, std::span(&rows, 1))[0]), (std::vector{-1.F, -2.F, -3.F, -1.F, -2.F, -3.F}));
  }
}

TEST_P(OwnOps, ForTheCpuAloneRunThereAndTheirResultsComeBack) {
  register_op({.name = "CpuNegate", .infer = infer_same}, {.cpu = negate});
  const Tensor x = constant({1.F, 2.F});
  const Tensor y = call_op("CpuNegate", {x})[0];
  EXPECT_EQ(y.device(), "/job:localhost/replica:0/task:0/device:CPU:0");
  const Tensor z = y * 3;
  EXPECT_EQ(z.device(), x.device());
  EXPECT_EQ(read<float>(z), (std::vector{-3.F, -6.F}));
}

}  // namespace
}  // namespace tutti
