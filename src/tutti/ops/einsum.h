// Einstein's summation over any number of tensors.
#pragma once

#include <concepts>
#include <span>
#include <string_view>
#include <vector>

#include "tutti/tensor/tensor.h"

namespace tutti {

// NumPy's einsum: "ij,jk->ik". A letter names an axis; "..." stands for axes that broadcast; a letter that is not in the output
// is summed over, one that stands twice in a tensor takes its diagonal. Without "->" the output has the letters that stand once,
// in alphabetical order. Dtypes promote, and the result has that dtype.
Tensor einsum(std::string_view equation, std::span<const Tensor> tensors, Site site = {});
inline Tensor einsum(std::string_view equation, const std::vector<Tensor>& tensors, Site site = {}) {
  return einsum(equation, std::span(tensors), site);
}

// The equation before a list of tensors; remembers the line.
struct EinsumEquation {
  std::string_view text;
  Site site;
  template <std::convertible_to<std::string_view> T>
  EinsumEquation(const T& equation, Site where = {}) : text(equation), site(where) {}
};
// einsum("ij,jk->ik", a, b)
template <std::convertible_to<Tensor>... Others>
Tensor einsum(EinsumEquation equation, const Tensor& first, const Others&... others) {
  return einsum(equation.text, std::vector<Tensor>{first, others...}, equation.site);
}

}  // namespace tutti
