// The fields of a plain aggregate with their names, as the compiler knows them.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tutti/base/fields.h"

namespace tutti {

namespace detail {

// An object that is never made: only the addresses of its fields are spoken of.
template <class T>
struct NeverMade {
  T value;
};
#if defined(__clang__)  // of a type without linkage it says that nobody defines it
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
template <class T>
extern const NeverMade<T> never_made;
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

template <class T>
struct FieldAddress {
  const T* pointer;
};
template <class T>
FieldAddress(const T*) -> FieldAddress<T>;

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <class T>
constexpr auto field_addresses() {
  return std::apply([](const auto&... field) { return std::tuple(FieldAddress{&field}...); }, tie_fields(never_made<T>.value));
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

// The compiler writes the address out as the way to the field, "{& never_made<Model>.value.Model::hidden}".
template <auto address>
constexpr std::string_view last_name() {
  const std::string_view words = __PRETTY_FUNCTION__;
  const std::string_view way = words.substr(0, words.rfind('}'));
  const std::string_view name = way.substr(0, way.find_last_not_of(')') + 1);
  return name.substr(name.find_last_of(".:") + 1);
}

}  // namespace detail

// Calls visit(name, field) for each field, in order.
template <class T, class F>
void each_field(T& value, F&& visit) {
  using Plain = std::remove_const_t<T>;
  [&]<std::size_t... i>(auto&& fields, std::index_sequence<i...>) {
    (visit(detail::last_name<std::get<i>(detail::field_addresses<Plain>())>(), std::get<i>(fields)), ...);
  }(tie_fields(value), std::make_index_sequence<detail::count_fields<Plain>()>{});
}

}  // namespace tutti
