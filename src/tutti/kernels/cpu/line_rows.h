// The vectorised loops of normalisations, over elements that are contiguous.
#pragma once

#include <cstddef>

namespace tutti::kernels {

// Sums are kept in T for some hundred elements and then in double.
template <class T>
struct LineRows {
  T (*max)(const T* x, std::size_t count);
  // The sum of e^(x - shift); `out`, where it is not null, receives the terms and may be x.
  double (*exp_sum)(const T* x, T shift, T* out, std::size_t count);
  void (*scale)(const T* x, T factor, T* out, std::size_t count);
  // (x - first) - second
  void (*subtract)(const T* x, T first, T second, T* out, std::size_t count);
  double (*sum)(const T* x, std::size_t count);
  // The sum of (x - mean)^2.
  double (*squares)(const T* x, T mean, std::size_t count);
  // (x - mean) * factor * weight + bias; weight and bias may be null.
  void (*normalise)(const T* x, T mean, T factor, const T* weight, const T* bias, T* out, std::size_t count);

  // The same for whole lines, one after the other, that stay in the cache. The output may be x.
  void (*softmax_lines)(const T* x, T* out, std::size_t lines, std::size_t length, bool is_log);
  // The same down columns: rows of `count` elements that lie `stride` apart.
  void (*softmax_columns)(const T* x, T* out, std::size_t length, std::size_t stride, std::size_t count, bool is_log);
  void (*exp_sum_lines)(const T* x, std::size_t lines, std::size_t length, T* largest, T* sums);
  void (*layer_norm_lines)(const T* x, const T* weight, const T* bias, double epsilon, T* out, std::size_t lines,
                           std::size_t length);

  // Of one line, with h the gradient g of its result times the weight, which may be null, and n what (x - mean) * factor gives:
  // the gradient of x, (h - the mean of h - n * the mean of h n) * factor.
  void (*norm_gradient)(const T* x, const T* g, const T* weight, T mean, T factor, T* out, std::size_t count);
  // Adds g n and g of each element, for the gradients of weight and bias.
  void (*add_norm_columns)(const T* x, const T* g, T mean, T factor, T* of_weight, T* of_bias, std::size_t count);
};
template <class T>
const LineRows<T>& line_rows();  // float, double

}  // namespace tutti::kernels
