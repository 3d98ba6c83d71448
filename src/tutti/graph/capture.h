// Eager code at the price of a graph: capture(fn) gives a function that does what fn does, and from its second call on without
// running it.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/graph/graph_cache.h"
#include "tutti/ops/flatten.h"
#include "tutti/tensor/mirrors.h"
#include "tutti/tensor/view.h"

namespace tutti {

namespace detail {

template <class... Given>
inline constexpr char kinds_of_arguments = 0;  // one of them for each list of types

// Of what every replay gives again: what the call that recorded it left in there would stay.
struct MayBeGiven {
  template <class T>
  void operator()(const std::string&, const T&) const {}
  template <class Pointer>
  void behind(const Pointer&) const {
    static_assert(
        requires(const Pointer& optional) { optional.has_value(); },
        "a captured function gives its tensors by value: what lies behind a pointer would be the same in all its calls");
  }
  template <class T>
  void other(const T&) const {
    static_assert(
        !std::same_as<T, Event>,
        "a captured function gives no events, which would be those of the call that recorded it; record one of the program's");
  }
};

}  // namespace detail

// Called with arguments of shapes, dtypes, layouts and devices it has not met, or from other scopes, it runs the function and
// records what that does; else it does the same again with the new values. Numbers and texts among the arguments tell graphs
// apart too; whatever else the function looks at on the host stays as it was. Results are new tensors in every call. Copies
// share their graphs. A function that cannot be replayed throws CaptureRefused, with all that stands in the way, after it has
// run.
template <class F>
class Captured {
 public:
  Captured(F function, const CaptureOptions& options, Site site)
      : function_(std::make_shared<F>(std::move(function))), graphs_(std::make_shared<graph::GraphCache>(options, site)) {}

  template <class... Given>
  auto operator()(const Given&... given) const {
    using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Given&...>>;
    if (!graph::is_replaying_allowed()) [[unlikely]]
      return Result(std::invoke(*function_, given...));
    graph::CallKey key;
    key.add_identity(&detail::kinds_of_arguments<Given...>);
    const graph::AddToKey add{key};
    (each_value(std::string(), given, add), ...);
    key.add_place();
    const std::shared_ptr<const graph::Entry> known = graphs_->find(key);
    if (!known || graph::usage() == graph::Use::check) return record<Result>(key, given...);
    std::vector<Tensor> tensors = graph::replay(*known, key.tensors());
    if constexpr (!std::is_void_v<Result>) {
      Result out = *static_cast<const Result*>(known->result.get());
      std::size_t next = 0;
      each_leaf(out, [&](auto& leaf) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Tensor>) leaf = std::move(tensors[next++]);
      });
      return out;
    }
  }

  [[nodiscard]] const graph::GraphCache& graphs() const noexcept { return *graphs_; }

 private:
  template <class Result, class... Given>
  Result record(const graph::CallKey& key, const Given&... given) const {
    graph::Recorder recorder(graph::usage() == graph::Use::check);
    std::tuple<Given...> arguments(given...);
    // The function gets tensors of its own, so that an argument can be told from the same tensor taken from elsewhere. What lies
    // behind a pointer is not ours to change.
    std::size_t place = 0;
    std::vector<Tensor*> own;
    each_leaf(arguments, [&](auto& leaf) {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Tensor>) {
        if (!leaf.is_defined()) return;
        const bool is_the_callers = &leaf == key.tensors()[place++];
        bool is_own = false;
        if constexpr (std::same_as<std::remove_reference_t<decltype(leaf)>, Tensor>) {
          if (!is_the_callers) {
            leaf = detail::view_of(leaf, leaf.shape(), leaf.strides(), leaf.impl().offset());
            own.push_back(&leaf);
            is_own = true;
          }
        }
        if (is_the_callers) Mirrors::drop(leaf.impl());
        recorder.add_input(leaf, is_own);
      }
    });
    const auto run = [&]() -> Result {
      const graph::Recording on(recorder, graphs_->site());
      return std::apply(*function_, std::as_const(arguments));
    };
    std::vector<Tensor> tensors;
    if constexpr (std::is_void_v<Result>) {
      run();
      for (Tensor* each : own) *each = Tensor();
      keep(key, recorder, tensors, nullptr);
    } else {
      Result out = run();
      each_value(std::string(), out, detail::MayBeGiven());
      for (Tensor* each : own) *each = Tensor();
      auto empty = std::make_shared<Result>(out);
      each_leaf(*empty, [&](auto& leaf) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Tensor>) tensors.push_back(std::exchange(leaf, Tensor()));
      });
      keep(key, recorder, tensors, std::move(empty));
      return out;
    }
  }

  void keep(const graph::CallKey& key, graph::Recorder& recorder, const std::vector<Tensor>& results,
            std::shared_ptr<const void> empty) const {
    if (std::unique_ptr<graph::Record> record = recorder.finish(results, graphs_->site()))
      graphs_->keep(key, std::move(record), std::move(empty));
    else
      graphs_->note_unrecorded(key, recorder.lasting_variable());
  }

  std::shared_ptr<F> function_;
  std::shared_ptr<graph::GraphCache> graphs_;
};

// auto step = capture([&](const Tensor& x, const Tensor& y) { ... });  step(x, y);
template <class F>
Captured<F> capture(F function, const CaptureOptions& options = {}, Site site = {}) {
  return Captured<F>(std::move(function), options, site);
}

// What it has recorded, as text: calls, memory, submissions.
template <class F>
std::string explain(const Captured<F>& captured) {
  return graph::explain(captured.graphs());
}
// The same as a page for a browser, which needs nothing but itself: the kernels of each stream, what is fused and the memory plan
// as pictures.
template <class F>
std::string explain_html(const Captured<F>& captured) {
  return graph::explain_html(captured.graphs());
}

}  // namespace tutti
