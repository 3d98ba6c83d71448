// A call of every function that makes a tensor, to be recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::conformance {

// What the functions are called with: other values for every key.
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

  explicit Inputs(std::uint64_t key);
  [[nodiscard]] std::vector<Tensor> all() const;
  // Each of them changed.
  [[nodiscard]] Inputs with(const std::function<Tensor(const Tensor&)>& change) const;
};

using Results = std::vector<Tensor>;
struct Case {
  const char* function;
  std::function<Results(const Inputs&)> call;
};

// The meshes among them are of the two devices of this type.
const std::vector<Case>& cases_on(const std::string& type);

}  // namespace tutti::conformance
