#include "oracle/index_items.h"

#include <cstring>
#include <limits>

namespace tutti::oracle {

namespace {

DType index_dtype(Random& random, std::int64_t size) {
  const std::array dtypes{DType::i64, DType::i32, DType::i16, DType::i8, DType::u8};
  return dtypes[static_cast<std::size_t>(random.from(0, size <= 100 ? 4 : size <= 30000 ? 2 : 1))];
}

std::string number(const std::optional<std::int64_t>& n) { return n ? std::to_string(*n) : "null"; }

Range random_range(Random& random, std::int64_t size) {
  Range range;
  if (!random.one_in(3)) range.start = random.from(-size - 2, size + 2);
  if (!random.one_in(3)) range.stop = random.from(-size - 2, size + 2);
  range.step = random.one_in(2) ? random.from(1, 3) : -random.from(1, 3);
  return range;
}

}  // namespace

Input random_indices(Random& random, const Shape& shape, std::int64_t size, bool forward) {
  const DType dtype = index_dtype(random, size);
  // Every second one of a longer axis, from either end, or two axes swapped, or dense.
  const std::int64_t kind = shape.empty() ? 0 : random.from(0, 2);
  Shape base = shape;
  if (kind == 1) base[0] *= 2;
  if (kind == 2 && shape.size() > 1) std::swap(base[0], base[1]);
  const std::int64_t count = *element_count(base);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size_of(dtype));
  const std::int64_t least = forward || dtype == DType::u8 ? 0 : -size;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = random.from(least, size - 1);  // little-endian: the low bytes are the narrower integer
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * size_of(dtype), &index, size_of(dtype));
  }
  Input out = make_input(dtype, base, std::move(bytes));
  if (kind == 1) out.slice(0, random.one_in(2) ? Range{1, {}, 2} : Range{-1, {}, -2});
  if (kind == 2 && shape.size() > 1) {
    Dims axes;
    for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i < 2 ? 1 - i : i));
    out.transpose(axes);
  }
  return out;
}

Input random_mask(Random& random, const Shape& shape, std::int64_t one_in, std::int64_t& true_count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(*element_count(shape)));
  true_count = 0;
  for (std::byte& each : bytes) {
    each = std::byte{random.one_in(one_in)};
    true_count += static_cast<std::int64_t>(each);
  }
  return make_input(DType::boolean, shape, std::move(bytes));
}

void Items::add(const Index& item, const std::string& text) {
  items.push_back(item);
  json += (json.empty() ? "" : ",") + text;
}

void Items::add_tensor(Input input) {
  tensors.push_back(std::make_unique<Input>(std::move(input)));
  add(tensors.back()->tensor, "[\"tensor\"," + std::to_string(tensors.size()) + "]");
}

Items random_items(Random& random, const Shape& shape, ItemKinds kinds) {
  Items out;
  const std::size_t rank = shape.size();
  const bool has_tensors = kinds != ItemKinds::basic;
  const std::size_t mask_at = kinds == ItemKinds::mask || (kinds == ItemKinds::all && random.one_in(2) && rank > 0)
                                  ? static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(rank) - 1))
                                  : rank;
  Shape common = random.one_in(5) ? random.shape(0, 2) : random.one_in(4) ? Shape{} : Shape{random.from(1, 9)};
  if (mask_at < rank) common = {};
  std::size_t new_axes = 0;
  const std::size_t ellipsis_at =
      random.one_in(3) ? static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(rank))) : 99;
  // Fewer items than axes, but not where an ellipsis would take what is left over.
  const bool is_short = random.one_in(3) && rank > 0 && mask_at == rank && ellipsis_at == 99;
  const std::size_t end = is_short ? static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(rank))) : rank;
  for (std::size_t axis = 0; axis <= end; ++axis) {
    if (axis == ellipsis_at) {
      out.add(ellipsis, R"(["ellipsis"])");
      const std::size_t furthest = axis <= mask_at ? mask_at : rank;
      axis += static_cast<std::size_t>(random.from(0, std::min<std::int64_t>(2, static_cast<std::int64_t>(furthest - axis))));
    }
    if (new_axes < 2 && random.one_in(7)) {
      out.add(new_axis, R"(["new"])");
      ++new_axes;
    }
    if (axis == end) break;
    const std::int64_t size = shape[axis];
    if (axis == mask_at) {
      const std::size_t covered = axis + 1 < rank && random.one_in(2) ? 2 : 1;
      std::int64_t count = 0;
      out.add_tensor(random_mask(random, Shape(shape.view().subspan(axis, covered)), random.from(1, 4), count));
      axis += covered - 1;
      if (kinds == ItemKinds::all) common = {count};
      continue;
    }
    const bool can_index = (kinds == ItemKinds::indices || kinds == ItemKinds::all) && size > 0;
    if (can_index && random.one_in(2)) {
      // Before a mask its count is not known yet; a single index goes with any.
      out.add_tensor(random_indices(random, random.broadcast_partner(common), size));
    } else if (random.one_in(has_tensors ? 5 : 3) && size > 0) {
      const std::int64_t position = random.from(-size, size - 1);
      out.add(position, "[\"int\"," + std::to_string(position) + "]");
    } else {
      const Range range = random.one_in(2) ? Range{} : random_range(random, size);
      out.add(range, "[\"range\"," + number(range.start) + "," + number(range.stop) + "," + std::to_string(range.step) + "]");
    }
  }
  out.json = "\"items\":[" + out.json + "]";
  return out;
}

}  // namespace tutti::oracle
