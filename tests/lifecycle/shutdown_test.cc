// The end of the runtime: shutdown on request, and the end of the program with everything left as it is.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "streams/gate.h"

namespace tutti {

namespace {

using testing_streams::Gate;

// Destroyed after main, in an order the runtime does not know; some of them are made before it, some after.
std::optional<Tensor> static_tensor;
std::optional<Variable> static_variable;
std::optional<Stream> static_stream;
std::optional<Pending<float>> static_pending;
std::vector<Tensor> static_tensors;

void use_in_a_destructor() {
  struct Late {
    ~Late() {
      try {
        (void)(ones({3}) + 1);
        std::_Exit(90);  // it should have been refused
      } catch (const InvalidState&) {}
    }
  };
  static const Late late;
}

// Ends the program as a user's would, with a guard against hanging.
[[noreturn]] void leave() {
  ::alarm(60);
  std::exit(0);
}

class Exit : public testing::Test {
 protected:
  // A program of its own for each: started anew, not forked from this one.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

}  // namespace

TEST(Shutdown, MakesEveryLaterUseThrow) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({3});
  const Tensor host = copy_to(x, "CPU:0");
  Variable v(x);
  Stream stream("GPU:0");
  Event event;
  event.record(stream);
  shutdown();
  EXPECT_THROW((void)(x + 1), InvalidState);
  EXPECT_THROW((void)ones({3}), InvalidState);
  EXPECT_THROW((void)constant({1.F}), InvalidState);
  EXPECT_THROW((void)read<float>(x), InvalidState);
  EXPECT_THROW((void)read_async<float>(x), InvalidState);
  EXPECT_THROW((void)copy_to(x, "CPU:0"), InvalidState);
  EXPECT_THROW(v.assign(x), InvalidState);
  EXPECT_THROW(v.assign_add(1), InvalidState);
  EXPECT_THROW(Variable{x}, InvalidState);
  EXPECT_THROW(Stream("GPU:0"), InvalidState);
  EXPECT_THROW(stream.sync(), InvalidState);
  EXPECT_THROW(stream.wait(event), InvalidState);
  EXPECT_THROW(event.record(stream), InvalidState);
  EXPECT_THROW(sync_devices(), InvalidState);
  EXPECT_THROW(synchronize("GPU:0"), InvalidState);
  EXPECT_THROW((void)memory_info("GPU:0"), InvalidState);
  EXPECT_THROW((void)list_logical_devices(), InvalidState);
  EXPECT_THROW(clear_errors(), InvalidState);
  EXPECT_THROW(DeviceScope("CPU:0"), InvalidState);
  EXPECT_THROW(shutdown(), InvalidState);
  try {
    (void)(x + 1);
  } catch (const InvalidState& e) {
    EXPECT_NE(std::string(e.what()).find("shut down"), std::string::npos) << e.what();
    EXPECT_STREQ(e.site().file(), __FILE__);
  }
}

TEST(Shutdown, RunsWhatIsInFlightFirst) {
  simulate_gpus(2);
  std::vector<double> values(4, 1.0);
  int given_back = 0;
  testing_streams::Notes notes;
  Gate gate;
  {
    const DeviceScope on("GPU:1");
    gate.close("GPU:1");
    for (int i = 0; i < 50; ++i) notes.note(i);
    Tensor wrapped = wrap_host_memory(values.data(), DType::f64, {4}, [&] { ++given_back; });
    (void)(wrapped * 2);
  }
  std::jthread opener([&] { gate.open(); });
  shutdown();
  EXPECT_EQ(notes.taken().size(), 50U);
  EXPECT_EQ(given_back, 1);
}

TEST(Shutdown, BeforeFirstUseIsFine) {
  shutdown();
  EXPECT_THROW((void)ones({1}), InvalidState);
}

TEST(Shutdown, LeavesHandlesThatCanBeDestroyed) {
  simulate_gpus(1);
  std::optional<Tensor> x = ones({100});
  std::optional<Variable> v(std::in_place, *x);
  std::optional<Stream> stream(std::in_place, "GPU:0");
  std::optional<Pending<float>> pending = read_async<float>(*x);
  shutdown();
  x.reset();
  v.reset();
  pending.reset();
  stream.reset();
}

TEST(Shutdown, IsSaidToThreadsThatGoOn) {
  simulate_gpus(2);
  std::atomic<int> rounds = 0;
  std::vector<std::jthread> threads;
  for (const char* device : {"GPU:0", "GPU:1", "CPU:0"}) {
    threads.emplace_back([&, device] {
      set_synchronous_execution(false);
      try {
        const DeviceScope on(device);  // a thread that starts late is told here
        for (;;) {
          (void)item<float>(ones({}) + 1);
          ++rounds;
        }
      } catch (const InvalidState&) {  // at the next call
      } catch (const Cancelled&) {     // work that came too late to run, but resolved
      }
    });
  }
  while (rounds < 10) std::this_thread::yield();
  shutdown();
}

TEST_F(Exit, WithoutASyncNeitherHangsNorCrashes) {
  const auto program = [] {
    simulate_gpus(2);
    for (const char* device : {"GPU:0", "GPU:1", "CPU:0"}) {
      const DeviceScope on(device);
      Stream stream(device);
      const StreamScope in(stream);
      Tensor x = ones({128, 128});
      for (int i = 0; i < 100; ++i) x = matmul(x, x) * 0.0;
      (void)read_async<float>(sum(x));
    }
    leave();
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(0), "");
}

TEST_F(Exit, WithAsynchronousCpuWorkThatWaitsForAStalledGpuDoesNotHang) {
  const auto program = [] {
    simulate_gpus(1);
    set_synchronous_execution(false);
    inject_fault({.kind = FaultKind::stall});
    Tensor x;
    {
      const DeviceScope on("GPU:0");
      x = ones({8});
    }
    const DeviceScope on("CPU:0");
    (void)(x + 1);
    leave();
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(0), "");
}

TEST_F(Exit, UnderTheSteppedSchedulerDoesNotHang) {
  const auto program = [] {
    simulate_gpus(1, {.driver = SimulationDriver::stepped, .seed = 2});
    const DeviceScope on("GPU:0");
    for (int i = 0; i < 50; ++i) static_tensors.push_back(ones({8}) + i);
    inject_fault({.kind = FaultKind::stall});
    leave();
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(0), "");
}

TEST_F(Exit, DestroysStaticObjectsSafely) {
  const auto program = [] {
    simulate_gpus(1);
    const DeviceScope* on = new DeviceScope("GPU:0");
    static_tensor = ones({100}) + 1;
    static_variable.emplace(*static_tensor);
    static_stream.emplace("GPU:0");
    static_pending = read_async<float>(sum(*static_tensor));
    static_tensors.push_back(slice(*static_tensor, 0, {.start = 1, .stop = {}}));
    {
      const StreamScope in(*static_stream);
      static_tensors.push_back(*static_tensor * 2);
      static_variable->assign_add(1.0);
    }
    static const Tensor made_late = exp(*static_tensor);  // destroyed before the runtime stops, the others after
    (void)made_late;
    delete on;
    leave();
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(0), "");
}

TEST_F(Exit, RefusesUseByDestructorsThatRunAfterTheRuntimeStopped) {
  const auto program = [] {
    use_in_a_destructor();  // made before the runtime, so destroyed after it
    simulate_gpus(1);
    (void)ones({1});
    leave();
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(0), "");
}

TEST_F(Exit, WithTensorsHeldByAThreadThatStillRunsDoesNotCrash) {
  const auto program = [] {
    simulate_gpus(1);
    static std::atomic<bool> holds = false;
    std::thread([] {
      const DeviceScope on("GPU:0");
      Tensor x = ones({10});
      try {
        for (;;) {
          x = x + 1;
          holds = true;
        }
      } catch (const InvalidState&) {}
    }).detach();
    while (!holds) std::this_thread::yield();
    leave();
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(0), "");
}

TEST_F(Exit, FromTheMiddleOfAKernelsFailureIsClean) {
  const auto program = [] {
    simulate_gpus(1);
    const DeviceScope on("GPU:0");
    for (int i = 0; i < 20; ++i) static_tensors.push_back(take(ones({2}), constant({std::int64_t{5 + i}})));
    leave();
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(0), "");
}

TEST(Shutdown, OfAStalledDeviceEndsAndSaysWhatWasPending) {
  ::setenv("TUTTI_STALL_TIMEOUT", "20ms", 1);
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  inject_fault({.kind = FaultKind::stall});
  const Site here;
  const Tensor x = ones({3}, DType::f32, here);
  try {
    shutdown();
    ADD_FAILURE() << "it ended as if all had run";
  } catch (const DeadlineExceeded& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("nothing was finished for 20.0 ms (TUTTI_STALL_TIMEOUT"), std::string::npos) << text;
    EXPECT_NE(text.find("device:GPU:0: 1 pending"), std::string::npos) << text;
    EXPECT_NE(text.find(here.to_string()), std::string::npos) << text;
  }
  EXPECT_THROW((void)(x + 1), InvalidState) << "it is shut down all the same";
}

TEST(Shutdown, OfAKernelThatDoesNotReturnEndsToo) {
  ::setenv("TUTTI_STALL_TIMEOUT", "20ms", 1);
  simulate_gpus(1);
  Gate gate;
  gate.close("GPU:0");
  gate.await_entered();
  EXPECT_THROW(shutdown(), DeadlineExceeded);
  gate.open();
}

}  // namespace tutti
