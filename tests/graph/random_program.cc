#include "graph/random_program.h"

#include <optional>
#include <utility>

#include "conformance/random_call_lists.h"
#include "conformance/random_calls.h"

namespace tutti::conformance {

namespace {

// All that a graph may hold: no collectives, and no shapes that depend on values.
const std::vector<RandomCall>& calls() {
  static const std::vector<RandomCall> all = [] {
    std::vector<RandomCall> out;
    for (auto* list : {elementwise_calls, reduction_calls, neural_calls, matrix_calls, movement_calls}) {
      for (RandomCall& each : list()) out.push_back(std::move(each));
    }
    return out;
  }();
  return all;
}

Tensor unary(std::uint64_t which, const Tensor& x) {
  switch (which % 10) {
    case 0: return tanh(x);
    case 1: return gelu(x);
    case 2: return relu(x);
    case 3: return sigmoid(x);
    case 4: return abs(x);
    case 5: return square(tanh(x));
    case 6: return exp(minimum(x, 1));
    case 7: return cast(cast(x, DType::f16), DType::f32);
    case 8: return where(less(x, 0.25), x, x * 0.5);
    default: return negative(x);
  }
}

Tensor binary(std::uint64_t which, const Tensor& a, const Tensor& b) {
  switch (which % 6) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * tanh(b);
    case 3: return maximum(a, b);
    case 4: return a / (abs(b) + 1);
    default: return minimum(a, b);
  }
}

}  // namespace

Program::Program(std::uint64_t seed, std::vector<std::string> devices, const ProgramOptions& options)
    : seed_(seed), devices_(std::move(devices)), options_(options) {
  const Shape square{options.side, options.side};
  for (const std::string& each : devices_) streams_.emplace_back(each);
  for (std::uint64_t i = 0; i < 2; ++i) variables_.emplace_back(uniform(square, {.key = seed + i}));
  sgd_ = std::make_unique<Sgd>(variables_, 0.1, SgdOptions{.momentum = seed % 2 == 0 ? 0.5 : 0});
  adam_ = std::make_unique<Adam>(std::vector{variables_[1]}, 0.05);
}

void Program::begin_again() {
  auto all = named_variables(*sgd_);
  for (auto& each : named_variables(*adam_)) all.push_back(std::move(each));
  for (const auto& [name, each] : all) each.assign(zeros(each.shape(), each.dtype()));
  for (std::uint64_t i = 0; i < 2; ++i) variables_[i].assign(uniform(variables_[i].shape(), {.key = seed_ + i}));
}

std::vector<Tensor> Program::variables() const {
  std::vector<Tensor> out;
  for (const Variable& each : variables_) out.push_back(each.value());
  return out;
}

std::vector<Tensor> Program::inputs(std::uint64_t key, std::uint64_t layout) const {
  const std::int64_t side = options_.side;
  const Tensor plain = uniform({side, side}, {.key = key});
  const Tensor whole = uniform({side + 3, side}, {.key = key + 1});
  const std::string& elsewhere = devices_[layout % devices_.size()];
  std::vector<Tensor> out{uniform({}, {.key = key + 2, .high = 0.05, .dtype = DType::f64})};
  switch (layout % 4) {
    case 0: out.insert(out.end(), {plain, transpose(slice(whole, 0, {0, side}))}); break;
    case 1: out.insert(out.end(), {copy_to(plain, elsewhere), slice(whole, 0, {2, side + 2})}); break;
    case 2: out.insert(out.end(), {flip(plain, 0), broadcast_to(slice(whole, 0, {1, 2}), {side, side})}); break;
    default: out.insert(out.end(), {plain, plain, copy_to(transpose(plain), elsewhere)}); break;
  }
  return out;
}

std::vector<Tensor> Program::run(const std::vector<Tensor>& inputs) {
  Random random(seed_);
  little_ = inputs[0];
  pool_.assign(inputs.begin() + 1, inputs.end());
  const std::size_t given = pool_.size();
  const std::uint64_t steps = 10 + random() % (options_.most_steps - 9);
  for (std::uint64_t i = 0; i < steps; ++i) {
    const std::size_t at = random() % devices_.size();
    const std::optional<DeviceScope> device(std::in_place, devices_[at]);
    std::optional<StreamScope> stream;
    if (random() % 2 == 0) stream.emplace(streams_[at]);
    step(random, at);
  }
  std::vector<Tensor> results = std::exchange(others_, {});
  for (std::size_t i = given; i < pool_.size(); ++i) {
    if (random() % 3 == 0 || i + 1 == pool_.size()) results.push_back(pool_[i]);
  }
  pool_.clear();
  events_.clear();
  little_ = {};
  return results;
}

void Program::step(Random& random, std::size_t at) {
  const std::int64_t side = options_.side;
  const Tensor a = any(random);
  const Tensor b = any(random);
  const auto what = random() % 33;
  const auto number = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(side));
  const Variable& variable = variables_[random() % variables_.size()];
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
    case 9:
      return pool_.push_back(
          constant(std::vector<float>(static_cast<std::size_t>(side * side), static_cast<float>(number)), {side, side}));
    case 10: return pool_.push_back(uniform({side, side}) + a);
    case 11: return pool_.push_back(dropout(a, 0.5));
    case 12: return variable.assign(tanh(a));
    case 13: return variable.assign_add(tanh(a));
    case 14: return pool_.push_back(variable * 1);
    case 15: return pool_.push_back(softmax(a, static_cast<std::int64_t>(random() % 2)));
    case 16: return pool_.push_back(index(concat({a, b}), {Range{number, number + side}}));
    case 17: return pool_.push_back(sort(a, static_cast<std::int64_t>(random() % 2)));
    case 18: {
      const auto is_large = [](const std::vector<Tensor>& state) { return greater(max(abs(state[0])), 1); };
      const auto halve = [](const std::vector<Tensor>& state) { return std::vector{state[0] * 0.5}; };
      return pool_.push_back(while_loop(is_large, halve, {a}, {.most_iterations = 5}).state[0]);
    }
    case 19: events_.emplace_back().record(streams_[at]); return;
    case 20: return pool_.push_back(variable.value());
    case 21: return variable.assign(variable * 0.5 + tanh(a));
    case 22: return pool_.push_back(grad([&](const Tensor& x) { return sum(tanh(matmul(x, b)) * variable); })(a));
    case 23: return train(random);
    case 24:
    case 25:
    case 26: return chain(random);
    case 27:
      return pool_.push_back(cond(
          greater(sum(a), sum(b)), [&] { return tanh(a); }, [&] { return b * 0.5; }));
    case 28: return pool_.push_back(broadcast_to(sum(a, {1}, {.keepdims = true}) * 0.125, {side, side}) + b);
    case 29:
    case 30:
    case 31: return call_any_function(random);
    default: break;
  }
  if (!events_.empty()) streams_[at].wait(events_[random() % events_.size()]);
  streams_[at].wait(streams_[random() % streams_.size()]);
}

// Element-wise ops in a row, a part of which is given back or seen by others.
void Program::chain(Random& random) {
  Tensor x = any(random);
  for (auto left = 2 + random() % 6; left > 0; --left) {
    const auto how = random() % 6;
    const auto which = random();
    if (how < 2) {
      x = unary(which, x);
    } else if (how == 2) {
      x = binary(which, x, any(random));
    } else if (how == 3) {  // a row, a column or one element for all
      const Tensor y = any(random);
      const Tensor some = which % 3 == 0 ? slice(y, 0, {0, 1}) : which % 3 == 1 ? slice(y, 1, {1, 2}) : mean(y);
      x = binary(which / 3, x, some);
    } else if (how == 4) {
      x = x * 0.75 + 0.125;
    } else {
      x = binary(which, unary(which / 7, x), x);
    }
    if (random() % 4 == 0) pool_.push_back(x);
  }
  const auto axis = static_cast<std::int64_t>(random() % 2);
  switch (random() % 6) {
    case 0: return others_.push_back(sum(x, axis));
    case 1: return others_.push_back(mean(x, axis));
    case 2: return pool_.push_back(x - max(x, {axis}, {.keepdims = true}));
    default: return pool_.push_back(x);
  }
}

void Program::train(Random& random) {
  const Tensor a = any(random);
  const auto loss = [&](const Variable& w) { return mean(square(w - tanh(a))); };
  switch (random() % 3) {
    case 0: {
      auto [value, slope] = value_and_grad(loss)(variables_[0]);
      variables_[0].assign_add(slope * -0.5);
      return others_.push_back(value);
    }
    case 1: {
      const auto of_both = [&](const std::vector<Variable>& w) { return mean(square(tanh(matmul(w[0], w[1])) - tanh(a))); };
      auto [value, slopes] = value_and_grad(of_both)(variables_);
      sgd_->update(slopes);
      return others_.push_back(value);
    }
    default: {
      auto [value, slope] = value_and_grad(loss)(variables_[1]);
      adam_->update(std::vector{slope});
      return others_.push_back(value);
    }
  }
}

// On operands of its own, a little further along for other inputs; now and then with its gradients.
void Program::call_any_function(Random& random) {
  const RandomCall& call = calls()[random() % calls().size()];
  const std::uint64_t seed = random();
  const bool differentiates = random() % 3 == 0;
  Tape tape;
  Draw draw(seed, seed % 97, 0, differentiates ? std::vector{&tape} : std::vector<Tape*>{});
  draw.move_by(little_);
  std::vector<Tensor> results;
  try {
    std::optional<Tape::Recording> on;
    if (differentiates) on.emplace(tape);
    results = call.call(draw);
    Tensor loss;
    for (const Tensor& each : results) {
      if (is_floating(each.dtype())) loss = loss.is_defined() ? loss + sum(cast(each, DType::f64)) : sum(cast(each, DType::f64));
    }
    on.reset();
    if (differentiates && loss.is_defined()) {
      std::vector<Tape::Wanted> wanted;
      for (const Draw::Leaf& each : draw.leaves()) wanted.push_back({&each.value});
      for (Tensor& each : tape.gradients(loss, wanted)) others_.push_back(std::move(each));
    }
  } catch (const NoGradient&) {
    // Some have none, and say so at the call.
  }
  others_.insert(others_.end(), results.begin(), results.end());
}

}  // namespace tutti::conformance
