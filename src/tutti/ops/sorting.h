// Sorting and searching along an axis. NaN is above every number, -0 equals +0; equal elements keep their order.
#pragma once

#include "tutti/tensor/tensor.h"

namespace tutti {

struct SortOptions {
  bool descending = false;  // NaN comes first then
  bool stable = true;       // sorting always is
};

// Along an axis, or the last. Among zeros, -0 comes before +0 (behind it, descending).
Tensor sort(const Tensor& x, std::int64_t axis, const SortOptions& options = {}, Site site = {});
Tensor sort(const Tensor& x, const SortOptions& options = {}, Site site = {});
// The int64 indices that would sort x.
Tensor argsort(const Tensor& x, std::int64_t axis, const SortOptions& options = {}, Site site = {});
Tensor argsort(const Tensor& x, const SortOptions& options = {}, Site site = {});

struct TopK {
  Tensor values;
  Tensor indices;  // int64
};
struct TopKOptions {
  bool largest = true;
  bool sorted = true;  // false: they may come in any order
};
// The k largest elements along an axis, or the last, largest first, of equal ones those with lower indices.
TopK topk(const Tensor& x, std::int64_t k, std::int64_t axis, const TopKOptions& options = {}, Site site = {});
TopK topk(const Tensor& x, std::int64_t k, const TopKOptions& options = {}, Site site = {});

struct SearchSortedOptions {
  bool right = false;  // the place behind elements that are equal, not before them
  Tensor sorter = {};  // int32 or int64 indices that sort the first argument; absent: it is sorted
};
// Where each value would have to be inserted to keep a sorted tensor of one axis sorted, as int64.
Tensor searchsorted(const Tensor& sorted, const Tensor& values, const SearchSortedOptions& options = {}, Site site = {});

}  // namespace tutti
