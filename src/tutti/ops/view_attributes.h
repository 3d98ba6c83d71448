// The attributes of views, shared by the functions that fill them and the rules of their gradients.
#pragma once

#include <cstdint>

#include "tutti/tensor/shape.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

struct AxesAttributes {
  Dims axes;
};
struct ShapeAttributes {
  Shape shape;
};
// Of a contiguous tensor: what a scatter changes.
struct RegionAttributes {
  Shape shape = {};
  Dims strides = {};
  std::int64_t offset = 0;
};

namespace detail {
Tensor region_by(const Tensor& x, const RegionAttributes& part, Site site);
}

}  // namespace tutti
