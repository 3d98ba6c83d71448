// Random programs on several streams: the detector's verdict on every op against reachability in the graph of the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include "races/touch.h"

namespace tutti {

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t programs = 20;
#else
constexpr std::uint64_t programs = 150;
#endif
constexpr int steps = 80;
constexpr int rows = 8;
constexpr int columns = 8;
constexpr std::size_t tensor_count = 2;
constexpr std::size_t stream_count = 4;

using Elements = std::bitset<tensor_count * rows * columns>;

// What the program says, as a graph: its nodes are ops and waits, its edges everything that orders two of them.
class Oracle {
 public:
  struct Node {
    Elements reads;
    Elements writes;
    TimelinePoint point;
    std::vector<std::size_t> after;
  };

  std::size_t add(std::size_t stream, Node node) {
    if (last_[stream] != none) node.after.push_back(last_[stream]);
    node.after.insert(node.after.end(), synced_.begin(), synced_.end());
    nodes_.push_back(std::move(node));
    return last_[stream] = nodes_.size() - 1;
  }
  void add_wait(std::size_t stream, std::size_t target) {
    Node node;
    if (target != none) node.after.push_back(target);
    add(stream, node);
  }
  void sync(std::size_t target) {
    if (target != none) synced_.push_back(target);
  }
  [[nodiscard]] std::size_t last(std::size_t stream) const { return last_[stream]; }

  // The earlier nodes that an op like this, next on that stream, would race with.
  std::vector<std::size_t> racing(std::size_t stream, const Node& op) {
    std::vector<std::size_t> out;
    std::vector<bool> before(nodes_.size(), false);
    if (last_[stream] != none) mark(last_[stream], before);
    for (const std::size_t each : synced_) mark(each, before);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Node& past = nodes_[i];
      const bool conflict = (past.writes & (op.reads | op.writes)).any() || (past.reads & op.writes).any();
      if (conflict && !before[i]) out.push_back(i);
    }
    return out;
  }
  void set_point(std::size_t node, TimelinePoint point) { nodes_[node].point = point; }
  [[nodiscard]] TimelinePoint point_of(std::size_t node) const { return nodes_[node].point; }

  static constexpr std::size_t none = ~std::size_t{0};

 private:
  void mark(std::size_t node, std::vector<bool>& seen) const {
    if (seen[node]) return;
    seen[node] = true;
    for (const std::size_t each : nodes_[node].after) mark(each, seen);
  }

  std::vector<Node> nodes_;
  std::array<std::size_t, stream_count> last_{none, none, none, none};
  std::vector<std::size_t> synced_;
};

struct RandomUse {
  std::size_t tensor;
  bool is_write;
  int axis;  // 0: rows, 1: columns, 2: rows and columns of them
  std::array<int, 4> range;
};

class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {
    const DeviceScope on("GPU:0");
    for (Tensor& x : tensors_) x = full({rows, columns}, 0.0F, DType::f32);
    for (std::size_t i = 0; i < stream_count; ++i) streams_.emplace_back("GPU:0");
    sync_devices();
  }

  // Number of ops that raced; 0 also when the verdicts differ, which fails the test.
  int run(RaceDetection mode) {
    set_race_detection(mode);
    const ManualOrder by_hand;
    int raced = 0;
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      const std::size_t stream = below(stream_count);
      switch (below(8)) {
        case 0: record(stream); break;
        case 1: wait(stream); break;
        case 2: sync_or_wait_for_all(stream); break;
        default: raced += call(stream, mode) ? 1 : 0;
      }
    }
    sync_devices();
    set_race_detection(RaceDetection::off);
    return raced;
  }

 private:
  struct Recorded {
    Event event;
    std::size_t node;
  };

  std::size_t below(std::size_t bound) { return random_() % bound; }

  void record(std::size_t stream) {
    Recorded made;
    made.event.record(streams_[stream]);
    made.node = oracle_.last(stream);
    recorded_.push_back(made);
  }
  void wait(std::size_t stream) {
    if (recorded_.empty()) return;
    const Recorded& target = recorded_[below(recorded_.size())];
    streams_[stream].wait(target.event);
    oracle_.add_wait(stream, target.node);
  }
  void sync_or_wait_for_all(std::size_t stream) {
    if (below(4) == 0 && !recorded_.empty()) {
      const Recorded& target = recorded_[below(recorded_.size())];
      target.event.sync();
      return oracle_.sync(target.node);
    }
    const std::size_t other = below(stream_count);
    streams_[stream].wait(streams_[other]);
    if (other != stream) oracle_.add_wait(stream, oracle_.last(other));
  }

  RandomUse make_use() {
    RandomUse use{below(tensor_count), below(3) == 0, static_cast<int>(below(3)), {}};
    for (const std::size_t at : {std::size_t{0}, std::size_t{2}}) {
      const int from = static_cast<int>(below(8));
      use.range[at] = from;
      use.range[at + 1] = from + 1 + static_cast<int>(below(static_cast<std::size_t>(8 - from)));
    }
    return use;
  }
  [[nodiscard]] static bool is_used(const RandomUse& use, int row, int column) {
    const bool in_rows = row >= use.range[0] && row < use.range[1];
    const bool in_columns = column >= use.range[2] && column < use.range[3];
    return use.axis == 0 ? in_rows : use.axis == 1 ? in_columns : in_rows && in_columns;
  }
  [[nodiscard]] Tensor view_of(const RandomUse& use) const {
    Tensor x = tensors_[use.tensor];
    if (use.axis != 1) x = slice(x, 0, {use.range[0], use.range[1]});
    if (use.axis != 0) x = slice(x, 1, {use.range[2], use.range[3]});
    return x;
  }

  bool call(std::size_t stream, RaceDetection mode) {
    std::vector<Tensor> inputs;
    std::string letters;
    Oracle::Node op;
    const std::size_t uses = 1 + below(2);
    for (std::size_t i = 0; i < uses; ++i) {
      const RandomUse use = make_use();
      inputs.push_back(view_of(use));
      letters += use.is_write ? 'w' : 'r';
      for (int e = 0; e < rows * columns; ++e) {
        if (is_used(use, e / columns, e % columns))
          (use.is_write ? op.writes : op.reads).set(use.tensor * rows * columns + static_cast<std::size_t>(e));
      }
    }
    const std::vector<std::size_t> expected = oracle_.racing(stream, op);
    clear_races();
    bool refused = false;
    try {
      const StreamScope in(streams_[stream]);
      testing_races::touch(letters, inputs);
    } catch (const RaceDetected&) {
      refused = true;
    }
    EXPECT_EQ(race_figures().found > 0, !expected.empty()) << letters << " on stream " << stream;
    EXPECT_EQ(refused, mode == RaceDetection::error && !expected.empty());
    for (const Race& race : races()) {
      const bool is_real = std::any_of(expected.begin(), expected.end(),
                                       [&](std::size_t node) { return oracle_.point_of(node) == race.earlier.point; });
      EXPECT_TRUE(is_real) << to_string(race);
    }
    if (refused) return true;
    // Reported once, and taken as ordered from then on.
    op.after = expected;
    oracle_.set_point(oracle_.add(stream, op), streams_[stream].base().last());
    return !expected.empty();
  }

  std::mt19937_64 random_;
  Oracle oracle_;
  std::array<Tensor, tensor_count> tensors_;
  std::vector<Stream> streams_;
  std::vector<Recorded> recorded_;
};

void compare_with_the_oracle(RaceDetection mode) {
  simulate_gpus(1);
  set_log_sink([](LogLevel, std::string_view) {});
  const char* given = std::getenv("TUTTI_TEST_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  std::cout << "seeds " << first << " to " << first + programs - 1 << " (TUTTI_TEST_SEED=" << first << " repeats them)\n";
  int raced = 0;
  for (std::uint64_t seed = first; seed < first + programs && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    raced += RandomProgram(seed).run(mode);
  }
  std::cout << raced << " ops of " << programs << " programs raced\n";
  EXPECT_GT(raced, 0);
  EXPECT_EQ(race_figures().forgotten, 0U);
  set_log_sink({});
}

}  // namespace

TEST(RaceDetector, AgreesWithReachabilityOnRandomProgramsThatGoOn) { compare_with_the_oracle(RaceDetection::report); }
TEST(RaceDetector, AgreesWithReachabilityOnRandomProgramsThatAreStopped) { compare_with_the_oracle(RaceDetection::error); }

}  // namespace tutti
