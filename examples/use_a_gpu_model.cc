// Use a GPU, "With tf.distribute.Strategy": the guide's model, its lines beside ours; and then what the guide leaves out, its
// training.
#include "gpus.h"

#include <cmath>

namespace tt = tutti;

// inputs = tf.keras.layers.Input(shape=(1,))
// predictions = tf.keras.layers.Dense(1)(inputs)
struct Predictions {
  tt::Dense dense{1, 1};
  tt::Tensor operator()(const tt::Tensor& inputs) const { return dense(inputs); }
};

int main() {
  simulate_gpus_where_there_is_none();
  tt::set_log_level(tt::LogLevel::info);  // says which devices the strategy has

  // tf.debugging.set_log_device_placement(True)
  tt::set_log_device_placement(true);
  // gpus = tf.config.list_logical_devices('GPU')
  std::vector<std::string> gpus;
  for (const auto& gpu : tt::list_logical_devices("GPU")) gpus.push_back(gpu.name);
  // strategy = tf.distribute.MirroredStrategy(gpus)
  const tt::MirroredStrategy strategy(gpus);
  // with strategy.scope():
  //   model = tf.keras.models.Model(inputs=inputs, outputs=predictions)
  const tt::Model model(strategy, [] { return Predictions(); });
  //   model.compile(loss='mse', optimizer=tf.keras.optimizers.SGD(learning_rate=0.2))
  model.compile({.optimizer = tt::sgd(0.2), .loss = tt::mse_loss});
  tt::set_log_device_placement(false);  // as long as the guide's

  // y = 2 x + 1 is to be learnt. Every step shares out a batch over all GPUs, adds up the gradients and updates all replicas.
  const tt::Tensor x = tt::uniform({256, 1}, {.key = 1, .low = -1, .high = 1});
  const auto data = tt::Dataset(std::tuple(x, x * 2 + 1)).shuffle(7).batch(30);
  const auto waits = tt::sync_counts().demand;
  std::uint64_t waits_in_steps = 0;
  const tt::History history =
      model.fit(data, {.epochs = 20,
                       .callbacks = {tt::on_step_end([&](tt::Training&) { waits_in_steps = tt::sync_counts().demand - waits; })},
                       .verbose = tt::Verbosity::quiet});

  const auto rounded = [](const tt::Variable& variable) { return std::round(tt::item<float>(variable.value()) * 1000) / 1000; };
  std::cout << "y = " << rounded(model.net().dense.weight) << " x + " << rounded(*model.net().dense.bias) << '\n'
            << history.steps << " steps, host waits in them: " << waits_in_steps << '\n';
}
