// A forked child: told clearly when it cannot use the runtime it inherited, and free to start its own otherwise.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>

#include "streams/gate.h"

namespace tutti {

namespace {

// Runs the body in a child; its exit status, or -1 when a signal ended it.
int status_of_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <class Use>
bool is_refused_as_forked(const Use& use) {
  try {
    use();
  } catch (const InvalidState& e) {
    return std::strstr(e.what(), "fork") != nullptr;
  }
  return false;
}

}  // namespace

TEST(Fork, AChildOfAnInitialisedRuntimeIsRefusedEveryUse) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  const Tensor x = ones({3}) + 1;
  Variable v(x);
  Stream stream("GPU:0");
  const int status = status_of_child([&] {
    int bad = 0;
    bad += is_refused_as_forked([&] { (void)(x + 1); }) ? 0 : 1;
    bad += is_refused_as_forked([&] { (void)read<float>(x); }) ? 0 : 1;
    bad += is_refused_as_forked([&] { (void)constant(1.F); }) ? 0 : 1;
    bad += is_refused_as_forked([&] { sync_devices(); }) ? 0 : 1;
    bad += is_refused_as_forked([&] { stream.sync(); }) ? 0 : 1;
    bad += is_refused_as_forked([&] { v.assign_add(1); }) ? 0 : 1;
    bad += is_refused_as_forked([&] { (void)Stream("GPU:0"); }) ? 0 : 1;
    bad += is_refused_as_forked([&] { shutdown(); }) ? 0 : 1;
    return bad;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read<float>(x), std::vector<float>(3, 2)) << "the parent goes on";
}

TEST(Fork, AChildCanLetGoOfWhatItInherited) {
  simulate_gpus(1);
  std::optional<Tensor> x = ones({3}) + 1;
  std::optional<Variable> v(std::in_place, *x);
  std::optional<Stream> stream(std::in_place, "GPU:0");
  int given_back = 0;
  std::vector<float> memory(4);
  std::optional<Tensor> wrapped = wrap_host_memory(memory.data(), DType::f32, {4}, [&] { ++given_back; });
  testing_streams::Gate gate;
  gate.close("GPU:0");
  const Tensor in_flight = *x * 2;
  const int status = status_of_child([&] {
    wrapped.reset();
    v.reset();
    x.reset();
    stream.reset();
    return 0;
  });
  EXPECT_EQ(status, 0);
  gate.open();
  EXPECT_EQ(read<float>(in_flight), std::vector<float>(3, 4));
}

TEST(Fork, AChildForkedBeforeFirstUseHasARuntimeOfItsOwn) {
  simulate_gpus(1);
  EXPECT_EQ(list_physical_devices("GPU").size(), 1U) << "looking is no use yet";
  const auto compute = [] {
    const DeviceScope on("GPU:0");
    return item<float>(sum(ones({10}))) == 10 ? 0 : 1;
  };
  EXPECT_EQ(status_of_child(compute), 0);
  EXPECT_EQ(compute(), 0) << "and so has the parent";
}

TEST(Fork, AChildThatExitsInTheUsualWayDoesNotHang) {
  static constexpr int after_all_handlers = 17;
  static bool is_child = false;
  // Registered before the runtime's own, so it runs after it.
  ASSERT_EQ(std::atexit([] {
              if (is_child) ::_exit(after_all_handlers);
            }),
            0);
  simulate_gpus(1);
  const Tensor x = ones({3}) + 1;
  x.sync();
  const pid_t child = ::fork();
  if (child == 0) {
    is_child = true;
    ::alarm(10);
    std::exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), after_all_handlers);
}

}  // namespace tutti
