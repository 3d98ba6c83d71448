// Ops run in the order the program wrote them, as far as values can tell: within a stream, between streams and devices.
#include <deque>
#include <random>
#include <thread>

#include "conformance/backend.h"

namespace tutti::conformance {

class Order : public OnBackend {
 protected:
  // A stream of its own for ops on that device, while the test runs.
  Stream& stream_on(const std::string& name) { return streams_.emplace_back(name); }

 private:
  std::deque<Stream> streams_;
};
TUTTI_ON_EVERY_BACKEND(Order);

TEST_P(Order, OpsReturnBeforeTheyRan) {
  if (GetParam().is_synchronous) GTEST_SKIP() << "ops whose inputs are ready run in the caller here";
  // A busy machine may be slow to come back to this thread, so one look proves nothing: hundreds would all have to be late.
  int early = 0;
  for (int attempt = 0; attempt < 20 && early == 0; ++attempt) {
    Tensor x = ones({256, 256});
    for (int i = 0; i < 20; ++i) {
      x = matmul(x, ones({256, 256})) * (1.0 / 256);
      if (!x.is_ready()) ++early;
    }
    EXPECT_EQ(item<float>(sum(x)), 256.F * 256.F);
  }
  EXPECT_GT(early, 0) << "every op had run when it returned";
}

TEST_P(Order, SynchronousOpsHaveRunWhenTheyReturn) {
  if (!GetParam().is_synchronous) GTEST_SKIP() << "ops are enqueued here";
  const Tensor x = ones({64, 64}) + 1;
  EXPECT_TRUE(x.is_ready());
  EXPECT_TRUE(matmul(x, x).is_ready());
}

TEST_P(Order, AStreamRunsItsWorkInOrder) {
  Tensor x = zeros({100}, DType::i64);
  std::uint64_t expected = 0;
  for (std::uint64_t i = 1; i <= 600; ++i) {
    x = x * 3 + static_cast<std::int64_t>(i);
    expected = expected * 3 + i;
  }
  EXPECT_EQ(read<std::int64_t>(x), std::vector<std::int64_t>(100, static_cast<std::int64_t>(expected)));
}

TEST_P(Order, AValueMadeOnOneStreamIsRightOnAnother) {
  Stream& first = stream_on(device(0));
  Stream& second = stream_on(device(0));
  for (int round = 0; round < 50; ++round) {
    Tensor made;
    {
      const StreamScope on(first);
      made = full({2000}, round, DType::i32);
      for (int i = 0; i < 5; ++i) made = made + 1;
    }
    const StreamScope on(second);
    EXPECT_EQ(item<std::int64_t>(sum(made * 2)), 2000 * 2 * (round + 5));
  }
}

TEST_P(Order, AValueMadeOnOneDeviceIsRightOnAnother) {
  for (int round = 0; round < 20; ++round) {
    for (const std::string& from : all_devices()) {
      for (const std::string& to : all_devices()) {
        Tensor made;
        {
          const DeviceScope on(from);
          made = full({500}, round, DType::i32) + 1;
        }
        const DeviceScope on(to);
        const Tensor used = made + made;
        EXPECT_EQ(used.device().substr(used.device().size() - to.size()), to);
        EXPECT_EQ(item<std::int64_t>(sum(used)), 500 * 2 * (round + 1)) << from << " to " << to;
      }
    }
  }
}

TEST_P(Order, AChainOverManyStreamsAndDevicesKeepsItsOrder) {
  std::vector<Stream> streams;
  for (int i = 0; i < 8; ++i) {
    for (const std::string& name : all_devices()) streams.emplace_back(name);
  }
  Tensor x = zeros({64}, DType::i64);
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Stream& on = streams[i * 7 % streams.size()];
    const DeviceScope scope(on.device());
    const StreamScope stream(on);
    x = x * 5 + static_cast<std::int64_t>(i);
    expected = expected * 5 + i;
  }
  EXPECT_EQ(read<std::int64_t>(x), std::vector<std::int64_t>(64, static_cast<std::int64_t>(expected)));
}

TEST_P(Order, ManyReadersOnOtherStreamsSeeTheValueBeforeItsMemoryIsReused) {
  Stream& maker = stream_on(device(0));
  std::vector<Stream> readers;
  for (int i = 0; i < 6; ++i) readers.emplace_back(device(0));
  for (int round = 0; round < 30; ++round) {
    std::vector<Tensor> sums;
    Tensor x;
    {
      const StreamScope on(maker);
      x = full({10'000}, round, DType::i32);
    }
    for (Stream& reader : readers) {
      const StreamScope on(reader);
      sums.push_back(sum(x * 2));
    }
    {
      const StreamScope on(maker);
      x = {};  // its memory is free for the next op of this stream, which must wait for the readers
      const Tensor other = full({10'000}, -1, DType::i32);
      sums.push_back(sum(other));
    }
    for (std::size_t i = 0; i + 1 < sums.size(); ++i) EXPECT_EQ(item<std::int64_t>(sums[i]), 20'000 * round);
    EXPECT_EQ(item<std::int64_t>(sums.back()), -10'000);
  }
}

namespace {

// One value of a random program, and what it must be.
struct Node {
  Tensor tensor;
  std::uint64_t value;  // of every element, modulo 2^64
};

void check(const Node& node) {
  const std::vector<std::int64_t> got = read<std::int64_t>(node.tensor);
  EXPECT_EQ(got, std::vector<std::int64_t>(got.size(), static_cast<std::int64_t>(node.value)));
}

// A random graph of additions and products of integers, spread over four streams of every device.
void run_random_program(std::uint64_t seed, const std::vector<std::string>& devices, int steps, std::int64_t most_elements) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<Stream> streams;
  for (const std::string& name : devices) {
    for (int i = 0; i < 4; ++i) streams.emplace_back(name);
  }
  const std::int64_t elements = 1 + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most_elements)));
  std::vector<Node> nodes;
  for (int step = 0; step < steps; ++step) {
    const Stream& stream = streams[below(streams.size())];
    const DeviceScope on(stream.device());
    const StreamScope in(stream);
    if (nodes.size() < 2 || below(10) == 0) {
      const std::uint64_t value = below(9);
      nodes.push_back({full({elements}, static_cast<std::int64_t>(value), DType::i64), value});
      continue;
    }
    Node& a = nodes[below(nodes.size())];
    Node& b = nodes[below(nodes.size())];
    switch (below(6)) {
      case 0: nodes.push_back({a.tensor * b.tensor, a.value * b.value}); break;
      case 1: nodes.push_back({a.tensor * 3 + 1, a.value * 3 + 1}); break;
      case 2: {  // given away: may be updated in place
        const std::uint64_t value = a.value + b.value;
        a.tensor = &a == &b ? add(a.tensor, b.tensor) : add(std::move(a.tensor), b.tensor);
        a.value = value;
        break;
      }
      case 3: {
        const Tensor sliced = slice(a.tensor, 0, {.start = {}, .stop = {}, .step = -1});
        nodes.push_back({sliced + b.tensor, a.value + b.value});
        break;
      }
      case 4: check(a); break;
      default: nodes.push_back({a.tensor + b.tensor, a.value + b.value});
    }
    while (nodes.size() > 8) nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(below(nodes.size())));
  }
  for (const Node& node : nodes) check(node);
}

}  // namespace

TEST_P(Order, RandomProgramsOverStreamsAndDevicesComputeWhatTheHostDoes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    run_random_program(seed * 1000 + GetParam().seed, all_devices(), 150, 300);
    if (HasFailure()) break;
  }
}

TEST_P(Order, RandomProgramsShortOfMemoryComputeWhatTheHostDoes) {
  for (const std::string& name : all_devices()) set_memory_limit(name, MiB(6));
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    run_random_program(seed * 2000 + GetParam().seed, all_devices(), 120, 30'000);
    if (HasFailure()) break;
  }
}

TEST_P(Order, ThreadsThatShareTensorsSeeRightValues) {
  const Tensor shared = full({1000}, 7, DType::i64) + 1;
  std::vector<std::jthread> threads;
  std::vector<std::int64_t> results(4);
  for (std::size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      enter_thread();
      const DeviceScope on(device(static_cast<unsigned>(t % 2)));
      Tensor x = shared;
      for (int i = 0; i < 50; ++i) x = x + shared * static_cast<std::int64_t>(t);
      results[t] = item<std::int64_t>(sum(x));
    });
  }
  threads.clear();
  for (std::size_t t = 0; t < results.size(); ++t) EXPECT_EQ(results[t], 1000 * (8 + 50 * 8 * static_cast<std::int64_t>(t)));
}

}  // namespace tutti::conformance
