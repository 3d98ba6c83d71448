// Random index tensors and random lists of index items, with what NumPy needs to make the same.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oracle/oracle.h"

namespace tutti::oracle {

// Integers of some dtype from -size to size - 1, or from 0 where `forward` or the dtype says so; in any layout.
Input random_indices(Random& random, const Shape& shape, std::int64_t size, bool forward = false);

// Bools of which about one in so many holds.
Input random_mask(Random& random, const Shape& shape, std::int64_t one_in, std::int64_t& true_count);

// What stands between the brackets. The tensors come after x among the inputs of a case.
struct Items {
  std::vector<Index> items;
  std::vector<std::unique_ptr<Input>> tensors;
  std::string json;  // "items":[...]

  void add(const Index& item, const std::string& text);
  void add_tensor(Input input);
};

enum class ItemKinds { basic, indices, mask, all };
Items random_items(Random& random, const Shape& shape, ItemKinds kinds);

}  // namespace tutti::oracle
