// Random programs of every kind of call, over several devices and streams, are recorded and run again on fresh inputs.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "conformance/backend.h"
#include "conformance/recorder.h"

namespace tutti::conformance {
namespace {

constexpr std::int64_t side = 6;
constexpr int steps = 40;

// The same program for the same seed, whatever the inputs hold. Tensors are square, so that any op takes any of them.
class Program {
 public:
  // `meeting`: two devices for collectives and sharded tensors.
  Program(std::uint64_t seed, std::vector<std::string> devices, const std::vector<std::string>& meeting)
      : seed_(seed),
        devices_(std::move(devices)),
        mesh_(create_mesh({{"x", static_cast<std::int64_t>(meeting.size())}}, meeting)),
        variable_(zeros({side, side})) {
    for (const std::string& each : devices_) streams_.emplace_back(each);
  }

  [[nodiscard]] std::vector<Tensor> run(const std::vector<Tensor>& inputs) {
    std::mt19937_64 random(seed_);
    pool_ = inputs;
    variable_.assign(inputs[0]);
    std::vector<Event> events;
    for (int i = 0; i < steps; ++i) {
      const std::size_t at = random() % devices_.size();
      const std::optional<DeviceScope> device(std::in_place, devices_[at]);
      std::optional<StreamScope> stream;
      if (random() % 2 == 0) stream.emplace(streams_[at]);
      step(random, events, at);
    }
    return pool_;
  }

 private:
  const Tensor& any(std::mt19937_64& random) const { return pool_[random() % pool_.size()]; }

  void step(std::mt19937_64& random, std::vector<Event>& events, std::size_t at) {
    const Tensor a = any(random);
    const Tensor b = any(random);
    const auto what = random() % 25;
    const auto number = static_cast<std::int64_t>(random() % side);
    switch (what) {
      case 0: return pool_.push_back(a + b);
      case 1: return pool_.push_back(maximum(a, b) * 0.5);
      case 2: return pool_.push_back(tanh(matmul(a, b)));
      case 3: return pool_.push_back(transpose(a));
      case 4: return pool_.push_back(broadcast_to(slice(a, 0, {number, number + 1}), {side, side}));
      case 5: return pool_.push_back(reshape(transpose(a), {side, side}));
      case 6: return pool_.push_back(flip(a, static_cast<std::int64_t>(random() % 2)));
      case 7: return pool_.push_back(copy_to(a, devices_[random() % devices_.size()]));
      case 8: return pool_.push_back(full({side, side}, static_cast<double>(number)));
      case 9: return pool_.push_back(constant(std::vector<float>(side * side, static_cast<float>(number)), {side, side}));
      case 10: return pool_.push_back(uniform({side, side}) + a);
      case 11: return pool_.push_back(dropout(a, 0.5));
      case 12: return variable_.assign(a);
      case 13: return variable_.assign_add(a);
      case 14: return pool_.push_back(variable_ * 1);
      case 15: return pool_.push_back(softmax(a, static_cast<std::int64_t>(random() % 2)));
      case 16: return pool_.push_back(index(concat({a, b}), {Range{number, number + side}}));
      case 17: return pool_.push_back(sort(a, static_cast<std::int64_t>(random() % 2)));
      case 18: {  // halves what is too large, as often as that takes
        const auto is_large = [](const std::vector<Tensor>& state) { return greater(max(abs(state[0])), 1); };
        const auto halve = [](const std::vector<Tensor>& state) { return std::vector{state[0] * 0.5}; };
        return pool_.push_back(while_loop(is_large, halve, {a}, {.most_iterations = 5}).state[0]);
      }
      case 19: events.emplace_back().record(streams_[at]); return;
      case 20: return push_back(all_reduce({a, b}, mesh_, "x", Reduction::mean));
      case 21: return push_back(all_to_all({a, b}, mesh_, "x", 1, 1));
      case 22: return pool_.push_back(to_tensor(max(shard(a, by_rows()), 1, {.keepdims = true}) * shard(b, by_rows())));
      case 23: return pool_.push_back(to_tensor(relayout(uniform({side, side}, by_rows()), Layout::replicated(mesh_, 2))));
      default: break;
    }
    if (!events.empty()) streams_[at].wait(events[random() % events.size()]);
    streams_[at].wait(streams_[random() % streams_.size()]);
  }

  [[nodiscard]] Layout by_rows() const { return Layout::batch_sharded(mesh_, "x", 2); }
  void push_back(const std::vector<Tensor>& made) { pool_.insert(pool_.end(), made.begin(), made.end()); }

  std::uint64_t seed_;
  std::vector<std::string> devices_;
  Mesh mesh_;
  std::vector<Stream> streams_;
  Variable variable_;
  std::vector<Tensor> pool_;
};

std::vector<Tensor> inputs_of(std::uint64_t key) {
  return {uniform({side, side}, {.key = key}), uniform({side, side}, {.key = key + 1})};
}

class RecordedPrograms : public OnBackend {};

TEST_P(RecordedPrograms, GiveThePlainRunsValues) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program program(seed, all_devices(), {device(0), device(1)});
    const std::vector<Tensor> recorded_with = inputs_of(seed * 10);
    const std::vector<Tensor> fresh = inputs_of(seed * 10 + 5);
    Recorder recorder;
    for (const Tensor& input : recorded_with) recorder.add_input(input);
    std::vector<Tensor> recorded;
    {
      const ExecutorScope scope(recorder);
      recorded = program.run(recorded_with);
    }
    set_seed(seed);
    const std::vector<Tensor> plain = program.run(fresh);
    set_seed(seed);
    const std::vector<Tensor> values = recorder.replay(fresh);
    ASSERT_EQ(plain.size(), recorded.size());
    for (std::size_t i = 0; i < plain.size(); ++i)
      ASSERT_TRUE(are_same(plain[i], values[recorder.slot_of(recorded[i])])) << "tensor " << i << " of\n" << recorder.text();
  }
}

TUTTI_ON_EVERY_BACKEND(RecordedPrograms);

}  // namespace
}  // namespace tutti::conformance
