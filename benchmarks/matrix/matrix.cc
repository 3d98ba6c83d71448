#include "matrix.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string_view>

namespace matrix {

namespace {

using tutti::DType;
using tutti::Shape;
using tutti::Tensor;

bool has_layouts(Operands operands) {
  switch (operands) {
    case Operands::like:
    case Operands::sides:
    case Operands::sorted:
    case Operands::definite:
    case Operands::images:
    case Operands::shaped: return false;
    default: return true;
  }
}

Shape image_shape(std::int64_t side) {
  if (side == 32) return {1, 16, 8, 8};
  return side == 1024 ? Shape{4, 16, 128, 128} : Shape{64, 16, 256, 256};
}

Tensor laid_out(const Tensor& x, Layout layout) { return layout == Layout::transposed ? tutti::transpose(x) : x; }

Tensor sorted_values(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> draw(0.F, 1.F);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (static_cast<float>(i) + draw(random)) / static_cast<float>(count) * 2 - 1;
  }
  return tutti::constant(values, {count});
}

Tensor definite_matrix(std::int64_t side, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> draw(-1.F, 1.F);
  const auto n = static_cast<std::size_t>(side);
  std::vector<float> values(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) values[i * n + j] = values[j * n + i] = draw(random);
    values[i * n + i] = static_cast<float>(side);
  }
  return tutti::constant(values, {side, side});
}

double bytes_of(const Tensor& x) { return static_cast<double>(x.size()) * static_cast<double>(tutti::size_of(x.dtype())); }

}  // namespace

const char* to_string(Layout layout) {
  constexpr std::array names{"contiguous", "transposed"};
  return names[static_cast<std::size_t>(layout)];
}

const char* to_string(Operands operands) {
  constexpr std::array names{"one",    "two",  "pair",  "like",  "positive", "positives", "choice", "sparse",
                             "masked", "rows", "along", "sides", "sorted",   "definite",  "images", "shaped"};
  static_assert(names.size() == static_cast<std::size_t>(Operands::shaped) + 1);
  return names[static_cast<std::size_t>(operands)];
}

std::vector<Cell> cells(const std::string& filter, std::int64_t most_side) {
  std::vector<Cell> out;
  for (const std::int64_t side : all_sides) {
    if (side > most_side) continue;
    for (const Layout layout : all_layouts) {
      for (const Entry& entry : entries()) {
        if (entry.ours == nullptr || std::string_view(entry.name).find(filter) == std::string_view::npos) continue;
        if (layout != Layout::contiguous && !has_layouts(entry.operands)) continue;
        if (side > 1024 && entry.operands == Operands::definite) continue;
        if (side != 1024 && entry.operands == Operands::shaped) continue;
        for (const DType dtype : {DType::f32, DType::bf16, DType::i32, DType::boolean}) {
          const bool is_large = side > 1024 && dtype != DType::f32 && dtype != DType::boolean;
          if (entry.dtypes.contains(dtype) && !is_large) out.push_back({&entry, dtype, layout, side});
        }
      }
    }
  }
  return out;
}

Tensor Store::base(DType dtype, const Shape& shape, double low, double high, int number) {
  if (dtype == DType::i32) {
    low = low < 0 ? -100 : 1;
    high = 101;
  }
  Tensor& kept = made_[{dtype, *tutti::element_count(shape), low, number}];
  if (!kept.is_defined() || kept.shape() != shape) {
    const DType drawn = dtype == DType::boolean ? DType::i32 : dtype;
    const std::uint64_t key = seed_ + static_cast<std::uint64_t>(number);
    kept = tutti::cast(tutti::uniform(shape, {.key = key, .low = low, .high = high, .dtype = drawn}), dtype);
  }
  return kept;
}

Given Store::operands(const Cell& cell) {
  if (cell.side != side_) made_.clear();
  side_ = cell.side;
  const std::int64_t n = cell.side;
  const Shape square{n, n};
  const auto uniform = [&](DType dtype, int number) {
    return dtype == DType::boolean ? base(dtype, square, 0, 2, number) : base(dtype, square, -1, 1, number);
  };
  const auto indices = [&](const Shape& shape) { return base(DType::i64, shape, 0, static_cast<double>(n), 3); };
  const Layout layout = cell.layout;
  const DType dtype = cell.dtype;
  switch (cell.entry->operands.operands) {
    case Operands::one: return {laid_out(uniform(dtype, 0), layout), {}, {}};
    case Operands::two: return {laid_out(uniform(dtype, 0), layout), uniform(dtype, 1), {}};
    case Operands::pair: return {laid_out(uniform(dtype, 0), layout), uniform(dtype, 1), {}};
    case Operands::like: return {uniform(dtype, 0), {}, {}};
    case Operands::positive: return {laid_out(base(dtype, square, 1, 3, 0), layout), {}, {}};
    case Operands::positives: return {laid_out(base(dtype, square, 1, 3, 0), layout), base(dtype, square, 1, 3, 1), {}};
    case Operands::choice: return {uniform(DType::boolean, 2), laid_out(uniform(dtype, 0), layout), uniform(dtype, 1)};
    case Operands::sparse: return {laid_out(tutti::relu(uniform(dtype, 0)), layout), {}, {}};
    case Operands::masked: return {uniform(DType::boolean, 2), laid_out(uniform(dtype, 0), layout), {}};
    case Operands::rows: return {laid_out(uniform(dtype, 0), layout), indices({n}), {}};
    case Operands::along: return {laid_out(uniform(dtype, 0), layout), indices(square), {}};
    case Operands::sides: return {base(dtype, {n}, -1, 1, 0), base(dtype, {n}, -1, 1, 1), {}};
    case Operands::sorted: return {sorted_values(n * n, seed_), base(dtype, {n * n}, -1, 1, 1), {}};
    case Operands::definite: return {definite_matrix(n, seed_), uniform(dtype, 1), {}};
    case Operands::images: return {base(dtype, image_shape(n), -1, 1, 0), base(dtype, {16, 16, 3, 3}, -1, 1, 1), {}};
    case Operands::shaped: {
      Given out;
      Tensor* const all[] = {&out.x, &out.y, &out.z};
      for (int i = 0; i < 3; ++i) {
        const Shape& shape = cell.entry->operands.shapes[static_cast<std::size_t>(i)];
        if (!shape.empty()) *all[i] = base(dtype, shape, -1, 1, i);
      }
      return out;
    }
  }
  return {};
}

double terms_of(const Cell& cell, std::int64_t result_size) {
  const std::int64_t reduced = cell.side * cell.side / std::max<std::int64_t>(result_size, 1);
  return static_cast<double>(std::max(reduced, cell.entry->kind == Kind::work ? cell.side : 1));
}

double bytes_moved(const Cell& cell, const Given& given, const Tensor& result) {
  const double written = bytes_of(result);
  if (cell.entry->operands == Operands::rows) return 2 * written;  // only what was picked is read
  if (cell.entry->operands == Operands::like) return written;
  double bytes = written;
  for (const Tensor* each : {&given.x, &given.y, &given.z}) {
    if (each->is_defined()) bytes += bytes_of(*each);
  }
  return bytes;
}

}  // namespace matrix
