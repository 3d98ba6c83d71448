// Places of a tensor, named like index() names them, changed: at(x, {0, Range{1, 3}}).set(v).
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "tutti/ops/index.h"
#include "tutti/ops/scatter.h"

namespace tutti {

// What at() returns; made to be used at once, while the tensor it was made from lives. Values broadcast to the shape that get()
// has; their dtype must promote to that of the tensor. A mask needs no sync for values that are the same for all of its elements,
// nor for as many as it has true ones (another number spoils the result); only together with other tensors does the host wait for
// the count.
class [[nodiscard]] At {
 public:
  At(TensorArg x, std::span<const Index> items, Site site);

  Tensor set(TensorArg values, Site site = {}) && { return update(ScatterMode::set, values, site); }
  Tensor add(TensorArg values, Site site = {}) && { return update(ScatterMode::add, values, site); }
  Tensor multiply(TensorArg values, Site site = {}) && { return update(ScatterMode::multiply, values, site); }
  Tensor min(TensorArg values, Site site = {}) && { return update(ScatterMode::minimum, values, site); }
  Tensor max(TensorArg values, Site site = {}) && { return update(ScatterMode::maximum, values, site); }
  // What index() gives.
  [[nodiscard]] Tensor get(Site site = {}) const;

 private:
  Tensor update(ScatterMode mode, const TensorArg& values, Site site);
  [[nodiscard]] Tensor changed(ScatterMode mode, const TensorArg& values, Site site) const;

  TensorArg x_;
  std::vector<Index> items_;
};

inline At at(TensorArg x, std::initializer_list<Index> items, Site site = {}) {
  return {x, std::span(items.begin(), items.size()), site};
}
inline At at(TensorArg x, std::span<const Index> items, Site site = {}) { return {x, items, site}; }

}  // namespace tutti
