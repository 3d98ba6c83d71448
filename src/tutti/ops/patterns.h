// Tensors made by a rule: ranges, identity matrices, grids, triangles.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tutti/exec/manipulation_attributes.h"
#include "tutti/ops/tensor_arg.h"

namespace tutti {

// A C++ number, whole or real, as it was written.
class NumberArg {
 public:
  template <Number T>
  NumberArg(T value) noexcept : value_(TensorArg(value).number()) {}
  [[nodiscard]] const WeakScalar& value() const noexcept { return value_; }

 private:
  WeakScalar value_;
};

struct ArangeOptions {
  std::optional<DType> dtype = {};  // int64 for whole numbers, else float32
};
// start, start + step, ... as long as stop is not reached.
Tensor arange(NumberArg start, NumberArg stop, NumberArg step, const ArangeOptions& options = {}, Site site = {});
// By 1.
Tensor arange(NumberArg start, NumberArg stop, const ArangeOptions& options = {}, Site site = {});
// From 0.
Tensor arange(NumberArg stop, const ArangeOptions& options = {}, Site site = {});

struct LinspaceOptions {
  bool endpoint = true;  // stop is the last element; otherwise the first that is left out
  DType dtype = DType::f32;
};
// So many numbers at equal distances.
Tensor linspace(double start, double stop, std::int64_t count, const LinspaceOptions& options = {}, Site site = {});

struct EyeOptions {
  std::int64_t offset = 0;  // of the ones, above the main diagonal
  DType dtype = DType::f32;
};
Tensor eye(std::int64_t rows, std::int64_t columns, const EyeOptions& options = {}, Site site = {});
// As many columns as rows.
Tensor eye(std::int64_t rows, const EyeOptions& options = {}, Site site = {});

// The last two axes as matrices: what lies on and below the diagonal (tril) or on and above it (triu), zeros elsewhere.
// `offset` moves the diagonal up.
Tensor tril(const Tensor& x, std::int64_t offset = 0, Site site = {});
Tensor triu(const Tensor& x, std::int64_t offset = 0, Site site = {});

enum class Indexing : std::uint8_t { xy, ij };
struct MeshgridOptions {
  Indexing indexing = Indexing::xy;  // xy: the first two axes are swapped
};
// From n vectors, n views with n axes each: the coordinates of a grid.
std::vector<Tensor> meshgrid(std::span<const Tensor> vectors, const MeshgridOptions& options = {}, Site site = {});
inline std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, const MeshgridOptions& options = {}, Site site = {}) {
  return meshgrid(std::span(vectors), options, site);
}

namespace detail {
// The diagonals of matrices that the band holds, zeros elsewhere.
Tensor band_of(const Tensor& x, const BandAttributes& which, Site site);
// 0, 1, ... below count, where `like` is.
Tensor positions(std::int64_t count, const Tensor& like, Site site);
}  // namespace detail

}  // namespace tutti
