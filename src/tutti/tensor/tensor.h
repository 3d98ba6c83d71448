// A Tensor: an immutable value, made of a view (shape, strides, offset) on a counted buffer of some device.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "tutti/base/free_list.h"
#include "tutti/base/intrusive.h"
#include "tutti/hal/deadline.h"
#include "tutti/memory/buffer.h"
#include "tutti/tensor/dtype.h"
#include "tutti/tensor/shape.h"

namespace tutti {

struct Mirrors;
class Variable;

// What a Tensor points to. Made once per op from a free list.
class TensorImpl final : public Counted {
 public:
  TensorImpl(Ref<Buffer> buffer, DType dtype, const Shape& shape, const Dims& strides, std::int64_t offset) noexcept
      : buffer_(std::move(buffer)), shape_(shape), strides_(strides), offset_(offset), dtype_(dtype) {}
  ~TensorImpl();

  [[nodiscard]] const Ref<Buffer>& buffer() const noexcept { return buffer_; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const Dims& strides() const noexcept { return strides_; }
  [[nodiscard]] std::int64_t offset() const noexcept { return offset_; }  // in elements
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::byte* address() const noexcept { return buffer_->address() + offset_bytes(); }
  [[nodiscard]] std::byte* kernel_address() const noexcept { return buffer_->kernel_address() + offset_bytes(); }

  // A number that no other tensor of the process has or had; given when it is first asked for.
  [[nodiscard]] std::uint64_t identity() const noexcept;

  void release() noexcept;

 private:
  friend struct Mirrors;
  class Variable;
  [[nodiscard]] std::int64_t offset_bytes() const noexcept { return offset_ * static_cast<std::int64_t>(size_of(dtype_)); }

  Ref<Buffer> buffer_;
  Shape shape_;
  Dims strides_;
  std::int64_t offset_;
  DType dtype_;
  std::atomic<Mirrors*> mirrors_{nullptr};          // copies of it on other devices, if any
  mutable std::atomic<std::uint64_t> identity_{0};  // 0: nobody asked
};

class Tensor {
 public:
  Tensor() noexcept = default;
  explicit Tensor(Ref<TensorImpl> impl) noexcept : impl_(std::move(impl)) {}
  // The variable's value at this moment.
  Tensor(const Variable& variable, Site site = {});
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) = default;
  ~Tensor() = default;

  // Only to a tensor that has a name: what index(x, {0}) gives is a value, and x would stay as it is.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & = default;
  template <class T>
  Tensor& operator=(const T& /*value*/) && {
    static_assert(sizeof(T) == 0, "write x = at(std::move(x), {0}).set(y): index(x, {0}) is a value, not a place in x");
    return *this;
  }

  // False for a default-constructed or moved-from tensor; every other member needs a defined one and throws
  // InvalidArgument, with the caller's line, otherwise.
  [[nodiscard]] bool is_defined() const noexcept { return static_cast<bool>(impl_); }

  [[nodiscard]] const Shape& shape(Site site = {}) const { return checked(site).shape(); }
  [[nodiscard]] std::size_t rank(Site site = {}) const { return shape(site).size(); }
  [[nodiscard]] std::int64_t size(Site site = {}) const { return *element_count(shape(site)); }
  [[nodiscard]] const Dims& strides(Site site = {}) const { return checked(site).strides(); }
  [[nodiscard]] DType dtype(Site site = {}) const { return checked(site).dtype(); }
  [[nodiscard]] bool is_contiguous(Site site = {}) const;
  // Full name of the device that holds it.
  [[nodiscard]] const std::string& device(Site site = {}) const;

  // Asks, never blocks.
  [[nodiscard]] bool is_ready(Site site = {}) const { return ask_done(checked(site).buffer()->written()); }
  // Blocks until the value is there; throws its failure if it has one.
  void sync(const SyncOptions& options = {}, Site site = {}) const;

  // Parts of a tensor are not told by brackets, which take one index only and no Site.
  template <class T>
  Tensor operator[](const T& /*index*/) const {
    static_assert(sizeof(T) == 0, "write index(x, {0}) for x[0], index(x, {Range{1, 3}, 0}) for x[1:3, 0]");
    return {};
  }

  // A wait that would not be seen. Explicit: so that x + 1 is no sum of numbers.
  template <class T>
    requires std::is_arithmetic_v<T>
  explicit operator T() const {
    if constexpr (std::is_same_v<T, bool>) {
      static_assert(sizeof(T) == 0, "write item<bool>(x), where the host waits; cond(x, f, g) and where(x, a, b) do not");
    } else {
      static_assert(sizeof(T) == 0, "write item<float>(x), with the C++ type of x.dtype()");
    }
    return {};
  }

  [[nodiscard]] const TensorImpl& impl(Site site = {}) const { return checked(site); }
  [[nodiscard]] const Ref<TensorImpl>& ref() const noexcept { return impl_; }

 private:
  [[nodiscard]] const TensorImpl& checked(Site site) const {
    if (!impl_) [[unlikely]]
      raise_undefined(site);
    return *impl_;
  }
  [[noreturn]] static void raise_undefined(Site site);

  Ref<TensorImpl> impl_;
};

// A tensor that is all of a buffer, dense in row-major order.
Tensor make_dense(Ref<Buffer> buffer, DType dtype, const Shape& shape);
// All of a buffer without gaps, its axes in another order.
Tensor make_ordered(Ref<Buffer> buffer, DType dtype, const Shape& shape, const Dims& strides);

}  // namespace tutti
