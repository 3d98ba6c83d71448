// The tensors and variables inside a value: any nesting of tensors, variables, vectors, arrays, pairs, tuples, optionals, maps,
// pointers and plain structs. Numbers, texts, functions and the like are passed by. A class that is no plain struct says what it
// holds, if only nothing; one that does not is refused, since a tensor in it would be missed:
//   template <class Visit> void each_member(Visit&& visit) { visit("weight", weight_); visit("bias", bias_); }
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/base/field_names.h"
#include "tutti/ops/variable.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

class Event;
class Generator;
class Stream;

template <class T>
concept Leaf = std::same_as<T, Tensor> || std::same_as<T, Variable>;

namespace detail {

struct AnyVisit {
  template <class T>
  void operator()(const char* name, T& member) const;
};
template <class T>
concept SaysItsMembers = requires(T& value, AnyVisit visit) { value.each_member(visit); };
template <class T>
concept NumberOrText = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::convertible_to<const T&, std::string>;
template <class T>
concept TupleLike = requires { std::tuple_size<std::remove_const_t<T>>::value; } && !requires(T& list) { list.begin(); };
template <class T>
concept MapLike = requires(T& map) { typename std::remove_const_t<T>::mapped_type; };
template <class T>
concept ListLike = requires(T& list) {
  list.begin();
  list.end();
} && !std::convertible_to<const T&, std::string> && !MapLike<T>;
template <class T>
concept PointerLike = std::is_object_v<std::remove_pointer_t<T>> && (std::is_pointer_v<T> || requires(T& held) {
                        held.operator->();
                        static_cast<bool>(held);
                      });
template <class T>
concept PlainStruct = std::is_aggregate_v<std::remove_const_t<T>> && std::is_class_v<T> && !std::is_empty_v<T> && !ListLike<T>;

}  // namespace detail

// Whether no tensor can be in a class that does not say what it holds: it is bytes that may be copied, or a function. Say so for
// a class that is not yours: template <> inline constexpr bool tutti::holds_no_tensors<Clock> = true;
template <class T>
inline constexpr bool holds_no_tensors =
    std::is_empty_v<T> || (std::is_trivially_copyable_v<T> && !std::convertible_to<const T&, const Tensor&>);
template <class Result, class... Arguments>
inline constexpr bool holds_no_tensors<std::function<Result(Arguments...)>> = true;
template <>
inline constexpr bool holds_no_tensors<Generator> = true;
template <>
inline constexpr bool holds_no_tensors<Stream> = true;
template <>
inline constexpr bool holds_no_tensors<Event> = true;

// Calls visit(name, value) for each tensor, variable, number, enumerator and text, in the order of declaration. A name is the way
// there: "layers.0.weight". A visitor may have more, of which it hears on the way: visit.after(value), a class, after what that
// says it holds; visit.several(count), a list or a map; visit.key_of(text) of a map; visit.behind(pointer), also an optional,
// before what it points to; visit.other(value), of what holds no tensors.
template <class T, class F>
void each_value(const std::string& name, T& value, F&& visit) {
  using Plain = std::remove_const_t<T>;
  const auto within = [&](const std::string& part) { return name.empty() ? part : name + "." + part; };
  if constexpr (Leaf<Plain> || detail::NumberOrText<Plain>) {
    visit(name, value);
  } else if constexpr (detail::SaysItsMembers<T>) {
    value.each_member([&](const char* member, auto& field) { each_value(within(member), field, visit); });
    if constexpr (requires { visit.after(value); }) visit.after(value);
  } else if constexpr (detail::TupleLike<T>) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (each_value(within(std::to_string(i)), std::get<i>(value), visit), ...);
    }(std::make_index_sequence<std::tuple_size_v<Plain>>{});
  } else if constexpr (detail::MapLike<T>) {
    if constexpr (requires { visit.several(std::size_t{}); }) visit.several(static_cast<std::size_t>(value.size()));
    for (auto& [key, each] : value) {
      const std::string told = [&key = key]() -> std::string {
        if constexpr (std::convertible_to<decltype(key), std::string>) {
          return key;
        } else {
          return std::to_string(key);
        }
      }();
      if constexpr (requires { visit.key_of(told); }) visit.key_of(told);
      each_value(within(told), each, visit);
    }
  } else if constexpr (detail::ListLike<T>) {
    if constexpr (requires { visit.several(std::size_t{}); })
      visit.several(static_cast<std::size_t>(std::distance(value.begin(), value.end())));
    std::size_t place = 0;
    for (auto& each : value) each_value(within(std::to_string(place++)), each, visit);
  } else if constexpr (detail::PointerLike<T>) {
    if constexpr (requires { visit.behind(value); }) visit.behind(value);
    if (value) each_value(name, *value, visit);
  } else if constexpr (detail::PlainStruct<T>) {
    each_field(value, [&](std::string_view field, auto& member) { each_value(within(std::string(field)), member, visit); });
  } else {
    static_assert(holds_no_tensors<Plain>,
                  "give this class an each_member, with a visit for each member that holds tensors or variables: template <class "
                  "Visit> void each_member(Visit&& visit) const { visit(\"weight\", weight_); } (of a lambda make such a class), "
                  "or holds_no_tensors");
    if constexpr (requires { visit.other(value); }) visit.other(value);
  }
}

// The tensors and variables among them.
template <class T, class F>
void each_leaf(const std::string& name, T& value, F&& leaf) {
  each_value(name, value, [&](const std::string& way, auto& found) {
    if constexpr (Leaf<std::remove_cvref_t<decltype(found)>>) leaf(way, found);
  });
}

// The same without names.
template <class T, class F>
void each_leaf(T& value, F&& leaf) {
  each_leaf(std::string(), value, [&](const std::string&, auto& found) { leaf(found); });
}

}  // namespace tutti
