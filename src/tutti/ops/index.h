// What stands between the brackets of NumPy's x[...]: an integer, a range, an ellipsis, a new axis, a tensor of indices or a
// mask.
#pragma once

#include <concepts>
#include <cstdint>
#include <variant>

#include "tutti/tensor/tensor.h"
#include "tutti/tensor/view.h"

namespace tutti {

// As many whole axes as are left over.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis{};
// An axis of size 1.
struct NewAxis {};
inline constexpr NewAxis new_axis{};

class Index {
 public:
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Index(T position) noexcept : item_(static_cast<std::int64_t>(position)) {}
  Index(bool) = delete;  // a mask is a tensor of bools
  Index(const Range& range) noexcept : item_(range) {}
  Index(Ellipsis item) noexcept : item_(item) {}
  Index(NewAxis item) noexcept : item_(item) {}
  // Of bools: a mask over as many axes as it has. Of integers: one axis, indexed.
  Index(Tensor tensor) noexcept : item_(std::move(tensor)) {}
  Index(const Variable& variable, Site site = {}) : item_(Tensor(variable, site)) {}

  using Item = std::variant<std::int64_t, Range, Ellipsis, NewAxis, Tensor>;
  [[nodiscard]] const Item& item() const noexcept { return item_; }

 private:
  Item item_;
};

}  // namespace tutti
