// Copies of a tensor on other devices, kept while the tensor lives and nobody is short of memory.
#pragma once

#include <vector>

#include "tutti/tensor/tensor.h"

namespace tutti {

struct Mirrors {
  std::vector<Tensor> copies;

  // The copy on that device, or an undefined tensor.
  static Tensor find(const TensorImpl& source, const Device& device);
  static void keep(const TensorImpl& source, const Tensor& copy);
  static void drop(const TensorImpl& source) noexcept;
  // Lets go of every kept copy on that device; true when there was one.
  static bool drop_all_on(Device& device) noexcept;
};

}  // namespace tutti
