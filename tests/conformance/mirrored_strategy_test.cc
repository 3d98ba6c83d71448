// A model mirrored over one and over two devices of each backend: it learns as it would on one, and waits for nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "conformance/backend.h"

namespace tutti::conformance {
namespace {

struct MirroredNet {
  Dense hidden{6, 16};
  Dense out{16, 1};
  Tensor operator()(const Tensor& x) const { return out(tanh(hidden(x))); }
};

// A model, its optimizer and a step over all replicas, with the loss of the whole batch.
class MirroredProgram {
 public:
  explicit MirroredProgram(const std::vector<std::string>& devices) : strategy(devices, {.bucket_bytes = 128}) {
    set_seed(7);
    const MirroredStrategy::Scope in(strategy);
    net = std::make_unique<MirroredNet>();
    optimizer = std::make_unique<Adam>(parameters(*net), 0.05);
  }

  Tensor step(const std::pair<Tensor, Tensor>& batch) const {
    const auto rows = static_cast<double>(batch.first.shape()[0]);
    const auto found = strategy.run(
        [&](const std::pair<Tensor, Tensor>& part) {
          const double share = static_cast<double>(part.first.shape()[0]) / rows;
          return value_and_grad([&](const MirroredNet& model) { return mean(square(model(part.first) - part.second)) * share; })(
              *net);
        },
        strategy.split(batch));
    const auto reduced = strategy.all_reduce(found.map([](const auto& each) { return each.grads; }), Reduction::sum);
    strategy.run([&](const std::vector<Tensor>& mine) { optimizer->update(mine); }, reduced);
    return strategy.reduce(found.map([](const auto& each) { return each.value; }), Reduction::sum);
  }

  // The values of every variable on every replica.
  [[nodiscard]] std::vector<std::vector<float>> weights() const {
    std::vector<std::vector<float>> out;
    for (const auto& [name, variable] : named_variables(*net)) {
      for (const Tensor& each : strategy.run([&v = variable] { return v.value(); })) out.push_back(read<float>(each));
    }
    return out;
  }

  MirroredStrategy strategy;
  std::unique_ptr<const MirroredNet> net;
  std::unique_ptr<Adam> optimizer;
};

std::pair<Tensor, Tensor> some_batch(std::uint64_t key, std::int64_t rows = 7) {
  const Tensor x = uniform({rows, 6}, {.key = key, .low = -1, .high = 1});
  return {x, sum(x, 1, {.keepdims = true})};
}

class Mirrored : public OnBackend {};
INSTANTIATE_TEST_SUITE_P(On, Mirrored, testing::ValuesIn(backends()), name_of);

TEST_P(Mirrored, LearnsOnTwoDevicesAsOnOne) {
  const MirroredProgram one({device(0)});
  const MirroredProgram two({device(0), device(1)});
  std::vector<Tensor> losses;
  for (std::uint64_t i = 0; i < 8; ++i) {
    losses.push_back(one.step(some_batch(i)));
    losses.push_back(two.step(some_batch(i)));
  }
  for (std::size_t i = 0; i < losses.size(); i += 2)
    EXPECT_NEAR(item<float>(losses[i]), item<float>(losses[i + 1]), 1e-5) << "step " << i / 2;
  EXPECT_LT(item<float>(losses.back()), item<float>(losses[1]));
  const auto alone = one.weights();
  const auto mirrored = two.weights();
  ASSERT_EQ(mirrored.size(), alone.size() * 2);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(mirrored[2 * i], mirrored[2 * i + 1]) << "the replicas of variable " << i;
    for (std::size_t k = 0; k < alone[i].size(); ++k) EXPECT_NEAR(mirrored[2 * i][k], alone[i][k], 1e-4);
  }
}

TEST_P(Mirrored, StepsMakeNoDemandSync) {
  const MirroredProgram program({device(0), device(1)});
  const auto batch = some_batch(1);
  const auto before = sync_counts().demand;
  {
    const SyncScope strict(OnSync::error);
    for (int i = 0; i < 3; ++i) (void)program.step(batch);
  }
  EXPECT_EQ(sync_counts().demand, before);
}

TEST_P(Mirrored, AWholeStepIsOneCapture) {
  for (const std::size_t replicas : {1U, 2U}) {
    std::vector<std::string> devices{device(0), device(1)};
    devices.resize(replicas);
    const MirroredProgram eager(devices);
    const MirroredProgram captured(devices);
    int runs = 0;
    const auto step = capture([&](const std::pair<Tensor, Tensor>& batch) {
      ++runs;
      return captured.step(batch);
    });
    for (std::uint64_t i = 0; i < 5; ++i) {
      const Tensor expected = eager.step(some_batch(i));
      EXPECT_EQ(read<float>(step(some_batch(i))), read<float>(expected)) << replicas << " replicas, step " << i;
      EXPECT_EQ(captured.weights(), eager.weights()) << replicas << " replicas, step " << i;
    }
    EXPECT_EQ(runs, 1);
  }
}

// A line of explain(): what is submitted where, and behind what.
struct Submission {
  int number = 0;
  std::string stream;  // and the device
  std::vector<int> after;
};

std::vector<Submission> submissions_of(const std::string& told) {
  std::vector<Submission> out;
  std::istringstream lines(told);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  submission ")) continue;
    Submission& each = out.emplace_back();
    each.number = std::stoi(line.substr(13));
    const std::size_t on = line.find(" on ");
    const std::size_t after = line.find(", after ");
    each.stream = line.substr(on, std::min(after, line.find(", one by one")) - on);
    if (after == std::string::npos) continue;
    std::istringstream numbers(line.substr(after + 8));
    for (int number = 0; numbers >> number; numbers.ignore(2)) each.after.push_back(number);
  }
  return out;
}

TEST_P(Mirrored, InACaptureAReductionBeginsWhileTheBackwardPassGoesOn) {
  const MirroredProgram program({device(0), device(1)});
  const auto step = capture([&](const std::pair<Tensor, Tensor>& batch) { return program.step(batch); });
  (void)step(some_batch(1));
  const std::string told = explain(step);
  const std::vector<Submission> all = submissions_of(told);
  const auto is_of_the_first = [&](const Submission& each) { return each.stream.ends_with("device:" + device(0)); };
  const auto first = std::find_if(all.begin(), all.end(), is_of_the_first);
  ASSERT_NE(first, all.end()) << told;
  const auto reduction = std::find_if(
      all.begin(), all.end(), [&](const Submission& each) { return is_of_the_first(each) && each.stream != first->stream; });
  ASSERT_NE(reduction, all.end()) << told;
  std::vector<int> backward;
  for (auto each = first; each != reduction; ++each)
    if (each->stream == first->stream) backward.push_back(each->number);
  ASSERT_GE(backward.size(), 2U) << told;
  EXPECT_FALSE(reduction->after.empty()) << told;
  EXPECT_EQ(std::count(reduction->after.begin(), reduction->after.end(), backward.back()), 0) << told;
}

// Parts that were split outside are the graph's inputs, each on its device, and results come back as parts.
TEST_P(Mirrored, CapturedFunctionsTakeAndGivePerReplicaValues) {
  const MirroredStrategy strategy({device(0), device(1)});
  const Variable scale = [&] {
    const MirroredStrategy::Scope in(strategy);
    return Variable(constant(2.F));
  }();
  int runs = 0;
  const auto scaled = capture([&](const PerReplica<Tensor>& parts) {
    ++runs;
    return strategy.run(
        [&](const Tensor& x) {
          scale.assign_add(1);
          return x * scale;
        },
        parts);
  });
  for (int i = 1; i <= 3; ++i) {
    const PerReplica<Tensor> out = scaled(strategy.split(constant({1.F * i, 10.F * i})));
    ASSERT_EQ(out.size(), 2U);
    for (unsigned r = 0; r < 2; ++r) {
      EXPECT_EQ(out[r].device(), strategy.devices()[r]);
      EXPECT_EQ(read<float>(out[r]), std::vector<float>{(r == 0 ? 1.F : 10.F) * i * (2 + i)});
    }
  }
  EXPECT_EQ(runs, 1);
}

TEST_P(Mirrored, VariablesOfTheScopeHaveAValueOnEveryDevice) {
  const MirroredStrategy strategy({device(0), device(1)});
  const Variable variable = [&] {
    const MirroredStrategy::Scope in(strategy);
    return Variable(constant({1.F, 2.F}));
  }();
  const auto here = [&] {
    std::vector<std::vector<float>> out;
    for (const Tensor& each : strategy.run([&] { return variable.value(); })) out.push_back(read<float>(each));
    return out;
  };
  const auto places = strategy.run([&] { return variable.value().device() + " " + variable.device(); });
  for (unsigned i = 0; i < 2; ++i) EXPECT_EQ(places[i], strategy.devices()[i] + " " + strategy.devices()[i]);
  EXPECT_EQ(here(), (std::vector<std::vector<float>>{{1, 2}, {1, 2}}));
  variable.assign(constant({3.F, 4.F}));  // of all
  variable.assign_add(constant({1.F, 1.F}));
  EXPECT_EQ(here(), (std::vector<std::vector<float>>{{4, 5}, {4, 5}}));
  strategy.run([&](const Tensor& x) { variable.assign(reshape(x, {2})); }, strategy.split(constant({{1.F, 2.F}, {5.F, 6.F}})));
  EXPECT_EQ(here(), (std::vector<std::vector<float>>{{1, 2}, {5, 6}}));
  EXPECT_EQ(read<float>(variable.value()), (std::vector<float>{1, 2}));
}

TEST_P(Mirrored, ReducesOverReplicas) {
  const MirroredStrategy strategy({device(0), device(1)});
  const auto values = strategy.split(constant({{1.F, 8.F}, {3.F, 2.F}}));
  const auto of = [&](Reduction how) {
    const Tensor out = strategy.reduce(values, how);
    EXPECT_EQ(out.device(), strategy.devices()[0]);
    return read<float>(out);
  };
  EXPECT_EQ(of(Reduction::sum), (std::vector<float>{4, 10}));
  EXPECT_EQ(of(Reduction::mean), (std::vector<float>{2, 5}));
  EXPECT_EQ(of(Reduction::min), (std::vector<float>{1, 2}));
  EXPECT_EQ(of(Reduction::max), (std::vector<float>{3, 8}));
}

// Several dtypes, shapes without elements, buckets that hold one tensor, many, or less than one.
TEST_P(Mirrored, AllReducesListsOfAnyShapes) {
  for (const std::size_t bucket : {std::size_t{1}, std::size_t{300}, std::size_t{1} << 20U}) {
    const MirroredStrategy strategy({device(0), device(1)}, {.bucket_bytes = bucket});
    const auto list_of = [](std::uint64_t replica) {
      std::vector<Tensor> out;
      for (std::uint64_t i = 0; i < 12; ++i) {
        const DType dtype = i % 5 == 3 ? DType::f64 : i % 5 == 4 ? DType::i32 : DType::f32;
        const Shape shape = i == 6 ? Shape{0, 3} : i == 7 ? Shape{} : Shape{static_cast<std::int64_t>(i * 7 % 5 + 1), 3};
        out.push_back(cast(floor(uniform(shape, {.key = replica * 100 + i, .low = 0, .high = 50})), dtype));
      }
      return out;
    };
    std::uint64_t next = 0;
    const auto lists = strategy.run([&] { return list_of(next++); });
    const auto sums = strategy.all_reduce(lists, Reduction::sum);
    for (std::size_t r = 0; r < 2; ++r) {
      ASSERT_EQ(sums[r].size(), lists[0].size());
      for (std::size_t i = 0; i < sums[r].size(); ++i) {
        EXPECT_EQ(sums[r][i].dtype(), lists[r][i].dtype());
        EXPECT_EQ(sums[r][i].shape(), lists[r][i].shape());
        EXPECT_EQ(sums[r][i].device(), strategy.devices()[r]);
        const Tensor expected = list_of(0)[i] + list_of(1)[i];
        EXPECT_EQ(read<double>(cast(sums[r][i], DType::f64)), read<double>(cast(expected, DType::f64))) << "tensor " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tutti::conformance
