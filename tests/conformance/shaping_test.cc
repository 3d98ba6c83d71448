// Sums, products, picking and reshaping give right values on every backend.
#include <cmath>

#include "conformance/backend.h"
#include "conformance/samples.h"

namespace tutti::conformance {

class Shaping : public OnBackend {};
TUTTI_ON_EVERY_BACKEND(Shaping);

TEST_P(Shaping, SumsEveryDtypeOverAllAxesAndOverOne) {
  for (const DType dtype : all_dtypes) {
    for (const Sample& x : three_by_four(dtype)) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << ": " << x.name);
      double total = 0;
      std::vector<double> by_row(3, 0.0);
      std::vector<double> by_column(4, 0.0);
      for (std::size_t i = 0; i < 12; ++i) {
        total += x.values[i];
        by_row[i / 4] += x.values[i];
        by_column[i % 4] += x.values[i];
      }
      const Tensor all = sum(x.tensor);
      EXPECT_EQ(all.dtype(), is_floating(dtype) ? dtype : DType::i64);
      EXPECT_EQ(all.shape(), Shape{});
      EXPECT_EQ(read_values(all), std::vector<double>{total});
      EXPECT_EQ(read_values(sum(x.tensor, {1})), by_row);
      EXPECT_EQ(read_values(sum(x.tensor, {-2})), by_column);
      EXPECT_EQ(sum(x.tensor, {0}, {.keepdims = true}).shape(), (Shape{1, 4}));
      EXPECT_EQ(read_values(sum(x.tensor, Dims{})), x.values);
    }
  }
}

TEST_P(Shaping, SumsLongRowsExactly) {
  std::vector<std::int32_t> values;
  std::int64_t total = 0;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back((i * 7919) % 2001 - 1000);
    total += values.back();
  }
  EXPECT_EQ(item<std::int64_t>(sum(constant(values, {100'000}))), total);
  EXPECT_EQ(item<std::int64_t>(sum(slice(constant(values, {100'000}), 0, {.start = {}, .stop = {}, .step = -1}))), total);
}

TEST_P(Shaping, MultipliesMatricesSeenThroughEveryView) {
  for (const DType dtype : {DType::i32, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const Sample& a : three_by_four(dtype)) {
      for (const Sample& b : three_by_four(dtype, 5)) {
        SCOPED_TRACE(testing::Message() << to_string(dtype) << ": " << a.name << " x " << b.name);
        std::vector<double> expected(9, 0.0);
        for (std::size_t i = 0; i < 3; ++i) {
          for (std::size_t j = 0; j < 3; ++j) {
            for (std::size_t k = 0; k < 4; ++k) expected[i * 3 + j] += a.values[i * 4 + k] * b.values[j * 4 + k];
          }
        }
        const Tensor c = matmul(a.tensor, transpose(b.tensor));
        EXPECT_EQ(c.dtype(), dtype);
        EXPECT_EQ(read_values(c), expected);
      }
    }
  }
}

TEST_P(Shaping, MultipliesVectorsAndBatches) {
  const Tensor m = constant({{1.F, 2.F}, {3.F, 4.F}});
  const Tensor v = constant({5.F, 6.F});
  EXPECT_EQ(read<float>(matmul(m, v)), (std::vector<float>{17, 39}));
  EXPECT_EQ(read<float>(matmul(v, m)), (std::vector<float>{23, 34}));
  EXPECT_EQ(item<float>(matmul(v, v)), 61);
  const Tensor batch = constant({{{1.F, 0.F}, {0.F, 1.F}}, {{0.F, 1.F}, {1.F, 0.F}}});
  EXPECT_EQ(read<float>(matmul(batch, m)), (std::vector<float>{1, 2, 3, 4, 3, 4, 1, 2}));
  EXPECT_THROW(matmul(m, zeros({3, 2})), ShapeError);
}

TEST_P(Shaping, MultipliesLargerMatricesOfSmallIntegersExactly) {
  const std::int64_t n = 70;
  std::vector<float> a;
  std::vector<float> b;
  for (std::int64_t i = 0; i < n * n; ++i) {
    a.push_back(static_cast<float>(i * 31 % 7 - 3));
    b.push_back(static_cast<float>(i * 17 % 5 - 2));
  }
  const std::vector<float> c = read<float>(matmul(constant(a, {n, n}), constant(b, {n, n})));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float expected = 0;
      for (std::int64_t k = 0; k < n; ++k) expected += a[i * n + k] * b[k * n + j];
      ASSERT_EQ(c[i * n + j], expected) << i << ", " << j;
    }
  }
}

TEST_P(Shaping, TakesElementsAlongAnAxis) {
  for (const DType dtype : all_dtypes) {
    for (const Sample& x : three_by_four(dtype)) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << ": " << x.name);
      std::vector<double> rows;
      std::vector<double> columns;
      for (const std::size_t i : {2U, 0U, 2U}) rows.insert(rows.end(), x.values.begin() + 4 * i, x.values.begin() + 4 * i + 4);
      for (const std::size_t i : {0U, 1U, 2U}) {
        for (const std::size_t j : {3U, 1U}) columns.push_back(x.values[4 * i + j]);
      }
      EXPECT_EQ(read_values(take(x.tensor, constant({std::int64_t{2}, std::int64_t{0}, std::int64_t{-1}}))), rows);
      EXPECT_EQ(read_values(take(x.tensor, constant({std::int32_t{-1}, std::int32_t{1}}), 1)), columns);
    }
  }
}

TEST_P(Shaping, FindsAndCountsWhatIsNotZero) {
  for (const DType dtype : all_dtypes) {
    for (const Sample& x : three_by_four(dtype)) {
      SCOPED_TRACE(testing::Message() << to_string(dtype) << ": " << x.name);
      std::vector<std::int64_t> expected;
      for (std::int64_t i = 0; i < 12; ++i) {
        if (x.values[static_cast<std::size_t>(i)] == 0) continue;
        expected.push_back(i / 4);
        expected.push_back(i % 4);
      }
      EXPECT_EQ(item<std::int64_t>(count_nonzero(x.tensor)), static_cast<std::int64_t>(expected.size() / 2));
      const Tensor found = nonzero(x.tensor);
      EXPECT_EQ(found.shape(), (Shape{static_cast<std::int64_t>(expected.size() / 2), 2}));
      EXPECT_EQ(read<std::int64_t>(found), expected);
    }
  }
}

TEST_P(Shaping, ReshapesAndDensifiesWithoutChangingElements) {
  for (const Sample& x : three_by_four(DType::i16)) {
    SCOPED_TRACE(x.name);
    const Tensor flat = reshape(x.tensor, {-1});
    EXPECT_EQ(flat.shape(), Shape{12});
    EXPECT_EQ(read_values(flat), x.values);
    EXPECT_EQ(read_values(reshape(x.tensor, {2, 3, 2})), x.values);
    const Tensor dense = contiguous(x.tensor);
    EXPECT_TRUE(dense.is_contiguous());
    EXPECT_EQ(dense.shape(), (Shape{3, 4}));
    EXPECT_EQ(read_values(dense), x.values);
  }
}

TEST_P(Shaping, AcceptsTensorsWithoutElements) {
  const Tensor none = zeros({0, 3});
  EXPECT_EQ(none.size(), 0);
  EXPECT_TRUE(read<float>(none).empty());
  EXPECT_EQ((none + constant({1.F, 2.F, 3.F})).shape(), (Shape{0, 3}));
  EXPECT_EQ(item<float>(sum(none)), 0);
  EXPECT_EQ(read<float>(sum(none, {0})), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(read<float>(matmul(zeros({2, 0}), zeros({0, 2}))), (std::vector<float>(4, 0)));
  EXPECT_EQ(nonzero(none).shape(), (Shape{0, 2}));
  EXPECT_EQ(item<std::int64_t>(count_nonzero(none)), 0);
  EXPECT_TRUE(read<float>(take(none, constant(std::vector<std::int64_t>{}, {0}))).empty());
  EXPECT_TRUE(read<float>(copy_to(none, device(1))).empty());
  EXPECT_TRUE(read<std::int32_t>(cast(none, DType::i32)).empty());
  EXPECT_TRUE(read_async<float>(none).get_all().empty());
  EXPECT_TRUE(read<float>(exp(slice(ones({4}), 0, {.start = 2, .stop = 2}))).empty());
}

}  // namespace tutti::conformance
