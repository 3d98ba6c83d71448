// Choosing code by the type of an element: by its dtype, or, where elements are only moved, by its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tutti/tensor/dtype_set.h"

namespace tutti {

// The C++ type of a dtype's elements on the host.
// clang-format off
template <DType dtype> struct HostElement;
template <> struct HostElement<DType::boolean> { using type = bool; };
template <> struct HostElement<DType::u8> { using type = std::uint8_t; };
template <> struct HostElement<DType::i8> { using type = std::int8_t; };
template <> struct HostElement<DType::i16> { using type = std::int16_t; };
template <> struct HostElement<DType::i32> { using type = std::int32_t; };
template <> struct HostElement<DType::i64> { using type = std::int64_t; };
template <> struct HostElement<DType::f16> { using type = f16; };
template <> struct HostElement<DType::bf16> { using type = bf16; };
template <> struct HostElement<DType::f32> { using type = float; };
template <> struct HostElement<DType::f64> { using type = double; };
// clang-format on

namespace detail {
[[noreturn]] void refuse_visit(DType dtype, DTypes handled);
[[noreturn]] void refuse_visit(std::size_t bytes);

template <DTypes handled, DType dtype, template <DType> class Element, class Result, class Visit>
Result visit_if_handled(Visit& visit) {
  if constexpr (handled.contains(dtype)) {
    return visit(typename Element<dtype>::type{});
  } else {
    refuse_visit(dtype, handled);
  }
}
}  // namespace detail

// Calls visit with a value-initialised element of the dtype's type. It is compiled for the dtypes of the set alone; any other is
// an internal error and throws, never taken for one of them. `Element` names the types where they are not the host's.
template <DTypes handled, template <DType> class Element = HostElement, class Visit>
decltype(auto) visit_dtype(DType dtype, Visit&& visit) {
  constexpr DType first = handled.first();
  using Result = std::invoke_result_t<Visit&, typename Element<first>::type>;
  switch (dtype) {  // no default: a dtype that is added here does not compile until it has a line
    case DType::boolean: return detail::visit_if_handled<handled, DType::boolean, Element, Result>(visit);
    case DType::u8: return detail::visit_if_handled<handled, DType::u8, Element, Result>(visit);
    case DType::i8: return detail::visit_if_handled<handled, DType::i8, Element, Result>(visit);
    case DType::i16: return detail::visit_if_handled<handled, DType::i16, Element, Result>(visit);
    case DType::i32: return detail::visit_if_handled<handled, DType::i32, Element, Result>(visit);
    case DType::i64: return detail::visit_if_handled<handled, DType::i64, Element, Result>(visit);
    case DType::f16: return detail::visit_if_handled<handled, DType::f16, Element, Result>(visit);
    case DType::bf16: return detail::visit_if_handled<handled, DType::bf16, Element, Result>(visit);
    case DType::f32: return detail::visit_if_handled<handled, DType::f32, Element, Result>(visit);
    case DType::f64: return detail::visit_if_handled<handled, DType::f64, Element, Result>(visit);
  }
  detail::refuse_visit(dtype, handled);
}
template <class Visit>
decltype(auto) visit_dtype(DType dtype, Visit&& visit) {
  return visit_dtype<any_dtype>(dtype, visit);
}

// Of indices, which are i64 or i32; any other dtype throws.
inline bool is_wide_index(DType dtype) {
  return visit_dtype<index_dtypes>(dtype, [](auto index) { return sizeof index == 8; });
}

// Calls visit with an unsigned integer of so many bytes: for code that moves elements and never looks at them.
template <class Visit>
decltype(auto) visit_size(std::size_t bytes, Visit&& visit) {
  switch (bytes) {
    case 1: return visit(std::uint8_t{});
    case 2: return visit(std::uint16_t{});
    case 4: return visit(std::uint32_t{});
    case 8: return visit(std::uint64_t{});
    default: detail::refuse_visit(bytes);
  }
}

}  // namespace tutti
