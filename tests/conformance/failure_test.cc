// A failing op spoils what depends on it, with its origin, and nothing else.
#include <functional>
#include <stdexcept>

#include "conformance/backend.h"
#include "streams/gate.h"

namespace tutti::conformance {

namespace {

void infer_same(Inference& in) { in.output(in.dtype(0), in.shape(0)); }

void throw_what_the_value_says(const KernelCall& call, KernelContext&) {
  switch (*call.in(0).as<std::int32_t>()) {
    case 1: throw std::runtime_error("the kernel gave up");
    case 2: throw 42;
    case 3: throw InvalidArgument("the kernel did not like it", call.site);
    default: *call.out().as<std::int32_t>() = 0;
  }
}

const OpRow& throws = register_op({.name = "TestThrows", .infer = infer_same},
                                  {.cpu = throw_what_the_value_says, .sim = throw_what_the_value_says});

// An index out of range: fails on the device, in its own time.
Tensor spoiled(Site site = {}) { return take(constant({1.F, 2.F}), constant({std::int64_t{5}}), 0, site); }

template <class Body>
std::string failure_of(const Body& body) {
  try {
    body();
  } catch (const AsyncError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace

class Failures : public OnBackend {
 protected:
  // A spoiled value that no test looks at ends with an error at the next sync, which is not what these tests are about.
  void TearDown() override { clear_errors(); }
};
TUTTI_ON_EVERY_BACKEND(Failures);

TEST_P(Failures, ThatAreIndependentAreAllReportedByOneSync) {
  const Site first;
  const Site second;
  const Tensor x = spoiled(first);
  Tensor y;
  {
    const Stream other(device(0));
    const StreamScope use(other);
    y = spoiled(second);
    const std::string text = failure_of([] { sync_devices(); });
    EXPECT_NE(text.find("1 more failure"), std::string::npos) << text;
    EXPECT_NE(text.find(first.to_string()), std::string::npos) << text;
    EXPECT_NE(text.find(second.to_string()), std::string::npos) << text;
  }
  sync_devices();
  EXPECT_EQ(item<float>(ones({}) + 1), 2) << "the rest works on";
}

TEST_P(Failures, ReadingASpoiledValueThrowsWithOpDeviceAndLine) {
  const Site here;
  const Tensor x = spoiled(here);
  try {
    (void)read<float>(x);
    FAIL() << "it was read";
  } catch (const KernelFailed& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("5"), std::string::npos) << text;
    EXPECT_NE(text.find("op take on"), std::string::npos) << text;
    EXPECT_NE(text.find(x.device()), std::string::npos) << text;
    EXPECT_EQ(e.site(), here) << text;
  }
  EXPECT_THROW((void)item<float>(x), KernelFailed) << "it stays spoiled";
  EXPECT_THROW(x.sync(), KernelFailed);
  EXPECT_THROW((void)to_string(x), KernelFailed);
  EXPECT_THROW((void)read_async<float>(x).get(), KernelFailed);
}

TEST_P(Failures, DependentsFailWithTheSameOrigin) {
  const Site here;
  const Tensor x = spoiled(here);
  const Tensor dependent = exp(x * 2 + 1);
  const Tensor on_view = sum(broadcast_to(dependent, {3, 1}));
  for (const Tensor& each : {x, dependent, on_view}) {
    try {
      (void)item<float>(each);
      ADD_FAILURE() << "it was read";
    } catch (const AsyncError& e) {
      EXPECT_EQ(e.site(), here);
      EXPECT_NE(std::string(e.what()).find("op take on"), std::string::npos) << e.what();
    }
  }
}

TEST_P(Failures, TravelOverStreamsAndDevices) {
  const Site here;
  Tensor x = spoiled(here);
  for (const std::string& name : all_devices()) {
    Stream stream(name);
    const DeviceScope on(name);
    const StreamScope in(stream);
    x = x + 1;
  }
  const Tensor copy = copy_to(x, device(1));
  EXPECT_NE(failure_of([&] { (void)item<float>(copy); }).find("op take on"), std::string::npos);
}

TEST_P(Failures, IndependentWorkGoesOn) {
  const Tensor good = full({100}, 3, DType::i32);
  const Tensor bad = spoiled();
  const Tensor after = good * 2;  // the same stream, later
  const Tensor mixed = cast(after, DType::f32) + bad;
  EXPECT_EQ(item<std::int64_t>(sum(after)), 600);
  EXPECT_THROW((void)read<float>(mixed), AsyncError);
  EXPECT_EQ(item<std::int64_t>(sum(after + good)), 900);
}

TEST_P(Failures, MemoryOfASpoiledValueIsCleanForTheNextOwner) {
  for (int i = 0; i < 20; ++i) {
    Tensor bad = spoiled();
    bad = bad + 1;
    bad = {};
    EXPECT_EQ(item<float>(constant(7.F) + 1), 8);
  }
}

TEST_P(Failures, WhateverAKernelThrowsBecomesAReason) {
  const Site here;
  const auto reason = [&](std::int32_t kind) {
    return failure_of([&] { (void)item<std::int32_t>(call_op(throws, std::vector{constant(kind)}, {}, here).at(0)); });
  };
  EXPECT_NE(reason(1).find("the kernel gave up"), std::string::npos) << reason(1);
  EXPECT_NE(reason(2).find("not a std::exception"), std::string::npos) << reason(2);
  EXPECT_NE(reason(3).find("the kernel did not like it"), std::string::npos) << reason(3);
  EXPECT_NE(reason(1).find("TestThrows"), std::string::npos) << reason(1);
  EXPECT_NE(reason(1).find(here.to_string()), std::string::npos) << reason(1);
  EXPECT_EQ(item<std::int32_t>(call_op(throws, std::vector{constant(std::int32_t{0})}).at(0)), 0);
}

TEST_P(Failures, ASyncReportsTheFirstFailureOnce) {
  const Site first;
  const Tensor x = spoiled(first);
  const Tensor y = spoiled();
  try {
    sync_devices();
    ADD_FAILURE() << "nothing was reported";
  } catch (const KernelFailed& e) {
    EXPECT_EQ(e.site(), first);
  }
  EXPECT_NO_THROW(sync_devices());
  EXPECT_THROW((void)item<float>(y), KernelFailed) << "the value stays spoiled all the same";
}

TEST_P(Failures, ThatAReadHasThrownAreThrownByNoSyncAfterIt) {
  Stream stream(device(0));
  const StreamScope in(stream);
  const Tensor x = spoiled();
  Event event;
  event.record(stream);
  EXPECT_THROW((void)item<float>(x), KernelFailed);
  EXPECT_NO_THROW(event.sync());
  EXPECT_NO_THROW(stream.sync());
  EXPECT_NO_THROW(synchronize(device(0)));
  EXPECT_NO_THROW(barrier(create_mesh({{"x", 2}}, {device(0), device(1)})));
  EXPECT_NO_THROW(sync_devices());
  EXPECT_THROW((void)item<float>(x), KernelFailed) << "there is still no value to read";
}

TEST_P(Failures, ThatATensorsSyncHasThrownAreThrownByNoOtherSync) {
  const Tensor x = spoiled();
  const Tensor dependent = x + 1;
  EXPECT_THROW(dependent.sync(), KernelFailed) << "also where it arose elsewhere";
  EXPECT_NO_THROW(sync_devices());
}

TEST_P(Failures, ThatNoReadHasThrownAreThrownByTheFirstSyncOfAnyKindAndNoOther) {
  const Mesh mesh = create_mesh({{"x", 2}}, {device(0), device(1)});
  Stream stream(device(0));
  const StreamScope in(stream);
  Event event;
  const std::vector<std::function<void()>> syncs{[&] { event.sync(); }, [&] { stream.sync(); }, [&] { synchronize(device(0)); },
                                                 [] { sync_devices(); }, [&] { barrier(mesh); }};
  for (std::size_t first = 0; first < syncs.size(); ++first) {
    SCOPED_TRACE(first);
    const Site here;
    const Tensor x = spoiled(here);
    event.record(stream);
    try {
      syncs[first]();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const KernelFailed& e) {
      EXPECT_EQ(e.site(), here);
    }
    for (const auto& sync : syncs) EXPECT_NO_THROW(sync());
  }
}

TEST_P(Failures, OfWorkAfterAnEventAreNotTheEvents) {
  set_synchronous_execution(false);
  Stream stream(device(0));
  const StreamScope in(stream);
  const Tensor before = ones({2});
  Event event;
  event.record(stream);
  const Tensor x = spoiled();
  EXPECT_NO_THROW(event.sync());
  EXPECT_THROW(stream.sync(), KernelFailed);
}

TEST_P(Failures, OfAStreamThatIsGoneAreThrownByItsEventAndNotByItsNextOwner) {
  Event event;
  {
    Stream stream(device(0));
    const StreamScope in(stream);
    (void)spoiled();
    event.record(stream);
  }
  while (!event.is_done()) ones({}).sync();  // the stepped scheduler runs work when the host waits for some
  Stream next(device(0));
  EXPECT_NO_THROW(next.sync());
  EXPECT_THROW(event.sync(), KernelFailed);
  EXPECT_NO_THROW(sync_devices());
}

TEST_P(Failures, ThatWereToldMakeRoomForThoseThatWereNot) {
  for (int i = 0; i < 200; ++i) EXPECT_THROW((void)item<float>(spoiled()), KernelFailed);
  const Tensor x = spoiled();
  EXPECT_THROW(sync_devices(), KernelFailed);
}

TEST_P(Failures, AreForgottenOnRequestButValuesStaySpoiled) {
  const Tensor x = spoiled();
  (ones({}) + 1).sync();  // on the same stream, after it
  clear_errors();
  EXPECT_NO_THROW(synchronize(device(0)));
  EXPECT_THROW((void)item<float>(x), KernelFailed);
}

TEST_P(Failures, ASpoiledVariableRecoversWhenItIsOverwritten) {
  Variable v(zeros({1}));
  v.assign_add(spoiled());
  EXPECT_THROW((void)read<float>(v.value()), AsyncError);
  v.assign_add(1);
  EXPECT_THROW((void)read<float>(v.value()), AsyncError) << "still depends on the spoiled value";
  v.assign(constant({4.F}));
  EXPECT_EQ(item<float>(v.value()), 4);
  v.assign_add(1);
  EXPECT_EQ(item<float>(v.value()), 5);
}

TEST_P(Failures, TryReadThrowsThemToo) {
  const Tensor x = spoiled();
  const auto outcome = failure_of([&] {
    while (!try_read<float>(x)) {
      try {
        sync_devices();  // the stepped scheduler runs nothing before the host waits
      } catch (const AsyncError&) {}
    }
  });
  EXPECT_NE(outcome.find("op take on"), std::string::npos) << outcome;
}

TEST_P(Failures, CancelledWorkResolvesAndSaysSo) {
  set_synchronous_execution(false);
  // Nothing of the stream starts before the test lets it.
  Stream stream(device(0));
  testing_streams::Gate gate;
  if (GetParam().backend == "sim") {
    inject_fault({.kind = FaultKind::stall});
  } else {
    const Stream held("CPU:0", {.may_block = true});  // on a thread of its own
    const StreamScope in(held);
    gate.close("CPU:0");
    stream.wait(held);
  }
  std::vector<Tensor> values;
  {
    const StreamScope in(stream);
    Tensor x = ones({8, 8});
    for (int i = 0; i < 30; ++i) values.push_back(x = matmul(x, x) * 0.0);
  }
  const Tensor dependent = sum(values.back());
  stream.cancel();
  clear_faults();
  gate.open();
  for (const Tensor& value : values) {
    try {
      (void)read<float>(value);
      ADD_FAILURE() << "it ran";
    } catch (const Cancelled& e) {
      EXPECT_NE(std::string(e.what()).find("cancelled"), std::string::npos) << e.what();
    }
  }
  EXPECT_THROW((void)item<float>(dependent), Cancelled);
  EXPECT_TRUE(stream.is_idle());
  const StreamScope in(stream);
  EXPECT_EQ(item<float>(sum(ones({10}))), 10) << "the stream goes on";
}

TEST_P(Failures, InARandomProgramSpoilExactlyWhatDependsOnThem) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL;
    const auto below = [&](std::uint64_t n) {
      return (state = state * 6364136223846793005ULL + 1442695040888963407ULL, (state >> 33U) % n);
    };
    struct Node {
      Tensor tensor;
      bool is_spoiled;
      float value;
    };
    std::vector<Node> nodes{{constant({1.F}), false, 1}, {spoiled(), true, 0}};
    std::vector<Stream> streams;
    for (const std::string& name : all_devices()) {
      for (int i = 0; i < 2; ++i) streams.emplace_back(name);
    }
    for (int step = 0; step < 60; ++step) {
      const Stream& stream = streams[below(streams.size())];
      const DeviceScope on(stream.device());
      const StreamScope in(stream);
      const Node& a = nodes[below(nodes.size())];
      const Node& b = nodes[below(nodes.size())];
      if (below(6) == 0) {
        nodes.push_back({full({1}, step, DType::f32), false, static_cast<float>(step)});
      } else {
        nodes.push_back({add(a.tensor, b.tensor) * 0.5, a.is_spoiled || b.is_spoiled, (a.value + b.value) * 0.5F});
      }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].is_spoiled) {
        EXPECT_THROW((void)item<float>(nodes[i].tensor), KernelFailed) << i;
      } else {
        EXPECT_EQ(item<float>(nodes[i].tensor), nodes[i].value) << i;
      }
    }
  }
}

}  // namespace tutti::conformance
