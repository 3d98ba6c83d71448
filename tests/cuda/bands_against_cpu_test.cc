// Triangles of matrices that arrangement in every way: the GPU gives what the CPU gives, on the GPU.
#include "cuda/against_cpu.h"

namespace tutti::testing_cuda {

using Bands = AgainstCpu;

TEST_F(Bands, AreTheSameInEveryLayout) {
  const Shape shapes[] = {{1, 1}, {0, 5}, {17, 129}, {3, 5, 7}, {2, 61, 73}, {128, 64}, {2, 60, 72}};
  for (const DType dtype : {DType::boolean, DType::bf16, DType::f32, DType::i64}) {
    for (const Shape& shape : shapes) {
      for (const Arrangement arrangement : all_arrangements) {
        for (const std::int64_t offset : {-70, -3, 0, 2, 200}) {
          expect_same("MatrixBandPart", {{dtype, shape, arrangement}}, [&](Inputs in) { return tril(in[0], offset); });
          expect_same("MatrixBandPart", {{dtype, shape, arrangement}}, [&](Inputs in) { return triu(in[0], offset); });
        }
      }
    }
  }
}

TEST_F(Bands, OfLargeTransposedMatricesAreTheSame) {
  for (const Arrangement arrangement : {Arrangement::transposed, Arrangement::expanded})
    expect_same("MatrixBandPart", {{DType::f32, {1000, 1030}, arrangement}}, [](Inputs in) { return tril(in[0]); });
}

}  // namespace tutti::testing_cuda
