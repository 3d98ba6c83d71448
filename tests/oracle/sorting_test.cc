// Sorting and searching over dtypes, layouts and lengths, judged by NumPy.
#include <gtest/gtest.h>

#include <cstring>

#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

Layout any_layout(Random& random) { return all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))]; }
DType any_dtype(Random& random) { return all_dtypes[static_cast<std::size_t>(random.from(0, all_dtypes.size() - 1))]; }
// Ties are what sorting is about: elements of few values as often as of all.
Values any_values(Random& random) { return random.one_in(2) ? Values::any : Values::small_range; }
const char* json(bool x) { return x ? "true" : "false"; }

std::string parameters(std::int64_t axis, bool descending) {
  return R"("axis":)" + std::to_string(axis) + R"(,"descending":)" + json(descending);
}

void sort_one(Random& random, Oracle& oracle, const Input& x, std::int64_t axis) {
  const bool descending = random.one_in(2);
  oracle.add(random.seed(), "sort", parameters(axis, descending), {&x}, sort(x.tensor, axis, {.descending = descending}));
  oracle.add(random.seed(), "argsort", parameters(axis, descending), {&x}, argsort(x.tensor, axis, {.descending = descending}));
}

void topk_one(Random& random, Oracle& oracle, const Input& x, std::int64_t axis, std::int64_t most) {
  const std::int64_t size = x.tensor.shape()[checked_axis("topk", axis, x.tensor.rank(), {})];
  const std::int64_t k = random.from(0, std::min(size, most));
  const bool largest = random.one_in(2);
  const TopK found = topk(x.tensor, k, axis, {.largest = largest});
  oracle.add(random.seed(), "topk", parameters(axis, largest) + R"(,"k":)" + std::to_string(k), {&x},
             {found.values, found.indices});
}

TEST(SortingAgainstNumPy, SortAndArgsortAlongAnyAxis) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const Layout layout : all_layouts) {
        const Shape shape = random.shape(1, 4);
        const auto rank = static_cast<std::int64_t>(shape.size());
        sort_one(random, oracle, random_input(random, dtype, shape, layout, any_values(random)), random.from(-rank, rank - 1));
      }
    }
  });
}

TEST(SortingAgainstNumPy, SortLongLines) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const auto& [lines, length] :
           {std::pair{40, 31}, {37, 33}, {30, 300}, {9, 1025}, {5, 4097}, {1, 40'000}, {3, 33'000}, {1, 140'001}}) {
        const Input x = random_input(random, dtype, {lines, length}, Layout::dense, any_values(random));
        sort_one(random, oracle, x, 1);
      }
      sort_one(random, oracle, random_input(random, dtype, {300, 40}, any_layout(random), any_values(random)), 0);
    }
  });
}

// Keys of 64 bits that agree in their upper halves, by twos or by thousands, or differ in few bits.
TEST(SortingAgainstNumPy, SortWideKeysThatNearlyAgree) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const std::int64_t n : {std::int64_t{700}, std::int64_t{90'000}}) {
      for (const std::int64_t upper : {std::int64_t{0}, std::int64_t{3}, n, 20 * n}) {
        for (const std::int64_t lower : {std::int64_t{0}, std::int64_t{5}, std::int64_t{0xffffffff}}) {
          std::vector<std::byte> bytes(static_cast<std::size_t>(n) * 8);
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t element = (random.from(0, upper) << 32) + random.from(0, lower);
            std::memcpy(bytes.data() + i * 8, &element, 8);
          }
          sort_one(random, oracle, make_input(DType::i64, {n}, bytes), 0);
        }
      }
    }
  });
}

TEST(SortingAgainstNumPy, TopK) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const Layout layout : all_layouts) {
        const Shape shape = random.shape(1, 4);
        const auto rank = static_cast<std::int64_t>(shape.size());
        topk_one(random, oracle, random_input(random, dtype, shape, layout, any_values(random)), random.from(-rank, rank - 1),
                 1'000);
      }
    }
  });
}

TEST(SortingAgainstNumPy, TopKOfLongLines) {
  compare_with_numpy(2, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const auto& [lines, length] : {std::pair{50, 40}, {11, 1'500}, {4, 5'000}, {2, 40'000}, {1, 70'000}}) {
        const Input x = random_input(random, dtype, {lines, length}, Layout::dense, any_values(random));
        topk_one(random, oracle, x, 1, 20);
        topk_one(random, oracle, x, -1, length);
      }
    }
  });
}

TEST(SortingAgainstNumPy, SearchSorted) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      for (const Layout layout : all_layouts) {
        const std::int64_t n = random.one_in(12) ? 0 : random.one_in(4) ? random.from(300, 3'000) : random.from(1, 20);
        const Values values = any_values(random);
        const Input given = random_input(random, dtype, {n}, random.one_in(2) ? Layout::dense : Layout::sliced, values);
        const Input sorted = make_input(dtype, {n}, bytes_of(sort(given.tensor)));
        const DType other = random.one_in(3) ? any_dtype(random) : dtype;
        const Shape shape = random.one_in(10) ? Shape{9, 1'500} : random.shape(0, 3);
        const Input searched = random_input(random, other, shape, layout, values);
        const bool right = random.one_in(2);
        const std::string parameters =
            R"("right":)" + std::string(json(right)) + R"(,"dtype":")" + std::string(to_string(promote(dtype, other))) + "\"";
        oracle.add(random.seed(), "searchsorted", parameters, {&sorted, &searched},
                   searchsorted(sorted.tensor, searched.tensor, {.right = right}));
        Tensor order = argsort(given.tensor);
        if (random.one_in(2)) order = cast(order, DType::i32);
        const Input sorter = make_input(order.dtype(), {n}, bytes_of(order));
        oracle.add(random.seed(), "searchsorted", parameters, {&given, &searched, &sorter},
                   searchsorted(given.tensor, searched.tensor, {.right = right, .sorter = sorter.tensor}));
      }
    }
  });
}

}  // namespace
}  // namespace tutti::oracle
