// Elements whose dtype is the launch's, not the kernel's: they are converted as they are loaded and stored, so that one kernel
// serves several dtypes. For dtypes and layouts that are rare.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tutti/kernels/cuda/stored.cuh"

namespace tutti::kernels::cuda {

// What the elements of dtype T are computed in, in such a kernel: int, std::int64_t, float or double.
template <class T>
using Common = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, StoredBool>,
                                  std::conditional_t<sizeof(T) == 8, std::int64_t, int>, Working<T>>;

template <class V, class T>
__device__ __forceinline__ V as_common(T x) {
  if constexpr (std::is_same_v<T, StoredBool>) {
    return static_cast<V>(static_cast<int>(x));
  } else {
    return static_cast<V>(widen(x));
  }
}

template <class V, DType... dtypes>
struct Tagged {
  static constexpr DTypes handled{dtypes...};

  static __device__ __forceinline__ V load(const void* data, DType dtype, std::int64_t at) {
    V value{};
    const auto load_if = [&]<DType candidate>(std::integral_constant<DType, candidate>) {
      if (dtype != candidate) return false;
      value = as_common<V>(static_cast<const typename StoredElement<candidate>::type*>(data)[at]);
      return true;
    };
    (void)(load_if(std::integral_constant<DType, dtypes>{}) || ...);
    return value;
  }
  static __device__ __forceinline__ void store(void* data, DType dtype, std::int64_t at, V value) {
    const auto store_if = [&]<DType candidate>(std::integral_constant<DType, candidate>) {
      using T = typename StoredElement<candidate>::type;
      if (dtype != candidate) return false;
      if constexpr (std::is_same_v<T, StoredBool>) {
        static_cast<std::uint8_t*>(data)[at] = value != 0 ? 1 : 0;
      } else {
        static_cast<T*>(data)[at] = narrow<T>(static_cast<Working<T>>(value));
      }
      return true;
    };
    (void)(store_if(std::integral_constant<DType, dtypes>{}) || ...);
  }
};

// The dtypes that V holds exactly, its own first. Integers are cut off when they are stored: they wrap.
template <class V>
struct TaggedAs;
template <>
struct TaggedAs<int> : Tagged<int, DType::i32, DType::u8, DType::i8, DType::i16, DType::boolean> {};
template <>
struct TaggedAs<std::int64_t> : Tagged<std::int64_t, DType::i64, DType::i32, DType::u8, DType::i8, DType::i16, DType::boolean> {};
template <>
struct TaggedAs<float> : Tagged<float, DType::f32, DType::f16, DType::bf16> {};
template <>
struct TaggedAs<double> : Tagged<double, DType::f64, DType::f32, DType::f16, DType::bf16> {};

// Which of them a launch means. Another throws on the host, where it is named.
template <class V>
class TagOf {
 public:
  TagOf() = default;
  TagOf(DType dtype) : dtype_(dtype) {
    if (!TaggedAs<V>::handled.contains(dtype)) tutti::detail::refuse_visit(dtype, TaggedAs<V>::handled);
  }
  __device__ __forceinline__ operator DType() const { return dtype_; }

 private:
  DType dtype_;
};

template <class V>
__device__ __forceinline__ V load_as(const void* data, DType dtype, std::int64_t at) {
  return TaggedAs<V>::load(data, dtype, at);
}
template <class V>
__device__ __forceinline__ void store_as(void* data, DType dtype, std::int64_t at, V value) {
  TaggedAs<V>::store(data, dtype, at, value);
}

}  // namespace tutti::kernels::cuda
