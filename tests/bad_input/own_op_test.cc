// Ops of a user's own that misbehave: in their registration, their inference or their kernels.
#include <stdexcept>

#include "bad_input/refusal.h"

namespace tutti {
namespace {

void infer_same(Inference& in) {
  in.expect_inputs(1);
  in.output(in.dtype(0), in.shape(0));
}
void do_nothing(const KernelCall&, KernelContext&) {}
constexpr OpKernels everywhere{.cpu = do_nothing, .sim = do_nothing};

class OwnOp : public testing::TestWithParam<const char*> {
 protected:
  OwnOp() : on_((simulate_gpus(1), GetParam())) { expect_usable(); }

 private:
  DeviceScope on_;
};
INSTANTIATE_TEST_SUITE_P(Misbehaving, OwnOp, testing::Values("CPU:0", "GPU:0"),
                         [](const auto& param) { return std::string(param.param, 3); });

TEST_P(OwnOp, CannotBeRegisteredTwiceOrWithoutWhatItNeeds) {
  register_op({.name = "Twice", .infer = infer_same}, everywhere);
  EXPECT_REFUSED(InvalidArgument, "an op named Twice is registered already", register_op({.name = "Twice", .infer = infer_same}));
  EXPECT_REFUSED(InvalidArgument, "an op named AddV2 is registered already", register_op({.name = "AddV2", .infer = infer_same}));
  EXPECT_REFUSED(InvalidArgument, "an op needs a name", register_op({.name = "", .infer = infer_same}));
  EXPECT_REFUSED(InvalidArgument, "needs an inference function", register_op({.name = "NoInference"}));
}

TEST_P(OwnOp, ThatIsUnknownIsNamedWithItsNearestRelative) {
  const Tensor x = ones({2});
  EXPECT_REFUSED(UnknownOp, "no op is named 'MatMull'; did you mean 'MatMul'?", call_op("MatMull", {x, x}));
  EXPECT_REFUSED(UnknownOp, "no op is named 'SomethingElseAltogether'", call_op("SomethingElseAltogether", {x}));
  EXPECT_REFUSED(UnknownOp, "\\x01", call_op("\x01", {x}));
  EXPECT_REFUSED(UnknownOp, "no op is named", find_op(std::string(100'000, 'y')));
}

TEST_P(OwnOp, WithTheWrongNumberOfInputs) {
  register_op({.name = "One", .infer = infer_same}, everywhere);
  const auto asks_for_more = [](Inference& in) {
    const DType dtype = in.dtype(1);
    in.output(dtype, in.shape(2));
  };
  register_op({.name = "Careless", .infer = asks_for_more}, everywhere);
  const Tensor x = ones({2});
  EXPECT_REFUSED(InvalidArgument, "One takes 1 inputs, not 2", call_op("One", {x, x}));
  EXPECT_REFUSED(InvalidArgument, "One takes 1 inputs, not 0", call_op("One", {}));
  EXPECT_REFUSED(InvalidArgument, "Careless was called with 1 inputs; it also needs input #1", call_op("Careless", {x}));
  EXPECT_REFUSED(InvalidArgument, "input #2", call_op("Careless", {x, x}));
  EXPECT_REFUSED(InvalidArgument, "matmul takes 2 inputs, not 1", call_op("MatMul", {x}));
}

TEST_P(OwnOp, WithAttributesOfTheWrongSize) {
  struct Pair {
    double a;
    double b;
  };
  const auto infer = [](Inference& in) {
    in.expect_inputs(1);
    (void)in.attributes<Pair>();
    in.output(in.dtype(0), in.shape(0));
  };
  register_op({.name = "NeedsAttributes", .infer = infer}, everywhere);
  const Tensor x = ones({2});
  const auto use = [&](const Attributes& attributes, Site site = {}) { call_op("NeedsAttributes", {x}, attributes, site); };
  EXPECT_REFUSED(InvalidArgument, "NeedsAttributes needs attributes of 16 bytes; the call gave 0", use({}));
  EXPECT_REFUSED(InvalidArgument, "the call gave 4", use(Attributes(1.F)));
  EXPECT_REFUSED(InvalidArgument, "sum needs attributes", call_op("Sum", {x}));
  EXPECT_REFUSED(InvalidArgument, "the caller must state", call_op("Fill", {x}));
  // A kernel that looks for what its inference did not: a failure in flight, with the call's line.
  register_op({.name = "LooksLate", .infer = infer_same},
              {.cpu = [](const KernelCall& call, KernelContext&) { (void)call.attributes->as<Pair>(); },
               .sim = [](const KernelCall& call, KernelContext&) { (void)call.attributes->as<Pair>(); }});
  EXPECT_REFUSED(KernelFailed, "attributes of 16 bytes are needed; the call gave 0", call_op("LooksLate", {x})[0].sync());
}

TEST_P(OwnOp, WhoseInferenceSaysTheImpossible) {
  register_op({.name = "Negative", .infer = [](Inference& in) { in.output(DType::f32, {-1}); }}, everywhere);
  register_op({.name = "Overflowing", .infer = [](Inference& in) { in.output(DType::f32, {INT64_MAX, 2}); }}, everywhere);
  register_op({.name = "SecondNegative",
               .infer =
                   [](Inference& in) {
                     in.output(DType::f32, {1000});
                     in.output(DType::f32, {-1});
                   }},
              everywhere);
  register_op({.name = "NegativeScratch",
               .infer =
                   [](Inference& in) {
                     in.output(DType::f32, {1});
                     in.scratch(-8);
                   }},
              everywhere);
  register_op({.name = "HugeScratch",
               .infer =
                   [](Inference& in) {
                     in.output(DType::f32, {1});
                     in.scratch(INT64_MAX);
                   }},
              everywhere);
  register_op({.name = "NotBroadcast", .infer = [](Inference& in) { in.output(in.dtype(0), {7}); }, .is_elementwise = true},
              everywhere);
  const Tensor x = ones({2, 3});
  EXPECT_REFUSED(ShapeError, "(-1,)", call_op("Negative", {}));
  EXPECT_REFUSED(ShapeError, "cannot be", call_op("Overflowing", {}));
  EXPECT_REFUSED(ShapeError, "(-1,)", call_op("SecondNegative", {}));
  EXPECT_REFUSED(InvalidArgument, "NegativeScratch: its inference asked for -8 bytes", call_op("NegativeScratch", {}));
  EXPECT_REFUSED(OutOfMemory, "", call_op("HugeScratch", {}));
  EXPECT_REFUSED(ShapeError, "its inputs do not broadcast to the output's shape (7,)", call_op("NotBroadcast", {x}));
}

TEST_P(OwnOp, CallsByNameOfWhatIsNoKernelNameTheFunction) {
  const Tensor x = ones({2, 3});
  EXPECT_REFUSED(InvalidArgument, "call Variable::value instead", call_op("ReadVariableOp", {}));
  EXPECT_REFUSED(InvalidArgument, "call constant instead", call_op("_EagerConst", {x}));
  EXPECT_REFUSED(InvalidArgument, "call permute_dims instead", call_op("Transpose", {}));
}

TEST_P(OwnOp, WhoseInferenceNamesNoOutput) {
  register_op({.name = "NoOutput", .infer = [](Inference& in) { in.expect_inputs(1); }}, everywhere);
  register_op({.name = "NoOutputElementWise", .infer = [](Inference&) {}, .is_elementwise = true}, everywhere);
  EXPECT_REFUSED(InvalidArgument, "NoOutput: its inference named no output; it must call output(dtype, shape)",
                 (void)call_op("NoOutput", {ones({2})})[0]);
  EXPECT_REFUSED(InvalidArgument, "named no output", call_op("NoOutputElementWise", {ones({2})}));
}

void read_as_double(const KernelCall& call, KernelContext&) {
  *call.out().as<float>() = static_cast<float>(*call.in(0).as<const double>());
}
void read_as_bytes(const KernelCall& call, KernelContext&) { (void)call.in(0).as<const std::uint8_t>(); }
void write_as_integer(const KernelCall& call, KernelContext&) { *call.out().as<std::int32_t>() = 1; }

TEST_P(OwnOp, WhoseKernelReadsAnOperandAsAnotherDtype) {
  register_op({.name = "AsDouble", .infer = infer_same}, {.cpu = read_as_double, .sim = read_as_double});
  register_op({.name = "AsBytes", .infer = infer_same}, {.cpu = read_as_bytes, .sim = read_as_bytes});
  register_op({.name = "AsInteger", .infer = infer_same}, {.cpu = write_as_integer, .sim = write_as_integer});
  const Tensor x = ones({2});
  EXPECT_REFUSED(KernelFailed, "an operand of float32 was read as float64", read<float>(call_op("AsDouble", {x})[0]));
  EXPECT_REFUSED(KernelFailed, "an operand of float32 was read as uint8", read<float>(call_op("AsBytes", {x})[0]));
  EXPECT_REFUSED(KernelFailed, "an operand of float32 was read as int32", read<float>(call_op("AsInteger", {x})[0]));
  call_op("AsBytes", {ones({2}, DType::boolean)})[0].sync();
}

TEST_P(OwnOp, WhoseKernelAsksForAnOperandThatTheCallHasNot) {
  const Kernel third_output = [](const KernelCall& call, KernelContext&) { call.out(2).as<float>()[0] = 7; };
  const Kernel fourth_input = [](const KernelCall& call, KernelContext&) { *call.out().as<float>() = *call.in(3).as<float>(); };
  register_op({.name = "ThirdOutput", .infer = infer_same}, {.cpu = third_output, .sim = third_output});
  register_op({.name = "FourthInput", .infer = infer_same}, {.cpu = fourth_input, .sim = fourth_input});
  const Tensor x = ones({2});
  EXPECT_REFUSED(KernelFailed, "the kernel asked for output #2 of a call with 1 output; they count from 0",
                 read<float>(call_op("ThirdOutput", {x})[0]));
  EXPECT_REFUSED(KernelFailed, "the kernel asked for input #3 of a call with 1 input; they count from 0",
                 read<float>(call_op("FourthInput", {x})[0]));
}

TEST_P(OwnOp, WhoseInferenceThrows) {
  register_op({.name = "ThrowsStandard", .infer = [](Inference&) { throw std::length_error("too long"); }}, everywhere);
  register_op({.name = "ThrowsNumber", .infer = [](Inference&) { throw 7; }}, everywhere);
  register_op({.name = "ThrowsOurs", .infer = [](Inference& in) { throw ShapeError("no such shape", in.site()); }}, everywhere);
  EXPECT_REFUSED(InvalidArgument, "ThrowsStandard: its inference failed: too long", call_op("ThrowsStandard", {}));
  EXPECT_REFUSED(InvalidArgument, "ThrowsNumber: its inference threw something", call_op("ThrowsNumber", {}));
  EXPECT_REFUSED(ShapeError, "no such shape", call_op("ThrowsOurs", {}));
}

void throw_standard(const KernelCall&, KernelContext&) { throw std::runtime_error("out of luck"); }
void throw_number(const KernelCall&, KernelContext&) { throw 7; }
void throw_ours(const KernelCall& call, KernelContext&) { throw KernelFailed("a bound is NaN", call.site); }

TEST_P(OwnOp, WhoseKernelThrowsSpoilsItsResultWithTheCallsLine) {
  register_op({.name = "KernelThrows", .infer = infer_same}, {.cpu = throw_standard, .sim = throw_standard});
  register_op({.name = "KernelThrowsNumber", .infer = infer_same}, {.cpu = throw_number, .sim = throw_number});
  register_op({.name = "KernelThrowsOurs", .infer = infer_same}, {.cpu = throw_ours, .sim = throw_ours});
  const Tensor x = ones({2});
  for (const bool synchronous : {true, false}) {
    set_synchronous_execution(synchronous);
    EXPECT_REFUSED(KernelFailed, "out of luck (op KernelThrows on /job:", read<float>(call_op("KernelThrows", {x})[0]));
    EXPECT_REFUSED(KernelFailed, "not a std::exception was thrown", read<float>(call_op("KernelThrowsNumber", {x})[0]));
    EXPECT_REFUSED(KernelFailed, "a bound is NaN (op KernelThrowsOurs", item<float>(sum(call_op("KernelThrowsOurs", {x})[0])));
  }
}

TEST_P(OwnOp, ThatCallsTheRuntimeFromItsKernelIsRefused) {
  static Tensor outside;
  outside = ones({2});
  const auto calls_op = [](const KernelCall&, KernelContext&) { outside = outside + 1; };
  register_op({.name = "CallsAnOp", .infer = infer_same}, {.cpu = calls_op, .sim = calls_op});
  EXPECT_REFUSED(KernelFailed, "was called inside a kernel", read<float>(call_op("CallsAnOp", {outside})[0]));
  outside = Tensor();
}

TEST(Callbacks, ThatThrowAreContained) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  alignas(8) float memory[4] = {1, 2, 3, 4};
  const int line = __LINE__ + 1;
  Tensor x = wrap_host_memory(memory, DType::f32, {4}, [] { throw std::runtime_error("callback"); });
  EXPECT_EQ(item<float>(sum(x)), 10.F);
  x = Tensor();
  sync_devices();
  set_log_sink({});
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find(std::string(__FILE__) + ":" + std::to_string(line)), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("callback"), std::string::npos);
  expect_usable();
}

TEST(Callbacks, ALogSinkThatThrowsLosesNothingElse) {
  set_log_sink([](LogLevel, std::string_view) { throw std::runtime_error("sink"); });
  set_log_device_placement(true);
  expect_usable();
  set_log_device_placement(false);
  set_log_sink({});
}

TEST(AfterShutdown, EveryUseIsRefusedWithTheCallersLine) {
  const Tensor x = ones({2});
  Variable v(x);
  shutdown();
  const auto refused = [&](int line, auto&& call) {
    try {
      call();
      ADD_FAILURE_AT(__FILE__, line) << "was accepted";
    } catch (const InvalidState& e) {
      EXPECT_EQ(e.site().line(), static_cast<std::uint32_t>(line)) << e.what();
      EXPECT_STREQ(e.site().file(), __FILE__) << e.what();
    }
  };
  refused(__LINE__, [&] { x + 1; });
  refused(__LINE__, [&] { ones({2}); });
  refused(__LINE__, [&] { constant({1.F}); });
  refused(__LINE__, [&] { matmul(x, x); });
  refused(__LINE__, [&] { sum(x); });
  refused(__LINE__, [&] { uniform({2}); });
  refused(__LINE__, [&] { copy_to(x, "CPU:0"); });
  refused(__LINE__, [&] { nonzero(x); });
  refused(__LINE__, [&] { v.assign(1); });
  refused(__LINE__, [&] { v.assign_add(1); });
  refused(__LINE__, [&] { Variable other(x); });
  refused(__LINE__, [&] { contiguous(transpose(x)); });
  refused(__LINE__, [&] { call_op("AddV2", {x, x}); });
  refused(__LINE__, [&] { sync_devices(); });
  refused(__LINE__, [&] { synchronize(); });
  refused(__LINE__, [&] { Stream stream("CPU:0"); });
  refused(__LINE__, [&] { DeviceScope on("CPU:0"); });
  refused(__LINE__, [&] { list_logical_devices(); });
  refused(__LINE__, [&] { memory_info("CPU:0"); });
  refused(__LINE__, [&] { shutdown(); });
}

}  // namespace
}  // namespace tutti
