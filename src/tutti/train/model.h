// A model that is trained: a network of any type, with compile, fit, evaluate and predict.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tutti/base/text.h"
#include "tutti/train/parameters.h"
#include "tutti/train/trainer.h"

namespace tutti {

namespace detail {

template <class Net, class... Inputs>
concept GivesATensor = requires(Net& net, const Inputs&... inputs) {
  { net(inputs...) } -> std::convertible_to<Tensor>;
};
template <class Net>
concept Network = GivesATensor<Net, Tensor> || GivesATensor<Net, Tensor, Tensor> || GivesATensor<Net, Tensor, Tensor, Tensor>;

// As many as the tensors of a batch without the last.
template <class Net, class Batch, std::size_t... i>
constexpr bool takes_inputs_of(std::index_sequence<i...>) {
  return GivesATensor<Net, std::tuple_element_t<i, Batch>...>;
}
template <class Net, class Batch>
constexpr bool takes_batch = takes_inputs_of<Net, Batch>(std::make_index_sequence<std::tuple_size_v<Batch> - 1>{});

template <class Net>
Tensor call_network(Net& net, std::span<const Tensor> x) {
  if constexpr (GivesATensor<Net, Tensor>) {
    if (x.size() == 1) return net(x[0]);
  }
  if constexpr (GivesATensor<Net, Tensor, Tensor>) {
    if (x.size() == 2) return net(x[0], x[1]);
  }
  if constexpr (GivesATensor<Net, Tensor, Tensor, Tensor>) {
    if (x.size() == 3) return net(x[0], x[1], x[2]);
  }
  throw InvalidArgument(text("the model cannot be called with ", x.size(), " tensors"), Site());
}

}  // namespace detail

//   Model model(Net{});
//   model.compile({.optimizer = adam(1e-3), .loss = cross_entropy, .metrics = {accuracy()}});
//   const History history = model.fit(data, {.epochs = 10, .validation = others});
// Of one thread at a time. Copies are the same model.
template <class Net>
class Model {
  static_assert(detail::Network<Net>,
                "a model's network is called with one to three tensors and gives one: Tensor operator()(const Tensor& x) const");

 public:
  explicit Model(Net net, Site site = {}) : Model(std::make_shared<Net>(std::move(net)), std::nullopt, site) {}
  // The network that `make` gives, with a copy of its variables on each device of the strategy: a step shares out the batch.
  //   Model model(strategy, [] { return Net(); });
  template <class Make>
    requires std::same_as<std::invoke_result_t<Make&>, Net>
  Model(const MirroredStrategy& strategy, Make make, Site site = {}) : Model(made_in(strategy, make, site), strategy, site) {}

  [[nodiscard]] Net& net() const noexcept { return *net_; }

  // Variables that are frozen now do not learn; where that changes later, fit asks for another compile. The optimizer begins
  // anew.
  void compile(const CompileOptions& options, Site site = {}) const { trainer_->compile(options, site); }

  // A step is captured: forward, backward and update are replayed as one. No step waits for a device; the values of an epoch
  // are waited for once, at its end if a callback reads them, else when they are there or at the end of all.
  template <class Examples, class Batch>
  History fit(const Dataset<Examples, Batch>& data, const FitOptions& options = {}, Site site = {}) const {
    check_batch<Batch>();
    return trainer_->fit(data, options, site);
  }

  // Loss and metrics over a data set, as after training. Waits once, for the result.
  template <class Examples, class Batch>
  NamedValues evaluate(const Dataset<Examples, Batch>& data, Site site = {}) const {
    check_batch<Batch>();
    return trainer_->evaluate(data, site);
  }

  // What the network gives for these examples, as after training, one row for each. Waits for nothing.
  Tensor predict(const Tensor& x, const PredictOptions& options = {}, Site site = {}) const {
    return trainer_->predict({x}, options, site);
  }
  template <class... T>
  Tensor predict(const std::tuple<T...>& x, const PredictOptions& options = {}, Site site = {}) const {
    static_assert((std::same_as<T, Tensor> && ...) && detail::GivesATensor<Net, T...>,
                  "predict takes the tensors that the network is called with");
    return std::apply([&](const auto&... each) { return trainer_->predict({each...}, options, site); }, x);
  }

 private:
  Model(std::shared_ptr<Net> net, std::optional<MirroredStrategy> strategy, Site site)
      : net_(std::move(net)),
        trainer_(std::make_shared<detail::Trainer>(
            [net = net_](std::span<const Tensor> inputs) { return detail::call_network(*net, inputs); }, named_variables(*net_),
            std::move(strategy), site)) {}

  template <class Make>
  static std::shared_ptr<Net> made_in(const MirroredStrategy& strategy, Make& make, Site site) {
    const MirroredStrategy::Scope in(strategy, site);
    return std::make_shared<Net>(make());
  }
  template <class Batch>
  static constexpr void check_batch() {
    if constexpr (detail::is_tensor_list<Batch>) {
      static_assert(detail::takes_batch<Net, Batch>,
                    "the network cannot be called with the tensors of a batch without the last, which are its inputs");
    }
  }

  std::shared_ptr<Net> net_;
  std::shared_ptr<detail::Trainer> trainer_;
};

template <class Net>
Model(Net) -> Model<Net>;
template <class Net>
Model(Net, Site) -> Model<Net>;
template <class Make>
Model(MirroredStrategy, Make) -> Model<std::invoke_result_t<Make&>>;
template <class Make>
Model(MirroredStrategy, Make, Site) -> Model<std::invoke_result_t<Make&>>;

}  // namespace tutti
