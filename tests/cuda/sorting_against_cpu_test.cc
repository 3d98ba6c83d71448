// Sorting, selecting, searching and draws: the GPU gives what the CPU gives, bit for bit, whichever way it takes for the length.
#include "cuda/against_cpu.h"

namespace tutti::testing_cuda {

namespace {

using Sorting = AgainstCpu;

// By a warp, by blocks of each size, all lines together, one long line.
const Shape line_shapes[] = {{1000, 1}, {333, 7},  {100, 32}, {50, 33},  {20, 256},  {9, 257},    {5, 1024},
                             {3, 1025}, {3, 4096}, {2, 4097}, {7, 5000}, {40, 9001}, {1, 300'007}};

}  // namespace

TEST_F(Sorting, OfLinesOfAnyLengthBothWays) {
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape : line_shapes) {
      for (const Draw draw : {Draw::any, Draw::moderate, Draw::sparse}) {
        for (const bool descending : {false, true}) {
          expect_same("Sort", {{dtype, shape, Arrangement::dense, draw}},
                      [=](Inputs in) { return sort(in[0], {.descending = descending}); });
          expect_same("Sort", {{dtype, shape, Arrangement::dense, draw}},
                      [=](Inputs in) { return argsort(in[0], {.descending = descending}); });
        }
      }
    }
  }
}

TEST_F(Sorting, AlongTheFirstAxisAndOfEveryLayout) {
  for (const Arrangement arrangement : all_arrangements) {
    expect_same("", {{DType::f32, {129, 17}, arrangement}}, [](Inputs in) { return argsort(in[0], 0); });
    expect_same("", {{DType::i16, {129, 17}, arrangement}}, [](Inputs in) { return sort(in[0], 1); });
  }
}

TEST_F(Sorting, OfOneVeryLongLine) {
  const Shape shape = long_shape();
  for (const DType dtype : all_dtypes) {
    expect_same("Sort", {{dtype, shape, Arrangement::dense, Draw::any}}, [](Inputs in) { return sort(in[0]); });
    expect_same("Sort", {{dtype, shape, Arrangement::dense, Draw::moderate}}, [](Inputs in) { return argsort(in[0]); });
  }
}

TEST_F(Sorting, TopKOfAFewOrNearlyAll) {
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape : line_shapes) {
      const std::int64_t n = shape[1];
      for (const std::int64_t k : {std::int64_t{1}, n / 100 + 1, n / 3, std::min<std::int64_t>(n, 2048), n - 1, n}) {
        for (const bool largest : {false, true}) {
          const Draw draw = largest ? Draw::any : Draw::sparse;
          expect_same("TopKV2", {{dtype, shape, Arrangement::dense, draw}},
                      [=](Inputs in) { return topk(in[0], k, {.largest = largest}).values; });
          expect_same("TopKV2", {{dtype, shape, Arrangement::dense, draw}},
                      [=](Inputs in) { return topk(in[0], k, {.largest = largest}).indices; });
        }
      }
    }
  }
}

TEST_F(Sorting, SearchesOnBothSides) {
  for (const DType dtype : all_dtypes) {
    for (const bool right : {false, true}) {
      for (const std::int64_t n : {0, 1, 1000}) {
        expect_same("SearchSorted", {{dtype, {n}}, {dtype, {33, 129}}},
                    [=](Inputs in) { return searchsorted(sort(in[0]), in[1], {.right = right}); });
        expect_same("SearchSorted", {{dtype, {n}}, {dtype, {77}}},
                    [=](Inputs in) { return searchsorted(in[0], in[1], {.right = right, .sorter = argsort(in[0])}); });
      }
    }
  }
}

TEST_F(Sorting, FindsDistinctElements) {
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape : {Shape{0}, Shape{1}, Shape{7, 3}, Shape{2048}, Shape{2049}, Shape{300, 1001}}) {
      for (const Draw draw : {Draw::any, Draw::moderate, Draw::sparse}) {
        const std::vector<Input> in{{dtype, shape, Arrangement::dense, draw}};
        expect_same("Unique", in, [](Inputs x) { return unique_values(x[0]); });
        expect_same("Unique", in, [](Inputs x) { return unique_all(x[0]).inverse_indices; });
        for (const std::int64_t size : {0, 3, 5000}) {
          expect_same("Unique", in, [=](Inputs x) { return unique_values(x[0], {.size = size}).values; });
          expect_same("Unique", in, [=](Inputs x) { return unique_all(x[0], {.size = size}).indices; });
          expect_same("Unique", in, [=](Inputs x) { return unique_all(x[0], {.size = size}).counts; });
          expect_same("Unique", in, [=](Inputs x) { return unique_counts(x[0], {.size = size}).count; });
        }
      }
    }
  }
}

TEST_F(Sorting, DrawsTheCpusNumbersBitForBit) {
  std::vector<Shape> shapes = small_shapes();
  shapes.push_back(long_shape());
  for (const Shape& shape : shapes) {
    for (const std::uint64_t counter : {std::uint64_t{0}, (std::uint64_t{1} << 32U) - 2}) {
      for (const DType dtype : floating_dtypes) {
        expect_same("RandomStandardNormal", {}, [&](Inputs) {
          return normal(shape, {.key = 5, .counter = counter, .mean = 0.3, .stddev = 1.7, .dtype = dtype});
        });
      }
      for (const DType dtype : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
        expect_same("RandomUniformInt", {},
                    [&](Inputs) { return randint(shape, 2, 99, {.key = 5, .counter = counter, .dtype = dtype}); });
      }
      for (const DType dtype : all_dtypes) {
        expect_same("RandomBernoulli", {},
                    [&](Inputs) { return bernoulli(shape, 0.3, {.key = 5, .counter = counter, .dtype = dtype}); });
      }
    }
  }
  expect_same("Sort", {}, [](Inputs) { return permutation(100'003, {.key = 8}); });
}

}  // namespace tutti::testing_cuda
