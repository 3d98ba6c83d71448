// Sums, matrix products, counting and picking: the GPU gives what the CPU gives within the stated bounds, on the GPU.
#include <cmath>

#include "cuda/against_cpu.h"

namespace tutti::testing_cuda {

using Sums = AgainstCpu;

TEST_F(Sums, OverEverySetOfAxesStayWithinTheBound) {
  const struct {
    Shape shape;
    std::vector<Dims> axes;
  } table[] = {
      {{}, {Dims{}}},
      {{0}, {{0}, {}}},
      {{1}, {{0}}},
      {{7}, {{0}, {}}},
      {{33, 0, 5}, {{0}, {1}, {2}, {0, 1, 2}, {0, 2}}},
      {{3, 5, 7}, {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}, {}}},
      {{17, 129}, {{0}, {1}, {0, 1}}},
      {{2, 1, 3, 2, 5}, {{0, 2, 4}, {1, 3}, {1}}},
      {{3, 9001}, {{0}, {1}, {0, 1}}},
      {{4100, 3}, {{0}, {1}}},
      {{40, 30, 50}, {{0}, {1}, {2}, {0, 2}}},
  };
  for (const DType dtype : all_dtypes) {
    for (const auto& [shape, sets] : table) {
      for (const Dims& axes : sets) {
        double n = 1;
        for (const std::int64_t axis : axes) n *= static_cast<double>(shape[static_cast<std::size_t>(axis)]);
        const Function function = [&](Inputs in) { return sum(in[0], axes); };
        const Tolerance tolerance{.steps = 2 * std::min<double>(n, longest_chain), .magnitude = function};
        for (const Arrangement arrangement : arrangements_for(shape))
          expect_same("Sum", {{dtype, shape, arrangement, Draw::moderate}}, function, tolerance);
      }
    }
  }
}

TEST_F(Sums, OfAMillionAreAsGoodAsShortOnes) {
  const Tolerance tolerance{.steps = 2.0 * longest_chain, .magnitude = [](Inputs in) { return sum(in[0]); }};
  for (const DType dtype : all_dtypes) {
    for (const Arrangement arrangement : arrangements_for(long_shape()))
      expect_same(
          "Sum", {{dtype, long_shape(), arrangement, Draw::moderate}}, [](Inputs in) { return sum(in[0]); }, tolerance);
    if (is_floating(dtype)) continue;
    expect_same("Sum", {{dtype, long_shape(), Arrangement::dense, Draw::any}}, [](Inputs in) { return sum(in[0]); });
  }
  for (const std::int64_t axis : {0, 1}) {
    const Function function = [&](Inputs in) { return sum(in[0], {axis}); };
    for (const Shape& shape : {Shape{1025, 1027}, Shape{70'000, 5}, Shape{5, 70'000}})
      expect_same("Sum", {{DType::f32, shape, Arrangement::dense, Draw::moderate}}, function,
                  {.steps = 2.0 * longest_chain, .magnitude = function});
  }
}

TEST_F(Sums, AreTheSameOnEveryRun) {
  const Tensor x = uniform({(1 << 20) + 3}, {.key = 5, .low = -1, .high = 1});
  const float first = item<float>(sum(x));
  for (int i = 0; i < 50; ++i) ASSERT_EQ(item<float>(sum(x)), first);
}

using Products = AgainstCpu;

namespace {

Tensor product(Inputs in) { return matmul(in[0], in[1]); }

Tolerance bound(std::int64_t k) { return {.steps = 2.0 * static_cast<double>(k), .magnitude = product}; }

Draw draw_for(DType dtype) { return is_floating(dtype) ? Draw::moderate : Draw::any; }

}  // namespace

TEST_F(Products, OfMatricesInEveryLayoutStayWithinTheBound) {
  const struct {
    std::int64_t m, k, n;
  } sizes[] = {{1, 1, 1}, {3, 4, 5}, {17, 33, 65}, {1, 300, 7}, {129, 1, 130}, {0, 4, 5}, {4, 0, 5}, {5, 4, 0}};
  for (const DType dtype : all_dtypes) {
    for (const auto& [m, k, n] : sizes) {
      for (const Arrangement a : all_arrangements) {
        for (const Arrangement b : all_arrangements)
          expect_same("MatMul", {{dtype, {m, k}, a, draw_for(dtype)}, {dtype, {k, n}, b, draw_for(dtype)}}, product, bound(k));
      }
    }
  }
}

TEST_F(Products, OfLargerMatricesStayWithinTheBound) {
  const struct {
    std::int64_t m, k, n;
  } sizes[] = {{128, 128, 128}, {257, 255, 129}, {512, 1024, 300}, {33, 4099, 65}, {1000, 17, 1}};
  for (const DType dtype : {DType::i32, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const auto& [m, k, n] : sizes) {
      for (const Arrangement a : {Arrangement::dense, Arrangement::transposed, Arrangement::shifted}) {
        for (const Arrangement b : {Arrangement::dense, Arrangement::transposed, Arrangement::stepped})
          expect_same("MatMul", {{dtype, {m, k}, a, draw_for(dtype)}, {dtype, {k, n}, b, draw_for(dtype)}}, product, bound(k));
      }
    }
  }
}

TEST_F(Products, OfBatchesAndVectorsStayWithinTheBound) {
  const struct {
    Shape a, b;
    std::int64_t k;
  } table[] = {
      {{4, 9, 13}, {4, 13, 6}, 13},
      {{4, 9, 13}, {13, 6}, 13},
      {{9, 13}, {4, 13, 6}, 13},
      {{2, 1, 9, 13}, {3, 13, 6}, 13},
      {{1, 9, 13}, {5, 13, 6}, 13},
      {{0, 9, 13}, {0, 13, 6}, 13},
      {{3, 2, 40, 64}, {2, 64, 50}, 64},
      {{13}, {13, 6}, 13},
      {{9, 13}, {13}, 13},
      {{13}, {13}, 13},
      {{4, 9, 13}, {13}, 13},
      {{70, 1, 8}, {70, 8, 1}, 8},
  };
  for (const DType dtype : {DType::i8, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const auto& [a, b, k] : table) {
      for (const Arrangement left : {Arrangement::dense, Arrangement::stepped, Arrangement::backwards, Arrangement::expanded}) {
        for (const Arrangement right : {Arrangement::dense, Arrangement::shifted, Arrangement::expanded})
          expect_same("MatMul", {{dtype, a, left, draw_for(dtype)}, {dtype, b, right, draw_for(dtype)}}, product, bound(k));
      }
      // Both matrices of every pair seen the other way round.
      if (a.size() != b.size() || a.size() < 3) continue;
      const auto last = static_cast<std::int64_t>(a.size()) - 1;
      Dims turned;
      for (std::int64_t i = 0; i + 1 < last; ++i) turned.push_back(i);
      turned.push_back(last);
      turned.push_back(last - 1);
      const Function function = [&](Inputs in) { return matmul(permute_dims(in[1], turned), permute_dims(in[0], turned)); };
      expect_same("MatMul", {{dtype, a, Arrangement::dense, draw_for(dtype)}, {dtype, b, Arrangement::dense, draw_for(dtype)}},
                  function, {.steps = 2.0 * static_cast<double>(k), .magnitude = function});
    }
  }
}

namespace {

// A number whose last bits tf32 (10 bits of fraction) does not keep: it would be rounded to 1. Sixteen of them add up exactly in
// f32, in any order.
constexpr float fine = 1.F + 3 * 0x1p-13F;
constexpr std::int64_t terms = 16;

double worst_relative_error() {
  const std::int64_t n = 256;
  const std::vector<float> got = read<float>(matmul(full({n, terms}, fine, DType::f32), ones({terms, n})));
  double worst = 0;
  for (const float value : got) worst = std::max(worst, std::abs(value / (static_cast<double>(terms) * fine) - 1));
  return worst;
}

}  // namespace

TEST_F(Products, OfF32AreF32AllTheWayUnlessTf32IsAllowed) {
  const double tolerance = 2.0 * terms * own_rounding(DType::f32);
  const double in_tf32 = 1 - 1 / static_cast<double>(fine);
  ASSERT_GT(in_tf32, 100 * tolerance) << "the check could not tell";
  EXPECT_FALSE(allows_tf32());
  EXPECT_LE(worst_relative_error(), tolerance);
  EXPECT_EQ(worst_relative_error(), 0) << "every partial sum is exact";
  set_allow_tf32(true);
  EXPECT_GT(worst_relative_error(), 100 * tolerance) << "tf32 was allowed and not used";
  set_allow_tf32(false);
  EXPECT_EQ(worst_relative_error(), 0) << "the choice made for tf32 was kept";
}

using Picking = AgainstCpu;

TEST_F(Picking, CountsAndFindsWhatIsNotZero) {
  std::vector<Shape> shapes = small_shapes();
  shapes.push_back(long_shape());
  shapes.push_back({31, 33, 65});
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape : shapes) {
      for (const Arrangement arrangement : arrangements_for(shape)) {
        if (shape == long_shape() && arrangement == Arrangement::shifted) continue;
        expect_same("CountNonzero", {{dtype, shape, arrangement, Draw::sparse}}, [](Inputs in) { return count_nonzero(in[0]); });
        expect_same("NonZero", {{dtype, shape, arrangement, Draw::sparse}}, [](Inputs in) { return nonzero(in[0]); });
      }
    }
    expect_same("NonZero", {}, [&](Inputs) { return nonzero(zeros({5000}, dtype)); });
    expect_same("NonZero", {}, [&](Inputs) { return nonzero(ones({70, 70}, dtype)); });
  }
}

TEST_F(Picking, FindsWhatIsNotZeroInLargeOperandsOfAnyLayout) {
  for (const DType dtype : {DType::boolean, DType::bf16, DType::f32, DType::i64}) {
    if (is_small_run() && dtype != DType::f32) continue;
    for (const Arrangement arrangement : {Arrangement::transposed, Arrangement::stepped, Arrangement::expanded})
      expect_same("NonZero", {{dtype, {1031, 1024}, arrangement, Draw::sparse}}, [](Inputs in) { return nonzero(in[0]); });
  }
  const Tensor turned = matrix_transpose(uniform({1500, 1030}, {.key = 3}) - 0.5);
  const NonzeroResult padded = nonzero(clip(turned, 0, 1), {.size = 1500 * 1030});
  EXPECT_EQ(item<std::int64_t>(padded.count), item<std::int64_t>(count_nonzero(clip(turned, 0, 1))));
}

TEST_F(Picking, TakesAlongEveryAxis) {
  const std::uint64_t seed = fresh_seed();
  const auto indices = [&](const Shape& shape, DType dtype, std::int64_t size) {
    const auto most = static_cast<double>(size);
    return uniform(shape, {.key = seed, .low = -most, .high = most, .dtype = dtype});
  };
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape : {Shape{7}, Shape{3, 5, 7}, Shape{17, 129}, Shape{3, 9001}, Shape{40, 6, 100}}) {
      for (const Arrangement arrangement : arrangements_for(shape)) {
        for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis) {
          for (const DType index : {DType::i32, DType::i64}) {
            for (const Shape& picked : {Shape{}, Shape{0}, Shape{5}, Shape{2, 3}, Shape{70}}) {
              expect_same("GatherV2", {{dtype, shape, arrangement}}, [&](Inputs in) {
                return take(in[0], indices(picked, index, shape[static_cast<std::size_t>(axis)]), axis);
              });
            }
          }
        }
      }
    }
    expect_same("GatherV2", {{dtype, {0, 4}}}, [&](Inputs in) { return take(in[0], indices({3}, DType::i32, 4), 1); });
    expect_same("GatherV2", {{dtype, long_shape()}},
                [&](Inputs in) { return take(in[0], indices({100'000}, DType::i64, 4000)); });
  }
}

TEST_F(Picking, TakesRowsOfLargeOperandsOfAnyLayout) {
  const Tensor rows = uniform({1400}, {.key = fresh_seed(), .low = -1031, .high = 1031, .dtype = DType::i32});
  for (const DType dtype : {DType::u8, DType::f32, DType::f64}) {
    if (is_small_run() && dtype != DType::f32) continue;
    for (const Arrangement arrangement :
         {Arrangement::transposed, Arrangement::stepped, Arrangement::backwards, Arrangement::expanded}) {
      expect_same("GatherV2", {{dtype, {1031, 1024}, arrangement}},
                  [&](Inputs in) { return take(in[0], copy_to(rows, in[0].device()), 0); });
    }
  }
}

TEST_F(Picking, TakesColumnsOfLongRows) {
  const std::uint64_t seed = fresh_seed();
  for (const DType dtype : {DType::f32, DType::u8, DType::bf16, DType::f64}) {
    if (is_small_run() && dtype != DType::f32) break;
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    for (const std::int64_t columns : {8 * 1024 / size, 40'000 / size, 40'016 / size + 1, 48 * 1024 / size}) {
      for (const std::int64_t taken : {columns / 4 / 16 * 16 + 16, columns, std::int64_t{20'000}}) {
        const auto most = static_cast<double>(columns);
        const DType index = taken % 32 == 0 ? DType::i32 : DType::i64;
        const Tensor picked = uniform({taken}, {.key = seed, .low = -most, .high = most, .dtype = index});
        expect_same("GatherV2", {{dtype, {259, columns}}},
                    [&](Inputs in) { return take(in[0], copy_to(picked, in[0].device()), 1); });
      }
    }
  }
}

TEST_F(Picking, NamesAnIndexOutOfRangeOfLongRows) {
  for (const std::int64_t index : {std::int64_t{4096}, std::int64_t{-4097}, std::int64_t{1} << 40U}) {
    const Tensor indices = concat({zeros({4095}, DType::i64), full({1}, index, DType::i64)}, 0);
    try {
      take(ones({300, 4096}), indices, 1).sync();
      ADD_FAILURE() << "it was not noticed";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(std::to_string(index)), std::string::npos) << e.what();
    }
    clear_errors();
  }
}

TEST_F(Picking, SetsPlacesOfEachRow) {
  const std::uint64_t seed = fresh_seed();
  const auto set = [&](DType dtype, const Shape& shape, Arrangement arrangement, std::int64_t taken) {
    const std::int64_t length = shape[shape.size() - 1];
    Shape picked = shape;
    picked[shape.size() - 1] = taken;
    expect_same("TensorScatterUpdate", {{dtype, shape, arrangement}, {dtype, picked, arrangement}}, [&](Inputs in) {
      const auto most = static_cast<double>(length);
      const Tensor indices = uniform(picked, {.key = seed, .low = -most, .high = most, .dtype = DType::i64});
      return scatter(in[0], static_cast<std::int64_t>(shape.size()) - 1, indices, in[1]);
    });
  };
  for (const DType dtype : {DType::f32, DType::u8, DType::bf16, DType::f64}) {
    if (is_small_run() && dtype != DType::f32) break;
    for (const Arrangement arrangement :
         {Arrangement::dense, Arrangement::transposed, Arrangement::stepped, Arrangement::shifted, Arrangement::expanded}) {
      for (const Shape& shape : {Shape{270, 200}, Shape{70, 1024}, Shape{20, 10, 131}, Shape{70, 12'288}}) {
        for (const std::int64_t taken : {std::int64_t{2}, std::int64_t{100}, shape[shape.size() - 1]})
          set(dtype, shape, arrangement, taken);
      }
    }
  }
  set(DType::f32, {270, 200}, Arrangement::dense, 9000);
}

TEST_F(Picking, TakesForEveryElementAlongEveryAxis) {
  const std::uint64_t seed = fresh_seed();
  for (const DType dtype : {DType::u8, DType::bf16, DType::f32, DType::f64}) {
    for (const Shape& shape : {Shape{64}, Shape{33, 64}, Shape{3, 40, 100}, Shape{7, 41}}) {
      for (const Arrangement arrangement : arrangements_for(shape)) {
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
          Shape picked = shape;
          picked[axis] = 52;
          const auto most = static_cast<double>(shape[axis]);
          for (const DType index : {DType::i32, DType::i64}) {
            expect_same("TakeAlongAxis", {{dtype, shape, arrangement}}, [&](Inputs in) {
              const Tensor indices = uniform(picked, {.key = seed, .low = -most, .high = most, .dtype = index});
              return take_along_axis(in[0], indices, static_cast<std::int64_t>(axis));
            });
          }
        }
      }
    }
  }
}

TEST_F(Picking, NamesAnIndexOutOfRangeAmongManyThatAreNot) {
  const Tensor indices = concat({zeros({4, 63}, DType::i64), full({4, 1}, 64, DType::i64)}, 1);
  try {
    gather(ones({4, 64}), 1, indices).sync();
    ADD_FAILURE() << "it was not noticed";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("64"), std::string::npos) << e.what();
  }
  clear_errors();
}

TEST_F(Picking, TakesAtIndicesInEveryLayout) {
  for (const Arrangement arrangement : all_arrangements) {
    expect_same("GatherV2", {{DType::f32, {9, 33}}, {DType::i32, {6, 10}, arrangement, Draw::moderate}},
                [](Inputs in) { return take(in[0], in[1]); });
    expect_same("GatherV2", {{DType::bf16, {9, 33}}, {DType::i64, {6, 10}, arrangement, Draw::moderate}},
                [](Inputs in) { return take(in[0], in[1], 1); });
  }
}

}  // namespace tutti::testing_cuda
