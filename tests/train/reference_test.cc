// The first steps of the example programs' trainings lose what a reference in NumPy loses from the same weights: forward pass,
// gradients, clipping, schedule and optimizer together.
#include <gtest/gtest.h>

#include <cstdlib>

#include "../../examples/char_model.h"
#include "data/saved_files.h"
#include "runner/python.h"
#include "tutti/tutti.h"

namespace tutti::testing_data {
namespace {

using Reference = SavedFiles;

struct Net {
  Dense hidden{2, 32};
  Dense out{32, 3};
  Tensor operator()(const Tensor& x) const { return out(relu(hidden(x))); }
};

template <class Model>
NamedTensors weights_of(const Model& model) {
  NamedTensors out;
  for (const auto& [name, variable] : named_variables(model)) out["model." + name] = variable.value();
  return out;
}

int judged(const std::string& kind, const std::string& path) {
  return std::system((python_with_numpy(TUTTI_REFERENCE) + " " + kind + " '" + path + "'").c_str());
}

TEST_F(Reference, LosesWhatTheMlpLoses) {
  set_seed(1);
  const Tensor x = normal({64, 2});
  const Tensor labels = argmax(matmul(x, constant({{1.F, -1.F, 0.F}, {0.F, 1.F, -1.F}})), 1);
  const Net net;
  NamedTensors saved = weights_of(net);
  saved["x"] = x;
  saved["labels"] = labels;
  Adam optimizer(parameters(net), 0.02);
  std::vector<Tensor> losses;
  for (int i = 0; i < 5; ++i) {
    const auto [loss, gradients] = value_and_grad([&](const Net& model) { return cross_entropy(model(x), labels); })(net);
    optimizer.update(gradients);
    losses.push_back(loss);
  }
  saved["losses"] = stack(losses);
  save_tensors(path(), saved);
  EXPECT_EQ(judged("mlp", path()), 0);
}

TEST_F(Reference, LosesWhatTheTransformerLoses) {
  set_seed(2);
  const CharModel model({.characters = 5, .length = 6, .features = 8, .heads = 2, .blocks = 1});
  const Tensor texts = randint({3, 7}, 0, 5, {.key = 3});
  NamedTensors saved = weights_of(model);
  saved["texts"] = texts;
  Adam optimizer(parameters(model), warmup_cosine(0.01, 1, 5), adamw());
  std::vector<Tensor> losses;
  for (int i = 0; i < 4; ++i) {
    const auto [loss, gradients] = value_and_grad(char_loss)(model, texts);
    optimizer.update(clip_by_global_norm(gradients, 0.5));
    losses.push_back(loss);
  }
  saved["losses"] = stack(losses);
  save_tensors(path(), saved);
  EXPECT_EQ(judged("transformer", path()), 0);
}

TEST_F(Reference, LosesWhatFitLosesEpochByEpoch) {
  for (const bool is_adam : {false, true}) {
    set_seed(1);
    const Tensor x = normal({50, 2});
    const Tensor labels = argmax(matmul(x, constant({{1.F, -1.F, 0.F}, {0.F, 1.F, -1.F}})), 1);
    const Model model(Net{});
    NamedTensors saved = weights_of(model.net());
    saved["x"] = x;
    saved["labels"] = labels;
    model.compile({.optimizer = is_adam ? adam(0.02) : sgd(0.2), .loss = cross_entropy});
    const History history = model.fit(Dataset(std::tuple(x, labels)).batch(8), {.epochs = 8, .verbose = Verbosity::quiet});
    const std::vector<float> losses(history.at("loss").begin(), history.at("loss").end());
    saved["losses"] = constant(std::span(losses));
    save_tensors(path(), saved);
    EXPECT_EQ(judged(is_adam ? "fit_adam" : "fit_sgd", path()), 0);
  }
}

}  // namespace
}  // namespace tutti::testing_data
