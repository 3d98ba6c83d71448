// Where an op runs: the order of the rules, the record of the decision, the log line, and the refusal.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "place/captured_log.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

std::string full(const std::string& device) { return "/job:localhost/replica:0/task:0/device:" + device; }

void infer_same(Inference& in) {
  in.expect_inputs(1);
  in.output(in.dtype(0), in.shape(0));
}
void negate(const KernelCall& call, KernelContext&) {
  for (std::int64_t i = 0; i < call.in(0).count(); ++i) call.out().as<float>()[i] = -call.in(0).as<const float>()[i];
}
const OpRow& cpu_only_op() {
  static const OpRow& row = register_op({.name = "NegateOnCpu", .infer = infer_same}, {.cpu = negate});
  return row;
}
const OpRow& gpu_only_op() {
  static const OpRow& row = register_op({.name = "NegateOnGpu", .infer = infer_same}, {.sim = negate});
  return row;
}

TEST(Placement, WithoutAScopeTakesTheFirstGpu) {
  simulate_gpus(3);
  EXPECT_EQ(ones({2}).device(), full("GPU:0"));
  EXPECT_EQ(last_placement().reason, PlacementReason::automatic);
  const std::uint32_t line = __LINE__ + 1;
  const Tensor x = ones({2}) + 1;
  EXPECT_EQ(x.device(), full("GPU:0"));
  const PlacementRecord record = last_placement();
  EXPECT_EQ(record.op, "AddV2");
  EXPECT_EQ(record.requested, "");
  EXPECT_EQ(record.chosen, full("GPU:0"));
  EXPECT_EQ(record.reason, PlacementReason::inputs);
  EXPECT_EQ(record.copies, 0U);
  EXPECT_EQ(record.site.line(), line);
  EXPECT_STREQ(record.site.file(), __FILE__);
}

TEST(Placement, WithoutAGpuTakesTheCpu) { EXPECT_EQ((ones({2}) + 1).device(), full("CPU:0")); }

TEST(Placement, IndicesCountAsNumbersNotAsText) {
  simulate_gpus(12);
  EXPECT_EQ(ones({2}).device(), full("GPU:0"));
  {
    const DeviceScope on("GPU:10");
    EXPECT_EQ(ones({2}).device(), full("GPU:10"));
  }
  const auto all = list_logical_devices("GPU");
  for (unsigned i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].index, i);
  set_soft_device_placement(true);
  const CapturedLog quiet;
  const DeviceScope on("GPU:77");
  EXPECT_EQ(ones({2}).device(), full("GPU:0"));
}

TEST(Placement, FollowsTheScope) {
  simulate_gpus(2);
  const DeviceScope on("/gpu:1");
  EXPECT_EQ((ones({2}) * 2).device(), full("GPU:1"));
  const PlacementRecord record = last_placement();
  EXPECT_EQ(record.requested, "/device:GPU:1");
  EXPECT_EQ(record.reason, PlacementReason::scope);
  const DeviceScope any("CPU");
  EXPECT_EQ(ones({2}).device(), full("CPU:0"));
}

Tensor ones_on(const char* device) {
  const DeviceScope on(device);
  return ones({2, 2});
}

TEST(Placement, FollowsTheGpuThatHoldsAllInputs) {
  simulate_gpus(3);
  set_copy_policy(CopyPolicy::explicit_only);
  const Tensor x = ones_on("GPU:1");
  const Tensor y = ones_on("GPU:1");
  EXPECT_EQ(matmul(x, y).device(), full("GPU:1"));
  EXPECT_EQ(last_placement().reason, PlacementReason::inputs);
  EXPECT_EQ(last_placement().copies, 0U);
  EXPECT_EQ(item<float>(sum(relu(x * 2 + y))), 12.F);
  for (const Tensor& alike : {zeros_like(x), full_like(x, 7), empty_like(x), cast(x, DType::f64), sum(x)})
    EXPECT_EQ(alike.device(), full("GPU:1"));
  const DeviceScope none("");
  EXPECT_EQ((x + y).device(), full("GPU:1")) << "an empty scope asks for no device";
}

TEST(Placement, OfWhatAFunctionMakesOnTheWayFollowsItsInputs) {
  simulate_gpus(2);
  const Tensor x = copy_to(ones({3}), "GPU:1");
  set_copy_policy(CopyPolicy::explicit_only);
  EXPECT_EQ(isclose(x, 1).device(), full("GPU:1"));
  EXPECT_EQ(isclose(1, x).device(), full("GPU:1"));
  EXPECT_EQ(repeat_interleave(x, 2, {.output_size = 8}).values.device(), full("GPU:1"));
  const WhileResult loop = while_loop([](const std::vector<Tensor>& state) { return less(sum(state[0]), 10); },
                                      [](const std::vector<Tensor>& state) { return std::vector{state[0] * 2}; }, {x});
  EXPECT_EQ(loop.iterations.device(), full("GPU:1"));
  EXPECT_EQ(item<std::int64_t>(loop.iterations), 2);
}

TEST(Placement, InsideALoopIsThatOfTheScopeAroundIt) {
  simulate_gpus(2);
  const Tensor decides = copy_to(ones({}), "CPU:0");
  const DeviceScope on("GPU:1");
  std::string made_on;
  const WhileResult loop = while_loop(
      [&](const std::vector<Tensor>&) {
        const DeviceScope elsewhere("CPU:0");
        return greater(decides, 0);
      },
      [&](const std::vector<Tensor>& state) {
        made_on = ones({}).device();
        return state;
      },
      {ones({})}, {.most_iterations = 1});
  EXPECT_EQ(made_on, full("GPU:1"));
}

TEST(Placement, GoesToTheFirstGpuWhereInputsAreOnTheCpuOrOnSeveralGpus) {
  simulate_gpus(3);
  const Tensor host = ones_on("CPU:0");
  EXPECT_EQ((host + host).device(), full("GPU:0"));
  EXPECT_EQ(last_placement().reason, PlacementReason::automatic);
  EXPECT_EQ((ones_on("GPU:1") + ones_on("GPU:2")).device(), full("GPU:0"));
  EXPECT_EQ(last_placement().reason, PlacementReason::automatic);
  EXPECT_EQ(last_placement().copies, 2U);
  EXPECT_EQ((ones_on("GPU:1") + host).device(), full("GPU:0"));
  EXPECT_EQ(ones({2}).device(), full("GPU:0")) << "made out of nothing";
}

TEST(Placement, AScopeAVariableAndAMissingKernelWinOverTheInputs) {
  simulate_gpus(3);
  const Tensor x = ones_on("GPU:1");
  Variable v(ones_on("GPU:2"));
  v.assign_add(x);
  EXPECT_EQ(last_placement().chosen, full("GPU:2"));
  EXPECT_EQ(call_op(cpu_only_op(), std::span(&x, 1))[0].device(), full("CPU:0"));
  const DeviceScope on("GPU:2");
  EXPECT_EQ((x + 1).device(), full("GPU:2"));
  EXPECT_EQ(last_placement().reason, PlacementReason::scope);
}

TEST(Placement, FollowsAVariableEvenAgainstTheScope) {
  simulate_gpus(2);
  std::unique_ptr<Variable> v;
  {
    const DeviceScope on("GPU:1");
    v = std::make_unique<Variable>(ones({2}));
  }
  EXPECT_EQ(v->device(), full("GPU:1"));
  const DeviceScope on("CPU:0");
  v->assign_add(1);
  EXPECT_EQ(last_placement().op, "AddV2");
  EXPECT_EQ(last_placement().chosen, full("GPU:1"));
  EXPECT_EQ(last_placement().reason, PlacementReason::variable);
  v->assign(5);
  EXPECT_EQ(last_placement().op, "AssignVariableOp");
  EXPECT_EQ(last_placement().chosen, full("GPU:1"));
  const Tensor value = v->value();
  EXPECT_EQ(last_placement().op, "ReadVariableOp");
  EXPECT_EQ(last_placement().reason, PlacementReason::variable);
  EXPECT_EQ((value + 1).device(), full("CPU:0")) << "what is made of a value goes by the scope";
  EXPECT_EQ(read<float>(value), (std::vector{5.F, 5.F}));
}

TEST(Placement, FallsBackToTheCpuWhereTheGpuHasNoKernel) {
  simulate_gpus(2);
  const Tensor x = ones({3});
  EXPECT_EQ(call_op(cpu_only_op(), std::span(&x, 1))[0].device(), full("CPU:0"));
  EXPECT_EQ(last_placement().reason, PlacementReason::automatic);
  const DeviceScope on("GPU:1");
  const Tensor y = ones({3});
  const Tensor out = call_op(cpu_only_op(), std::span(&y, 1))[0];
  EXPECT_EQ(out.device(), full("CPU:0"));
  const PlacementRecord record = last_placement();
  EXPECT_EQ(record.op, "NegateOnCpu");
  EXPECT_EQ(record.requested, "/device:GPU:1");
  EXPECT_EQ(record.reason, PlacementReason::no_kernel);
  EXPECT_EQ(record.copies, 1U);
  EXPECT_EQ(record.bytes, 12U);
  EXPECT_EQ(read<float>(out), (std::vector{-1.F, -1.F, -1.F}));
}

TEST(Placement, RefusesAnOpThatNoVisibleDeviceCanRun) {
  const Tensor x = ones({3});
  try {
    call_op(gpu_only_op(), std::span(&x, 1));
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_EQ(e.message(), "no visible device can run op NegateOnGpu: it has kernels for [sim], and there are: " + full("CPU:0"));
    EXPECT_STREQ(e.site().file(), __FILE__);
  }
}

TEST(Placement, RefusesAGpuOnlyOpInACpuScopeUnlessPlacementIsSoft) {
  simulate_gpus(1);
  const DeviceScope on("CPU:0");
  const Tensor x = ones({3});
  EXPECT_THROW(call_op(gpu_only_op(), std::span(&x, 1)), InvalidArgument);
  set_soft_device_placement(true);
  EXPECT_EQ(call_op(gpu_only_op(), std::span(&x, 1))[0].device(), full("GPU:0"));
  EXPECT_EQ(last_placement().reason, PlacementReason::soft_placement);
}

TEST(UnknownDevice, IsRefusedWithTensorFlowsTextTheListAndTheHint) {
  simulate_gpus(2);
  const DeviceScope on("/device:GPU:2");
  const std::uint32_t line = __LINE__ + 2;
  try {
    ones({2});
    FAIL();
  } catch (const UnknownDevice& e) {
    EXPECT_EQ(e.message(), "/job:localhost/replica:0/task:0/device:GPU:2 unknown device, asked for by op ones in the scope at " +
                               std::string(__FILE__) + ":" + std::to_string(line - 3) + "; visible devices: " + full("GPU:0") +
                               ", " + full("GPU:1") + ", " + full("CPU:0") +
                               ". set_soft_device_placement(true) would choose an existing one");
    EXPECT_EQ(e.site().line(), line);
    EXPECT_STREQ(e.site().file(), __FILE__);
  }
  const DeviceScope inner("GPU:0");
  EXPECT_EQ(ones({2}).device(), full("GPU:0"));
}

TEST(UnknownDevice, OfAnotherJobOrTypeIsUnknownToo) {
  for (const auto& [asked, named] : {std::pair{"/job:worker/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"},
                                     {"/task:1/device:CPU:0", "/job:localhost/replica:0/task:1/device:CPU:0"},
                                     {"/device:TPU:0", "/job:localhost/replica:0/task:0/device:TPU:0"},
                                     {"GPU", "/job:localhost/replica:0/task:0/device:GPU"}}) {
    const DeviceScope on(asked);
    try {
      ones({1});
      ADD_FAILURE() << asked;
    } catch (const UnknownDevice& e) {
      EXPECT_TRUE(e.message().starts_with(std::string(named) + " unknown device")) << e.what();
    }
  }
}

TEST(UnknownDevice, SaysHowToSimulateAGpuWhereThereIsNone) {
  const std::string hint =
      "No GPU is visible; without one, TUTTI_SIM_GPUS=2 in the environment or simulate_gpus(2) before the first use simulates "
      "them";
  try {
    const DeviceScope on("GPU:1");
    ones({2});
    FAIL();
  } catch (const UnknownDevice& e) {
    EXPECT_NE(e.message().find(hint), std::string::npos) << e.what();
  }
  try {
    copy_to(ones({2}), "GPU:1");
    FAIL();
  } catch (const UnknownDevice& e) {
    EXPECT_NE(e.message().find(hint), std::string::npos) << e.what();
  }
}

TEST(SoftPlacement, TakesTheBestDeviceAndWarnsOncePerSite) {
  simulate_gpus(2);
  set_soft_device_placement(true);
  const CapturedLog log;
  const DeviceScope on("GPU:5");
  const std::uint32_t line = __LINE__ + 2;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ones({2}).device(), full("GPU:0"));
    EXPECT_EQ(last_placement().reason, PlacementReason::soft_placement);
    EXPECT_EQ(last_placement().requested, "/device:GPU:5");
  }
  ASSERT_EQ(log.of(LogLevel::warning).size(), 1U);
  EXPECT_EQ(log.of(LogLevel::warning)[0], "op Fill at " + std::string(__FILE__) + ":" + std::to_string(line) + " asked for " +
                                              full("GPU:5") + ", which does not exist; soft placement put it on " +
                                              full("GPU:0"));
  ones({2});
  EXPECT_EQ(log.of(LogLevel::warning).size(), 2U) << "another site";
}

TEST(PlacementLog, HasTensorFlowsLinesAndThoseOfCopies) {
  simulate_gpus(2);
  list_logical_devices();
  const CapturedLog log;
  set_log_level(LogLevel::off);  // a log that was asked for is not hidden by the level
  set_log_device_placement(true);
  {
    const DeviceScope on("GPU:0");
    const Tensor a = constant({{1.F, 2.F, 3.F}, {4.F, 5.F, 6.F}});
    const DeviceScope inner("GPU:1");
    const Tensor b = constant({{1.F, 2.F}, {3.F, 4.F}, {5.F, 6.F}});
    matmul(a, b);
    const DeviceScope nowhere("GPU:1");
    call_op(cpu_only_op(), std::span(&b, 1));
  }
  set_log_device_placement(false);
  ones({1});
  EXPECT_EQ(log.texts(), (std::vector<std::string>{
                             "Executing op _EagerConst in device /job:localhost/replica:0/task:0/device:GPU:0",
                             "Executing op _EagerConst in device /job:localhost/replica:0/task:0/device:GPU:1",
                             "Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:1",
                             "Copying 24 bytes from /job:localhost/replica:0/task:0/device:GPU:0 to "
                             "/job:localhost/replica:0/task:0/device:GPU:1 (input #0 of MatMul)",
                             "Executing op NegateOnCpu in device /job:localhost/replica:0/task:0/device:CPU:0 (no kernel on the "
                             "device asked for: /device:GPU:1)",
                             "Copying 24 bytes from /job:localhost/replica:0/task:0/device:GPU:1 to "
                             "/job:localhost/replica:0/task:0/device:CPU:0 (input #0 of NegateOnCpu)",
                         }));
}

TEST(PlacementLog, SaysWhenTheInputsDecided) {
  simulate_gpus(2);
  const Tensor here = ones_on("GPU:0");
  const Tensor there = ones_on("GPU:1");
  const CapturedLog log;
  set_log_device_placement(true);
  matmul(here, here);
  matmul(there, there);
  EXPECT_EQ(log.texts(), (std::vector<std::string>{
                             "Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:0",
                             "Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:1 (all inputs are there)",
                         }));
}

TEST(PlacementLog, SaysWhenAVariableDecided) {
  simulate_gpus(2);
  const Variable v(ones_on("GPU:1"));
  const CapturedLog log;
  set_log_device_placement(true);
  v.assign_add(1);
  {
    const DeviceScope same("GPU:1");
    v.assign_add(1);
  }
  const DeviceScope other("GPU:0");
  v.assign_add(1);
  const std::string line = "Executing op AddV2 in device " + full("GPU:1");
  const std::string why = " (its variable is there)";
  EXPECT_EQ(log.texts(), (std::vector<std::string>{line + why, line, line + why}));
}

TEST(Scopes, MergeFieldByFieldAndTheInnerWins) {
  simulate_gpus(2);
  set_logical_device_configuration(list_physical_devices("CPU").at(0), {{}, {}});
  const DeviceScope outer("GPU:1");
  {
    const DeviceScope inner("CPU");
    EXPECT_EQ(ones({1}).device(), full("CPU:0")) << "the index of another type is not carried over";
    EXPECT_EQ(last_placement().requested, "/device:CPU");
  }
  {
    const DeviceScope inner("/job:localhost");
    EXPECT_EQ(ones({1}).device(), full("GPU:1")) << "the type and index are kept";
    EXPECT_EQ(last_placement().requested, "/job:localhost/device:GPU:1");
  }
  {
    const DeviceScope inner("GPU:0");
    EXPECT_EQ(ones({1}).device(), full("GPU:0"));
  }
  EXPECT_EQ(ones({1}).device(), full("GPU:1"));
}

TEST(Scopes, AnEmptyOneClearsAllOfThem) {
  simulate_gpus(2);
  const DeviceScope outer("GPU:1");
  {
    const DeviceScope none("");
    EXPECT_EQ(ones({1}).device(), full("GPU:0"));
    EXPECT_EQ(last_placement().reason, PlacementReason::automatic);
    EXPECT_EQ(last_placement().requested, "");
    const DeviceScope again("CPU");
    EXPECT_EQ(ones({1}).device(), full("CPU:0"));
  }
  EXPECT_EQ(ones({1}).device(), full("GPU:1"));
}

TEST(Scopes, AWildcardLeavesWhatIsAroundIt) {
  simulate_gpus(2);
  const DeviceScope outer("GPU:1");
  for (const char* name : {"*", "/device:*", "/job:*", "/job:*/replica:*/task:*/device:*:*", "GPU:*"}) {
    const DeviceScope any(name);
    EXPECT_EQ(ones({1}).device(), full("GPU:1")) << name;
    EXPECT_EQ(last_placement().requested, "/device:GPU:1") << name;
  }
  for (const char* name : {"", "/"}) {
    const DeviceScope none(name);
    EXPECT_EQ(ones({1}).device(), full("GPU:0")) << "'" << name << "'";
  }
}

TEST(Scopes, BelongToTheirThread) {
  simulate_gpus(2);
  const DeviceScope on("GPU:1");
  std::string other;
  std::string nested;
  std::thread([&] {
    other = ones({1}).device();
    const DeviceScope there("CPU");
    nested = ones({1}).device();
  }).join();
  EXPECT_EQ(other, full("GPU:0"));
  EXPECT_EQ(nested, full("CPU:0"));
  EXPECT_EQ(ones({1}).device(), full("GPU:1"));
}

TEST(Scopes, LeftOutOfOrderAreReportedAndTheOthersStayRight) {
  simulate_gpus(3);
  const CapturedLog log;
  const std::uint32_t line = __LINE__ + 1;
  auto outer = std::unique_ptr<DeviceScope>(new DeviceScope("GPU:1"));
  auto inner = std::make_unique<DeviceScope>("GPU:2");
  outer.reset();
  EXPECT_EQ(ones({1}).device(), full("GPU:2"));
  inner.reset();
  EXPECT_EQ(ones({1}).device(), full("GPU:0"));
  ASSERT_EQ(log.of(LogLevel::error).size(), 1U);
  EXPECT_EQ(log.of(LogLevel::error)[0], "the device scope opened at " + std::string(__FILE__) + ":" + std::to_string(line) +
                                            " was left before one opened inside it; leave scopes in reverse order");
}

TEST(Scopes, LeftOnAnotherThreadAreReportedAndHarmNobody) {
  simulate_gpus(3);
  const CapturedLog log;
  auto scope = std::make_unique<DeviceScope>("GPU:1");
  std::thread([&] { scope.reset(); }).join();
  ASSERT_EQ(log.of(LogLevel::error).size(), 1U);
  EXPECT_NE(log.of(LogLevel::error)[0].find("was left on another thread; a scope belongs to its thread"), std::string::npos);
  EXPECT_EQ(ones({1}).device(), full("GPU:0"));
  const DeviceScope on("GPU:2");
  EXPECT_EQ(ones({1}).device(), full("GPU:2"));
}

TEST(Scopes, SayWhichDeviceIsSynchronized) {
  simulate_gpus(2);
  const Tensor x = ones({1000});
  for (const char* name : {"", "GPU", "GPU:0", "/job:localhost"}) {
    const DeviceScope on(name);
    const Tensor y = x * 2;
    synchronize();
    EXPECT_TRUE(y.is_ready()) << name;
  }
  const DeviceScope nowhere("GPU:5");
  EXPECT_THROW(synchronize(), UnknownDevice);
}

TEST(Scopes, AnEmptyOneLeavesAVariableWhereItsValueIs) {
  simulate_gpus(2);
  const Tensor x = copy_to(ones({2}), "CPU:0");
  const DeviceScope none("");
  EXPECT_EQ(Variable(x).device(), full("CPU:0"));
}

TEST(Scopes, OfABadNameChangeNothing) {
  simulate_gpus(2);
  const DeviceScope outer("GPU:1");
  EXPECT_THROW(DeviceScope("/gpu:O"), InvalidDeviceName);
  EXPECT_EQ(ones({1}).device(), full("GPU:1"));
}

TEST(Scopes, MayBeOpenedBeforeTheRuntimeIsConfigured) {
  const DeviceScope on("GPU:1");
  simulate_gpus(2);
  EXPECT_EQ(ones({1}).device(), full("GPU:1"));
}

}  // namespace
}  // namespace tutti
