// Element-wise ops, casts, copies, fills and draws: the GPU gives what the CPU gives, on the GPU.
#include "cuda/against_cpu.h"

namespace tutti::testing_cuda {

namespace {

using ElementWise = AgainstCpu;

// Every shape in every pair of arrangements.
template <class Visit>
void for_each_pair(const Visit& visit) {
  for (const Shape& shape : small_shapes()) {
    for (const Arrangement a : arrangements_for(shape)) {
      for (const Arrangement b : arrangements_for(shape)) visit(shape, a, b);
    }
  }
  for (const Arrangement a : arrangements_for(long_shape())) visit(long_shape(), a, Arrangement::dense);
}

template <class Visit>
void for_each_arrangement(const Visit& visit) {
  for (const Shape& shape : small_shapes()) {
    for (const Arrangement arrangement : arrangements_for(shape)) visit(shape, arrangement);
  }
  for (const Arrangement arrangement : arrangements_for(long_shape())) visit(long_shape(), arrangement);
}

// Shapes that meet by broadcasting.
const std::pair<Shape, Shape> broadcasts[] = {
    {{17, 1}, {129}}, {{4, 1, 6}, {5, 1}},       {{}, {1000}},        {{1, 3}, {3, 1}},
    {{0, 4}, {1, 4}}, {{2, 1, 1, 7}, {3, 5, 1}}, {{3000, 1}, {1, 5}},
};

Tensor sum_of_two(Inputs in) { return add(in[0], in[1]); }
Tensor product_of_two(Inputs in) { return multiply(in[0], in[1]); }

}  // namespace

TEST_F(ElementWise, AddIsBitForBitTheCpus) {
  for (const DType dtype : all_dtypes) {
    for_each_pair([&](const Shape& shape, Arrangement a, Arrangement b) {
      expect_same("AddV2", {{dtype, shape, a}, {dtype, shape, b}}, sum_of_two);
    });
    for (const auto& [a, b] : broadcasts) {
      expect_same("AddV2", {{dtype, a}, {dtype, b}}, sum_of_two);
      expect_same("AddV2", {{dtype, b, Arrangement::shifted}, {dtype, a, Arrangement::backwards}}, sum_of_two);
    }
  }
}

TEST_F(ElementWise, MulIsBitForBitTheCpus) {
  for (const DType dtype : all_dtypes) {
    for_each_pair([&](const Shape& shape, Arrangement a, Arrangement b) {
      expect_same("Mul", {{dtype, shape, a}, {dtype, shape, b}}, product_of_two);
    });
    for (const auto& [a, b] : broadcasts) expect_same("Mul", {{dtype, a}, {dtype, b}}, product_of_two);
  }
}

TEST_F(ElementWise, NumbersAreOperandsToo) {
  for (const DType dtype : all_dtypes) {
    if (dtype == DType::boolean) continue;
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 9001}}) {
      for (const Arrangement arrangement : arrangements_for(shape)) {
        expect_same("AddV2", {{dtype, shape, arrangement}}, [](Inputs in) { return in[0] + 3; });
        expect_same("Mul", {{dtype, shape, arrangement}}, [](Inputs in) { return 2 * in[0]; });
      }
    }
  }
  expect_same("Mul", {{DType::i32, {100}}}, [](Inputs in) { return multiply(cast(in[0], DType::f32), 0.3); });
}

TEST_F(ElementWise, GivenAwayArgumentsAreUpdatedInPlace) {
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::i64}) {
    for (const Shape& shape : {Shape{7}, Shape{3, 9001}, long_shape()}) {
      expect_same("AddV2", {{dtype, shape}, {dtype, shape, Arrangement::backwards}}, [](Inputs in) {
        Tensor x = multiply(in[0], in[1]);
        return add(std::move(x), in[1]);
      });
    }
  }
}

TEST_F(ElementWise, ReluIsBitForBitTheCpus) {
  for (const DType dtype : all_dtypes) {
    if (dtype == DType::boolean) continue;
    for_each_arrangement([&](const Shape& shape, Arrangement arrangement) {
      expect_same("Relu", {{dtype, shape, arrangement}}, [](Inputs in) { return relu(in[0]); });
    });
  }
}

TEST_F(ElementWise, ExpIsWithinAFewUlpOfTheCpus) {
  for (const DType dtype : floating_dtypes) {
    const Tolerance tolerance{.ulps = dtype == DType::f32 || dtype == DType::f64 ? 3.0 : 1.0};
    const Function function = [](Inputs in) { return exp(in[0]); };
    for_each_arrangement([&](const Shape& shape, Arrangement arrangement) {
      expect_same("Exp", {{dtype, shape, arrangement, Draw::exponents}}, function, tolerance);
      expect_same("Exp", {{dtype, shape, arrangement, Draw::any}}, function, tolerance);
    });
  }
}

TEST_F(ElementWise, WhereChoosesBitForBit) {
  const Function choose = [](Inputs in) { return where(in[0], in[1], in[2]); };
  for (const DType dtype : all_dtypes) {
    for_each_pair([&](const Shape& shape, Arrangement condition, Arrangement a) {
      expect_same("SelectV2", {{DType::boolean, shape, condition}, {dtype, shape, a}, {dtype, shape}}, choose);
    });
    for (const auto& [a, b] : broadcasts) {
      expect_same("SelectV2", {{DType::boolean, a}, {dtype, b}, {dtype, {}}}, choose);
      expect_same("SelectV2", {{DType::boolean, {1}}, {dtype, b}, {dtype, a, Arrangement::backwards}}, choose);
    }
  }
}

// Bit for bit, since both add in the order of the inputs: a second rounding of a half would show.
TEST_F(ElementWise, AddNRoundsHalfPrecisionOnceHoweverManyThereAre) {
  const Function all = [](Inputs in) { return add_n(in); };
  for (const DType dtype : all_dtypes) {
    for (const int n : {1, 2, 3, 8, 9, 16, 17, 64, 65, 130}) {
      for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{1}, Shape{17, 129}}) {
        for (const Arrangement arrangement : arrangements_for(shape)) {
          if (n > 20 && arrangement != Arrangement::dense && arrangement != Arrangement::stepped) continue;
          // The first lies as the others do not, so that one of them is enough to leave the path for dense ones.
          std::vector<Input> inputs(static_cast<std::size_t>(n), Input{dtype, shape, Arrangement::dense, Draw::moderate});
          inputs[0].arrangement = arrangement;
          expect_same("AddN", inputs, all);
        }
      }
    }
    expect_same("AddN", std::vector<Input>(5, Input{dtype, long_shape(), Arrangement::dense, Draw::moderate}), all);
  }
}

TEST_F(ElementWise, CastsBetweenAllHundredPairsBitForBit) {
  for (const DType from : all_dtypes) {
    for (const DType to : all_dtypes) {
      // A cast to its own dtype is the tensor itself: nothing is placed.
      const std::string op = from == to ? "" : "Cast";
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{17, 129}, Shape{3, 9001}, long_shape()}) {
        for (const Arrangement arrangement : arrangements_for(shape)) {
          if (shape == long_shape() && arrangement != Arrangement::dense) continue;
          expect_same(op, {{from, shape, arrangement}}, [to](Inputs in) { return cast(in[0], to); });
        }
      }
    }
  }
}

TEST_F(ElementWise, FillsEveryDtypeAndShape) {
  for (const DType dtype : all_dtypes) {
    std::vector<Shape> shapes = small_shapes();
    shapes.push_back(long_shape());
    for (const Shape& shape : shapes) {
      expect_same("Fill", {}, [&](Inputs) { return full(shape, 1, dtype); });
      if (is_floating(dtype)) expect_same("Fill", {}, [&](Inputs) { return full(shape, -0.1, dtype); });
      expect_same("Fill", {{dtype, {}}}, [&](Inputs in) { return full(shape, in[0], dtype); });
    }
  }
}

TEST_F(ElementWise, DrawsTheCpusNumbersBitForBit) {
  for (const DType dtype : all_dtypes) {
    std::vector<Shape> shapes = small_shapes();
    shapes.push_back(long_shape());
    for (const Shape& shape : shapes) {
      for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
        for (const std::uint64_t counter : {std::uint64_t{0}, std::uint64_t{3}, (std::uint64_t{1} << 32U) - 2}) {
          expect_same("RandomUniform", {}, [&](Inputs) {
            return uniform(shape, {.key = key, .counter = counter, .low = 0, .high = 1, .dtype = dtype});
          });
          if (dtype == DType::boolean) continue;
          expect_same("RandomUniform", {}, [&](Inputs) {
            return uniform(shape, {.key = key, .counter = counter, .low = 3, .high = 117, .dtype = dtype});
          });
        }
      }
    }
  }
  expect_same("RandomUniform", {}, [&](Inputs) { return uniform({1000}, {.key = 1, .low = -3e38, .high = 1e37}); });
  expect_same("RandomUniform", {},
              [&](Inputs) { return uniform({1000}, {.key = 1, .low = -9e18, .high = 9e18, .dtype = DType::i64}); });
}

using Copies = AgainstCpu;

TEST_F(Copies, OfViewsKeepEveryBit) {
  for (const DType dtype : all_dtypes) {
    for_each_arrangement([&](const Shape& shape, Arrangement arrangement) {
      expect_same("", {{dtype, shape, arrangement}}, [](Inputs in) { return contiguous(in[0]); });
      expect_same("", {{dtype, shape, arrangement}}, [](Inputs in) {
        return reshape(in[0], {-1, *element_count(in[0].shape()) == 0 ? 1 : 1});
      });
    });
    // Axes in every order, and lengths around those of a tile.
    for (const Shape& shape : {Shape{31, 33, 65}, Shape{64, 8, 130}, Shape{9, 200, 3}}) {
      for (const Dims& axes : {Dims{0, 2, 1}, Dims{1, 0, 2}, Dims{1, 2, 0}, Dims{2, 0, 1}, Dims{2, 1, 0}}) {
        for (const Arrangement arrangement : {Arrangement::dense, Arrangement::shifted, Arrangement::backwards})
          expect_same("", {{dtype, shape, arrangement}}, [&](Inputs in) { return contiguous(permute_dims(in[0], axes)); });
      }
    }
  }
}

TEST_F(Copies, OfLinesThatAreNotAlignedAlikeKeepEveryBit) {
  const auto column = [](const Tensor& x) { return broadcast_to(slice(x, 1, {0, 1}), x.shape()); };
  for (const DType dtype : all_dtypes) {
    for (std::int64_t start = 0; start < 17; ++start) {
      const auto part = [=](Inputs in) { return slice(in[0], 1, {start, 2100 - start % 5}); };
      const Input x{dtype, {5, 2100}};
      expect_same("", {x}, [&](Inputs in) { return contiguous(part(in)); });
      expect_same("", {x}, [&](Inputs in) { return contiguous(flip(part(in), Dims{1})); });
      expect_same("", {x}, [&](Inputs in) { return contiguous(flip(part(in))); });
      expect_same("", {x}, [&](Inputs in) { return roll(part(in), {start + 1}, {1}); });
      expect_same("", {x}, [&](Inputs in) { return roll(column(part(in)), {start + 1}, {1}); });
    }
  }
}

TEST_F(Copies, PutPaddingAroundEveryLayout) {
  const std::vector<PadWidth> widths[] = {
      {{1, 1}, {1, 1}}, {{0, 3}, {17, 0}}, {{2, 0}, {0, 0}}, {{0, 0}, {0, 5}}, {{0, 0}, {0, 0}}};
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape : {Shape{5, 700}, Shape{300, 3}, Shape{1, 1}, Shape{64, 64}, Shape{0, 4}}) {
      for (const Arrangement arrangement : arrangements_for(shape)) {
        for (const std::vector<PadWidth>& width : widths)
          expect_same("", {{dtype, shape, arrangement}}, [&](Inputs in) { return pad(in[0], width, 1); });
      }
    }
    expect_same("", {{dtype, {3, 4, 50}}}, [](Inputs in) { return pad(in[0], {{1, 0}, {0, 2}, {0, 0}}, 1); });
    expect_same("", {{dtype, {90, 1}}}, [](Inputs in) { return pad(broadcast_to(in[0], {90, 700}), {{1, 2}}, 1); });
    expect_same("", {{dtype, {90, 700}}}, [](Inputs in) { return pad(flip(in[0]), {{1, 2}}, 1); });
  }
}

TEST_F(Copies, InAllDirectionsKeepEveryBit) {
  for (const DType dtype : all_dtypes) {
    for_each_arrangement([&](const Shape& shape, Arrangement arrangement) {
      expect_same("", {{dtype, shape, arrangement}}, [](Inputs in) { return copy_to(copy_to(in[0], "CPU:0"), in[0].device()); });
    });
  }
}

TEST_F(Copies, IntoAVariableSpreadWhatIsAssigned) {
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
    for (const Arrangement arrangement : all_arrangements) {
      expect_same("", {{dtype, {17, 129}}, {dtype, {17, 129}, arrangement}, {dtype, {129}}}, [](Inputs in) {
        Variable v(in[0]);
        v.assign(in[2]);
        v.assign_add(in[1]);
        return v.value();
      });
    }
  }
}

}  // namespace tutti::testing_cuda
