// Making tensors: from host values, filled. All return at once; host values are copied at the call.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tutti/base/inline_vector.h"
#include "tutti/ops/tensor_arg.h"

namespace tutti {

namespace detail {
Tensor constant_of(const char* function, DType dtype, const Shape& shape, std::span<const std::byte> bytes, Site site);
}
// Host values in row-major order. Throws ShapeError when the count does not fit the shape.
inline Tensor from_bytes(DType dtype, const Shape& shape, std::span<const std::byte> bytes, Site site = {}) {
  return detail::constant_of("from_bytes", dtype, shape, bytes, site);
}

// A vector, a span, an array, ...
template <class T>
concept HostValues = requires(const T& values) {
  requires Element<std::remove_cvref_t<decltype(*std::data(values))>>;
  std::size(values);
};

// Host values: a container with a shape or, as one axis, without; one value; nested braces.
template <HostValues T>
Tensor constant(const T& values, const Shape& shape, Site site = {}) {
  const std::span all(std::data(values), std::size(values));
  return detail::constant_of("constant", dtype_of<std::remove_cvref_t<decltype(all[0])>>, shape, std::as_bytes(all), site);
}
template <HostValues T>
Tensor constant(const T& values, Site site = {}) {
  return constant(values, std::size(values), site);
}
namespace detail {
Tensor bools(const std::vector<bool>& values, const Shape& shape, Site site);
// Where `like` is, as full_like() has it; null: as full() has it.
Tensor filled(const char* function, const Shape& shape, const TensorArg& value, DType dtype, const Tensor* like, Site site);
}  // namespace detail
template <std::same_as<std::vector<bool>> T>  // or braces with numbers of two types would become bools
Tensor constant(const T& values, const Shape& shape, Site site = {}) {
  return detail::bools(values, shape, site);  // it has no bytes to take
}
template <std::same_as<std::vector<bool>> T>
Tensor constant(const T& values, Site site = {}) {
  return detail::bools(values, values.size(), site);
}
template <Element T>
Tensor constant(T value, Site site = {}) {
  return constant(std::span(&value, 1), Shape{}, site);
}

namespace detail {
[[noreturn]] void raise_ragged(Site site);

template <class T, std::size_t Depth>
struct Nested {
  using type = std::initializer_list<typename Nested<T, Depth - 1>::type>;
};
template <class T>
struct Nested<T, 0> {
  using type = T;
};

// A vector of bools has no bytes to take.
template <class T>
using Values = InlineVector<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>, 64>;

// Numbers as this dtype, which must hold each.
Tensor numbers(DType dtype, const Shape& shape, std::span<const WeakScalar> values, Site site);

// Flattens nested braces, checking that every row is as long as the first.
template <class T, std::size_t Depth>
void flatten(const typename Nested<T, Depth>::type& list, std::size_t level, Dims& shape, Values<T>& out, Site site) {
  if constexpr (Depth == 0) {
    out.push_back(list);
  } else {
    const auto size = static_cast<std::int64_t>(list.size());
    if (shape.size() == level) {
      shape.push_back(size);
    } else if (shape[level] != size) {
      raise_ragged(site);
    }
    for (const auto& item : list) flatten<T, Depth - 1>(item, level + 1, shape, out, site);
  }
}

template <class T, std::size_t Depth>
Tensor nested_constant(const typename Nested<T, Depth>::type& list, Site site, DType dtype = dtype_of<T>) {
  Dims shape{};  // zeroed: gcc cannot see that flatten writes a size before it reads it
  Values<T> values;
  flatten<T, Depth>(list, 0, shape, values, site);
  while (shape.size() < Depth) shape.push_back(0);
  if (dtype == dtype_of<T>) return constant_of("constant", dtype, shape, std::as_bytes(values.view()), site);
  std::vector<WeakScalar> weak;
  for (const auto& value : values) weak.push_back(TensorArg(static_cast<T>(value), site).number());
  return numbers(dtype, shape, weak, site);
}
}  // namespace detail

template <Element T>
Tensor constant(std::initializer_list<T> list, Site site = {}) {
  return detail::nested_constant<T, 1>(list, site);
}
template <Element T>
Tensor constant(std::initializer_list<T> list, const Shape& shape, Site site = {}) {
  return constant(std::span(list.begin(), list.size()), shape, site);
}
template <Element T>
Tensor constant(std::initializer_list<std::initializer_list<T>> list, Site site = {}) {
  return detail::nested_constant<T, 2>(list, site);
}
template <Element T>
Tensor constant(std::initializer_list<std::initializer_list<std::initializer_list<T>>> list, Site site = {}) {
  return detail::nested_constant<T, 3>(list, site);
}
// The same as this dtype, which must hold each number: no halves in integers.
template <Element T>
Tensor constant(T value, DType dtype, Site site = {}) {
  return detail::nested_constant<T, 0>(value, site, dtype);
}
template <Element T>
Tensor constant(std::initializer_list<T> list, DType dtype, Site site = {}) {
  return detail::nested_constant<T, 1>(list, site, dtype);
}
template <Element T>
Tensor constant(std::initializer_list<std::initializer_list<T>> list, DType dtype, Site site = {}) {
  return detail::nested_constant<T, 2>(list, site, dtype);
}
template <Element T>
Tensor constant(std::initializer_list<std::initializer_list<std::initializer_list<T>>> list, DType dtype, Site site = {}) {
  return detail::nested_constant<T, 3>(list, site, dtype);
}

Tensor zeros(const Shape& shape, DType dtype = DType::f32, Site site = {});
Tensor ones(const Shape& shape, DType dtype = DType::f32, Site site = {});
// Of the value's dtype unless another is named; whole numbers are int64, others float32.
Tensor full(const Shape& shape, TensorArg value, std::optional<DType> dtype = {}, Site site = {});
// Of unspecified values.
Tensor empty(const Shape& shape, DType dtype = DType::f32, Site site = {});

// The shape of x, and its dtype unless another is named; without a scope, on the GPU of x.
Tensor full_like(const Tensor& x, TensorArg value, std::optional<DType> dtype = {}, Site site = {});
Tensor zeros_like(const Tensor& x, std::optional<DType> dtype = {}, Site site = {});
Tensor ones_like(const Tensor& x, std::optional<DType> dtype = {}, Site site = {});
Tensor empty_like(const Tensor& x, std::optional<DType> dtype = {}, Site site = {});

// Uses host memory as it is, without a copy, as a tensor on the CPU; `done` is called once, after the last use.
Tensor wrap_host_memory(void* memory, DType dtype, const Shape& shape, std::function<void()> done, Site site = {});
// The same for memory of a device ("GPU:0") that someone else allocated there: cudaMalloc and its like. The contents must be
// there already; from_dlpack also takes those still being made on a stream. Simulated GPUs are refused.
Tensor wrap_device_memory(void* memory, DType dtype, const Shape& shape, std::string_view device, std::function<void()> done,
                          Site site = {});

}  // namespace tutti
