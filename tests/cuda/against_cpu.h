// One op on the GPU and on the CPU over the same random inputs: where it ran is checked, then what came out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cuda/gpu.h"

namespace tutti::testing_cuda {

inline constexpr DType all_dtypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                                       DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};
inline constexpr DType floating_dtypes[] = {DType::f16, DType::bf16, DType::f32, DType::f64};

// How an input's elements arrangement in memory.
enum class Arrangement : std::uint8_t { dense, transposed, stepped, backwards, shifted, expanded };
inline constexpr Arrangement all_arrangements[] = {Arrangement::dense,     Arrangement::transposed, Arrangement::stepped,
                                                   Arrangement::backwards, Arrangement::shifted,    Arrangement::expanded};
// Those that make sense of the shape: a scalar lies in one way, and long vectors take the host long.
std::vector<Arrangement> arrangements_for(const Shape& shape);

// Which elements are drawn.
enum class Draw : std::uint8_t {
  any,        // any bits one time in two (NaN, infinities, subnormals among them), else as `moderate`
  moderate,   // -4 ... 4, whole numbers for integers
  exponents,  // what exp makes anything from 0 to infinity of
  sparse,     // zero, of either sign, one time in two, else as `any`
};

struct Input {
  DType dtype;
  Shape shape;
  Arrangement arrangement = Arrangement::dense;
  Draw draw = Draw::any;
};

using Inputs = std::span<const Tensor>;
using Function = std::function<Tensor(Inputs)>;

// How far the two may be apart. u is half the distance from 1 to the next number: 2^-24 for f32, 2^-53 for f64, 2^-11 for f16,
// 2^-8 for bf16.
//
// | op                              | allowed difference               | because                                               |
// |---------------------------------|----------------------------------|-------------------------------------------------------|
// | integers, bool, copies, casts,  | none; any NaN is any other       | each result is one exact or one correctly rounded     |
// | draws, add, multiply, relu,     |                                  | operation, the same on both                           |
// | where                           |                                  |                                                       |
// | add_n                           | none; any NaN is any other       | the same additions in the same order; halves in f32,  |
// |                                 |                                  | rounded once at the end                               |
// | exp, f32 and f64                | 3 ulp                            | 2 ulp on the CPU without a fused multiply-add, 1 here |
// | exp, f16 and bf16               | 1 ulp                            | computed in f32: the roundings of two numbers that    |
// |                                 |                                  | close are neighbours at most                          |
// | sum of n                        | 2 min(n, 300) u sum|x|           | no chain is longer than 256, chains are joined in     |
// |                                 |                                  | pairs: 300 covers the joints of any length            |
// | matmul over k                   | 2 k u sum|a||b|                  | k products and k - 1 additions, fused or not          |
// | the last two, f16 and bf16      | the same with f32's u, and       | added up in f32 and rounded once at the end, on each  |
// |                                 | 2 u |result| with their own      | side                                                  |
struct Tolerance {
  double ulps = 0;
  double steps = 0;              // the factor of u in the bound
  Function magnitude = nullptr;  // gets the absolute inputs, in f64, and gives what the bound is relative to
};
inline constexpr int longest_chain = 300;
// u of what a dtype is computed in, and of the dtype itself.
double working_rounding(DType dtype);
double own_rounding(DType dtype);

// One test's comparisons. After a few differences it says no more.
class AgainstCpu : public OnGpu {
 protected:
  void SetUp() override;

  // `op`: the name the placement record must show, on the GPU; empty where none is recorded (contiguous).
  void expect_same(const std::string& op, const std::vector<Input>& inputs, const Function& function,
                   const Tolerance& tolerance = {});

 private:
  std::vector<std::byte> draw(const Input& input, std::int64_t count);
  std::uint64_t next();

  std::uint64_t seed_ = 0;
  std::uint64_t state_ = 0;
  int complaints_ = 0;
};

// Scalars, empty ones, odd sizes, rows longer than 8 KiB.
std::vector<Shape> small_shapes();
// Whether a tool makes every element dear (TUTTI_TEST_SMALL=1).
bool is_small_run();
// 2^20 + 3 elements; fewer in a small run.
Shape long_shape();

}  // namespace tutti::testing_cuda
