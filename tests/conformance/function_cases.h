// A call of every function that makes a tensor, for tests that must hold for each: recording, gradients.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::conformance {

// What the functions are called with: other values for every key. Floats have the dtype asked for.
struct Inputs {
  Tensor x, y;                // (4, 6), between 0.1 and 0.9
  Tensor matrix;              // (6, 4)
  Tensor line;                // (6)
  Tensor square;              // (4, 4), positive definite
  Tensor images, weight;      // (2, 3, 8, 8) and (4, 3, 3, 3)
  Tensor whole, other_whole;  // i32 (4, 6), 1 to 8
  Tensor places;              // i64 (4), below 4, each once
  Tensor columns;             // i64 (4, 6), below 6
  Tensor mask;                // bool (4, 6)

  explicit Inputs(std::uint64_t key, DType dtype = DType::f32) {
    const auto floats = [&](const Shape& shape) {
      return uniform(shape, {.key = ++key, .low = 0.1, .high = 0.9, .dtype = dtype});
    };
    x = floats({4, 6});
    y = floats({4, 6});
    matrix = floats({6, 4});
    line = floats({6});
    const Tensor root = floats({4, 4});
    square = matmul(root, transpose(root)) + eye(4);
    images = floats({2, 3, 8, 8});
    weight = floats({4, 3, 3, 3});
    whole = randint({4, 6}, 1, 8, {.key = ++key, .dtype = DType::i32});
    other_whole = randint({4, 6}, 1, 4, {.key = ++key, .dtype = DType::i32});
    places = permutation(4, {.key = ++key});
    columns = randint({4, 6}, 0, 6, {.key = ++key});
    mask = bernoulli({4, 6}, 0.5, {.key = ++key});
  }
  [[nodiscard]] std::vector<Tensor> all() const {
    return {x, y, matrix, line, square, images, weight, whole, other_whole, places, columns, mask};
  }
};

using Results = std::vector<Tensor>;
struct Case {
  const char* function;
  std::function<Results(const Inputs&)> call;
};

// Of the devices that meshes in the cases are made of.
extern std::string type_under_test;

const std::vector<Case>& cases();

}  // namespace tutti::conformance
