// DLPack in and out, on the CPU: no copy, every layout, the deleter once, and what is refused.
#include "tutti/ops/dlpack.h"

#include <dlpack/dlpack.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "streams/gate.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using testing_streams::Gate;

// A tensor as another library would hand it over; counts how often it was given back.
struct Foreign {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::atomic<int> given_back{0};
  DLManagedTensor managed{};

  Foreign(void* data, DLDataType dtype, std::vector<std::int64_t> sizes, std::vector<std::int64_t> steps = {})
      : shape(std::move(sizes)), strides(std::move(steps)) {
    managed.dl_tensor = {
        data, {kDLCPU, 0}, static_cast<int>(shape.size()), dtype, shape.data(), strides.empty() ? nullptr : strides.data(), 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->given_back; };
  }
};

constexpr DLDataType float32{kDLFloat, 32, 1};

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

class Dlpack : public ::testing::Test {
 protected:
  const DeviceScope on_cpu_{"CPU:0"};
};

}  // namespace

TEST_F(Dlpack, GoesOutAndComesBackWithoutACopy) {
  Tensor x = constant({{1.F, 2.F, 3.F}, {4.F, 5.F, 6.F}});
  const std::byte* address = x.impl().address();
  DLManagedTensor* out = to_dlpack(x);
  x = {};
  EXPECT_EQ(out->dl_tensor.data, address);
  EXPECT_EQ(out->dl_tensor.byte_offset, 0U);
  EXPECT_EQ(out->dl_tensor.device.device_type, kDLCPU);
  EXPECT_EQ(out->dl_tensor.ndim, 2);
  const Tensor back = from_dlpack(out);
  EXPECT_EQ(back.impl().address(), address);
  EXPECT_EQ(read<float>(back), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Dlpack, EveryDtypeKeepsItsNameAndItsBits) {
  const struct {
    DType dtype;
    int code;
    int bits;
  } table[] = {{DType::boolean, 6, 8},     {DType::u8, kDLUInt, 8},   {DType::i8, kDLInt, 8},     {DType::i16, kDLInt, 16},
               {DType::i32, kDLInt, 32},   {DType::i64, kDLInt, 64},  {DType::f16, kDLFloat, 16}, {DType::bf16, kDLBfloat, 16},
               {DType::f32, kDLFloat, 32}, {DType::f64, kDLFloat, 64}};
  ASSERT_EQ(std::size(table), dtype_count);
  for (const auto& row : table) {
    SCOPED_TRACE(to_string(row.dtype));
    const Tensor x = cast(constant({0.F, 1.F, 1.F, 0.F, 1.F}), row.dtype);
    DLManagedTensor* out = to_dlpack(x);
    EXPECT_EQ(out->dl_tensor.dtype.code, row.code);
    EXPECT_EQ(out->dl_tensor.dtype.bits, row.bits);
    EXPECT_EQ(out->dl_tensor.dtype.lanes, 1);
    const Tensor back = from_dlpack(out);
    EXPECT_EQ(back.dtype(), row.dtype);
    EXPECT_EQ(back.impl().address(), x.impl().address());
    EXPECT_EQ(read<float>(cast(back, DType::f32)), (std::vector<float>{0, 1, 1, 0, 1}));
  }
}

TEST_F(Dlpack, ViewsGoOutWithTheirStrides) {
  const Tensor x = reshape(constant(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {12}), {3, 4});
  for (const Tensor& view : {transpose(x), slice(x, 1, {.start = 3, .stop = {}, .step = -2}),
                             broadcast_to(slice(x, 0, {.start = 1, .stop = 2}), {5, 4})}) {
    DLManagedTensor* out = to_dlpack(view);
    EXPECT_EQ(out->dl_tensor.data, view.impl().address());
    EXPECT_EQ((std::vector<std::int64_t>(out->dl_tensor.strides, out->dl_tensor.strides + out->dl_tensor.ndim)),
              (std::vector<std::int64_t>(view.strides().begin(), view.strides().end())));
    const Tensor back = from_dlpack(out);
    EXPECT_EQ(back.shape(), view.shape());
    EXPECT_EQ(back.strides(), view.strides());
    EXPECT_EQ(read<float>(back), read<float>(view));
  }
}

TEST_F(Dlpack, AnyLayoutIsReadAsItLies) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto draw = [&](int low, int high) { return std::uniform_int_distribution<std::int64_t>(low, high)(random); };
    std::vector<std::int64_t> shape(static_cast<std::size_t>(draw(0, 5)));
    std::vector<std::int64_t> strides;
    std::int64_t lowest = 0;
    std::int64_t highest = 0;
    for (auto& size : shape) {
      size = draw(seed % 10 == 0 ? 0 : 1, 4);
      strides.push_back(draw(-7, 7));
      (strides.back() < 0 ? lowest : highest) += (std::max<std::int64_t>(size, 1) - 1) * strides.back();
    }
    std::vector<std::int32_t> memory(static_cast<std::size_t>(highest - lowest) + 1);
    std::iota(memory.begin(), memory.end(), 100);
    std::vector<std::int32_t> expected;
    const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t at = -lowest;
      std::int64_t rest = i;
      for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) at += rest % shape[axis] * strides[axis];
      expected.push_back(memory[static_cast<std::size_t>(at)]);
    }
    // Some of the way to the first element as an offset in bytes.
    const std::int64_t offset = draw(0, static_cast<int>(-lowest));
    Foreign foreign(memory.data() - lowest - offset, {kDLInt, 32, 1}, shape, strides);
    foreign.managed.dl_tensor.byte_offset = static_cast<std::uint64_t>(offset) * 4;
    {
      const Tensor x = from_dlpack(&foreign.managed);
      EXPECT_EQ(x.shape(), Shape(std::span<const std::int64_t>(shape)));
      EXPECT_EQ(read<std::int32_t>(x), expected);
      if (count > 0) {
        EXPECT_GE(reinterpret_cast<std::int32_t*>(x.impl().buffer()->address()), memory.data());
        EXPECT_LE(reinterpret_cast<std::int32_t*>(x.impl().buffer()->address() + x.impl().buffer()->bytes()),
                  memory.data() + memory.size());
      }
    }
    EXPECT_EQ(foreign.given_back, 1);
  }
}

TEST_F(Dlpack, WithoutStridesItIsDense) {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  Foreign foreign(memory.data(), float32, {3, 2});
  const Tensor x = from_dlpack(&foreign.managed);
  EXPECT_EQ(x.impl().address(), reinterpret_cast<std::byte*>(memory.data()));
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(read<float>(transpose(x)), (std::vector<float>{1, 3, 5, 2, 4, 6}));
}

TEST_F(Dlpack, TheStrideOfAnAxisOfOneMeansNothing) {
  std::vector<float> memory{1, 2, 3};
  Foreign foreign(memory.data(), float32, {1, 3, 1}, {-12345, 1, std::numeric_limits<std::int64_t>::max()});
  const Tensor x = from_dlpack(&foreign.managed);
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(x.impl().buffer()->bytes(), 12U);
  EXPECT_EQ(read<float>(x), memory);
}

TEST_F(Dlpack, PinnedHostMemoryIsTheCpus) {
  std::vector<float> memory{1, 2};
  Foreign foreign(memory.data(), float32, {2});
  foreign.managed.dl_tensor.device = {kDLCUDAHost, 0};
  EXPECT_EQ(from_dlpack(&foreign.managed).device(), ones({}).device());
}

TEST_F(Dlpack, EmptyTensorsHaveNoAddress) {
  DLManagedTensor* out = to_dlpack(zeros({0, 3}));
  EXPECT_EQ(out->dl_tensor.data, nullptr);
  const Tensor back = from_dlpack(out);
  EXPECT_EQ(back.shape(), (Shape{0, 3}));
  EXPECT_TRUE(read<float>(back).empty());
}

TEST_F(Dlpack, IsGivenBackOnceWithItsLastOwner) {
  std::vector<float> memory{1, 2, 3, 4};
  Foreign foreign(memory.data(), float32, {4});
  Tensor x = from_dlpack(&foreign.managed);
  Tensor view = slice(x, 0, {.start = 1, .stop = {}});
  DLManagedTensor* again = to_dlpack(view);
  x = {};
  view = {};
  EXPECT_EQ(foreign.given_back, 0) << "what was passed on still owns it";
  again->deleter(again);
  EXPECT_EQ(foreign.given_back, 1);
  sync_devices();
  EXPECT_EQ(foreign.given_back, 1);
}

TEST_F(Dlpack, NeedsNoDeleter) {
  std::vector<float> memory{1, 2};
  Foreign foreign(memory.data(), float32, {2});
  foreign.managed.deleter = nullptr;
  EXPECT_EQ(read<float>(from_dlpack(&foreign.managed)), memory);
}

TEST(DlpackOnDevices, IsGivenBackAfterTheLastReadOnADevice) {
  simulate_gpus(1);
  std::vector<float> memory(8, 3);
  Foreign foreign(memory.data(), float32, {8});
  foreign.managed.deleter = [](DLManagedTensor* self) {
    auto* mine = static_cast<Foreign*>(self->manager_ctx);
    std::fill_n(static_cast<float*>(self->dl_tensor.data), 8, -1.F);
    ++mine->given_back;
  };
  Gate gate;
  Tensor result;
  {
    const DeviceScope on("GPU:0");
    gate.close("GPU:0");
    result = from_dlpack(&foreign.managed) * 2;
  }
  EXPECT_EQ(foreign.given_back, 0) << "the copy to the GPU has not run";
  gate.open();
  EXPECT_EQ(read<float>(result), std::vector<float>(8, 6));
  sync_devices();
  EXPECT_EQ(foreign.given_back, 1);
}

TEST_F(Dlpack, ForeignMemoryIsNeverWrittenByAnOpThatWasGivenIt) {
  std::vector<float> memory{1, 2, 3};
  Foreign foreign(memory.data(), float32, {3});
  const Tensor y = from_dlpack(&foreign.managed) * 2 + 1;  // each op is given the only owner of its input
  EXPECT_EQ(read<float>(y), (std::vector<float>{3, 5, 7}));
  EXPECT_EQ(memory, (std::vector<float>{1, 2, 3}));
}

TEST_F(Dlpack, AnExportedTensorIsNotTakenOverByAnOp) {
  Tensor x = constant({1.F, 2.F, 3.F});
  DLManagedTensor* out = to_dlpack(x);
  const Tensor y = std::move(x) + 1;
  EXPECT_EQ(static_cast<const float*>(out->dl_tensor.data)[0], 1);
  EXPECT_EQ(read<float>(y), (std::vector<float>{2, 3, 4}));
  out->deleter(out);
}

TEST_F(Dlpack, AValueNotThereYetIsWaitedFor) {
  set_synchronous_execution(false);
  Gate gate;
  gate.close("CPU:0");
  const Tensor x = full({64}, 5, DType::i32);
  EXPECT_FALSE(x.is_ready());
  std::thread opener([&] {
    gate.await_entered();
    gate.open();
  });
  DLManagedTensor* out = to_dlpack(x);
  EXPECT_TRUE(x.is_ready());
  EXPECT_EQ(static_cast<const std::int32_t*>(out->dl_tensor.data)[63], 5);
  out->deleter(out);
  opener.join();
}

TEST_F(Dlpack, AFailedValueDoesNotGoOut) {
  const Tensor bad = take(constant({1.F, 2.F}), constant({std::int64_t{7}}));
  EXPECT_THROW((void)to_dlpack(bad), KernelFailed);
}

TEST_F(Dlpack, RefusesDtypesItHasNotAndNamesThem) {
  std::vector<double> memory(4);
  const struct {
    DLDataType dtype;
    const char* name;
  } table[] = {{{kDLUInt, 16, 1}, "dtype uint16;"},
               {{kDLComplex, 64, 1}, "dtype complex64;"},
               {{kDLFloat, 32, 4}, "float32 in 4 lanes;"},
               {{kDLFloat, 8, 1}, "dtype float8;"},
               {{kDLInt, 4, 1}, "dtype int4;"},
               {{kDLOpaqueHandle, 64, 1}, "dtype handle64;"},
               {{6, 1, 1}, "dtype bool1;"},
               {{12, 8, 1}, "a type of code 12 with 8 bits;"},
               {{kDLFloat, 32, 0}, "float32 in 0 lanes;"}};
  for (const auto& row : table) {
    Foreign foreign(memory.data(), row.dtype, {2});
    const std::string said = refusal([&] { (void)from_dlpack(&foreign.managed); });
    EXPECT_NE(said.find(row.name), std::string::npos) << said;
    EXPECT_NE(said.find("bfloat16"), std::string::npos) << "it says what can be used: " << said;
    EXPECT_THROW((void)from_dlpack(&foreign.managed), DTypeError);
    EXPECT_EQ(foreign.given_back, 0) << "the caller still owns it";
  }
}

TEST_F(Dlpack, RefusesShapesAndAddressesThatCannotBe) {
  std::vector<double> memory(4);
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const auto expect_refused = [](Foreign& foreign, const char* reason) {
    const std::string said = refusal([&] { (void)from_dlpack(&foreign.managed); });
    EXPECT_NE(said.find(reason), std::string::npos) << said;
    EXPECT_EQ(foreign.given_back, 0);
  };
  Foreign nine(memory.data(), float32, std::vector<std::int64_t>(9, 1));
  expect_refused(nine, "9 axes; reshape it to at most 8");
  Foreign negative_rank(memory.data(), float32, {});
  negative_rank.managed.dl_tensor.ndim = -1;
  expect_refused(negative_rank, "-1 axes");
  Foreign negative(memory.data(), float32, {-2});
  expect_refused(negative, "must not be negative");
  Foreign too_many(memory.data(), float32, {huge, 8});
  expect_refused(too_many, "63 bits");
  Foreign far(memory.data(), float32, {3}, {huge});
  expect_refused(far, "beyond any memory");
  Foreign both_ways(memory.data(), float32, {2, 2}, {huge, -huge});
  expect_refused(both_ways, "beyond any memory");
  Foreign bytes(memory.data(), float32, {2}, {huge / 2});
  expect_refused(bytes, "beyond any memory");
  Foreign shapeless(memory.data(), float32, {2});
  shapeless.managed.dl_tensor.shape = nullptr;
  expect_refused(shapeless, "without a shape");
  Foreign nowhere(nullptr, float32, {2});
  expect_refused(nowhere, "null pointer");
  Foreign odd(memory.data(), float32, {2});
  odd.managed.dl_tensor.byte_offset = 2;
  expect_refused(odd, "not aligned to the 4 bytes of float32");
  EXPECT_THROW((void)from_dlpack(nullptr), InvalidArgument);
  EXPECT_THROW((void)to_dlpack(Tensor()), InvalidArgument);
}

TEST_F(Dlpack, RefusesDevicesItHasNot) {
  std::vector<float> memory(4);
  for (const int type : {4, 7, 8, 10, 11, 13, 14, 0, 99}) {
    Foreign foreign(memory.data(), float32, {4});
    std::memcpy(&foreign.managed.dl_tensor.device.device_type, &type, sizeof type);
    const std::string said = refusal([&] { (void)from_dlpack(&foreign.managed); });
    EXPECT_NE(said.find("type " + std::to_string(type)), std::string::npos) << said;
    EXPECT_EQ(foreign.given_back, 0);
  }
  Foreign foreign(memory.data(), float32, {4});
  foreign.managed.dl_tensor.device = {kDLCUDA, 63};
  const std::string said = refusal([&] { (void)from_dlpack(&foreign.managed); });
  EXPECT_NE(said.find("CUDA device 63"), std::string::npos) << said;
  EXPECT_NE(said.find("device:CPU:0"), std::string::npos) << "it says what there is: " << said;
  EXPECT_EQ(foreign.given_back, 0);
}

TEST_F(Dlpack, HostMemoryHasNoStream) {
  std::vector<float> memory(4);
  Foreign foreign(memory.data(), float32, {4});
  int stream = 0;
  EXPECT_THROW((void)from_dlpack(&foreign.managed, &stream), InvalidArgument);
  EXPECT_THROW((void)to_dlpack(ones({2}), &stream), InvalidArgument);
  EXPECT_EQ(foreign.given_back, 0);
}

TEST(DlpackOnDevices, ASimulatedGpuHasNoMemoryForOthers) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const std::string said = refusal([&] { (void)to_dlpack(ones({2})); });
  EXPECT_NE(said.find("simulated"), std::string::npos) << said;
  EXPECT_NE(said.find("copy_to"), std::string::npos) << said;
}

TEST(WrappedDeviceMemory, IsRefusedOnASimulatedGpuAndTakenOnTheCpu) {
  simulate_gpus(1);
  std::vector<float> memory{1, 2, 3};
  bool called = false;
  const auto done = [&] { called = true; };
  EXPECT_THROW((void)wrap_device_memory(memory.data(), DType::f32, {3}, "GPU:0", done), InvalidArgument);
  EXPECT_THROW((void)wrap_device_memory(memory.data(), DType::f32, {3}, "GPU:7", done), UnknownDevice);
  EXPECT_THROW((void)wrap_device_memory(nullptr, DType::f32, {3}, "CPU:0", done), InvalidArgument);
  EXPECT_FALSE(called) << "it was never lent";
  {
    const Tensor x = wrap_device_memory(memory.data(), DType::f32, {3}, "CPU:0", done);
    EXPECT_EQ(x.impl().address(), reinterpret_cast<std::byte*>(memory.data()));
    EXPECT_EQ(read<float>(x), memory);
  }
  EXPECT_TRUE(called);
}

TEST(Pinning, IsAnOrdinaryCopyWhereNoGpuCares) {
  simulate_gpus(1);
  const Tensor x = [] {
    const DeviceScope on("GPU:0");
    return constant({1.F, 2.F, 3.F});
  }();
  for (const char* device : {"", "GPU:0", "CPU:0"}) {
    const Tensor host = pin(transpose(x), device);
    EXPECT_NE(host.device().find("CPU:0"), std::string::npos);
    EXPECT_FALSE(is_pinned(host));
    EXPECT_EQ(read<float>(host), (std::vector<float>{1, 2, 3}));
    EXPECT_NE(host.impl().address(), x.impl().address());
  }
  EXPECT_FALSE(is_pinned(x));
  EXPECT_THROW((void)pin(x, "GPU:9"), UnknownDevice);
  EXPECT_THROW((void)pin(Tensor()), InvalidArgument);
  EXPECT_THROW((void)is_pinned(Tensor()), InvalidArgument);
}

}  // namespace tutti
