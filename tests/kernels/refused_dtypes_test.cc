// A kernel that is handed a dtype it was not written for says so, and does not read the elements as another's.
#include "kernels/operands.h"
#include "tutti/base/error.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/exec/random_attributes.h"

namespace tutti::testing {

namespace {

template <class T = int>
void expect_refused(const char* op, const std::vector<DType>& inputs, DType output, const T& attributes = T{}) {
  SCOPED_TRACE(op);
  Random random(1);
  Threads one(1);
  std::vector<Array> arrays;
  std::vector<const Array*> given;
  for (const DType dtype : inputs) arrays.emplace_back(dtype, Sizes{2, 2}, Lie::dense, random);
  for (Array& array : arrays) {
    array.fill(random);
    given.push_back(&array);
  }
  const Array out(output, {2, 2}, Lie::dense, random);
  EXPECT_THROW(run_kernel(host_kernel(op), one, given, out, attributes), InvalidArgument);
}

}  // namespace

TEST(RefusedDTypes, IntegersAreNotTakenForFloats) {
  expect_refused("Softmax", {DType::i32}, DType::i32, SoftmaxAttributes{});
  expect_refused("LogSoftmax", {DType::i64}, DType::i64, SoftmaxAttributes{});
  expect_refused("LayerNorm", {DType::i32}, DType::i32, LayerNormAttributes{});
  expect_refused("Dropout", {DType::i32}, DType::i32, DropoutAttributes{});
  expect_refused("RandomStandardNormal", {}, DType::i32, NormalAttributes{});
  expect_refused("SparseSoftmaxCrossEntropyWithLogits", {DType::i32, DType::i64}, DType::i32, CrossEntropyAttributes{});
  expect_refused("CrossEntropyMean", {DType::i32, DType::i64}, DType::i32, CrossEntropyAttributes{});
}

TEST(RefusedDTypes, BytesAreNotTakenForIndices) {
  expect_refused("OneHot", {DType::u8}, DType::f32, OneHotAttributes{.depth = 1});
  expect_refused("SparseSoftmaxCrossEntropyWithLogits", {DType::f32, DType::u8}, DType::f32, CrossEntropyAttributes{});
}

}  // namespace tutti::testing
