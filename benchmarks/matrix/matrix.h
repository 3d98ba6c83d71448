// The matrix of ops x dtypes x layouts x sizes: its entries, and the operands of a cell.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tutti/tutti.h"

namespace matrix {

enum class Layout : std::uint8_t { contiguous, transposed };
inline constexpr std::array all_layouts{Layout::contiguous, Layout::transposed};
const char* to_string(Layout layout);

// The side of a square of 1 Ki, 1 Mi and 64 Mi elements.
inline constexpr std::array<std::int64_t, 3> all_sides{32, 1024, 8192};

// Fresh random numbers: floats from -1 to 1, integers from -100 to 100, unless said otherwise. The layout is that of x.
enum class Operands : std::uint8_t {
  one,
  two,
  pair,       // x and y of one shape, whatever the layout of x
  like,       // x, of which only the shape counts
  positive,   // x from 1 to 3; integers from 1 to 100
  positives,  // x and y like that
  choice,     // x: bool; y and z of the dtype, and y has the layout
  sparse,     // one, half of it zeros
  masked,     // x: bool, y of the dtype
  rows,       // y: one index per row (int64)
  along,      // y: one index per element (int64)
  sides,      // x and y: vectors as long as a side
  sorted,     // x: a sorted vector; y: what is looked for in it
  definite,   // x: symmetric and positive definite; y: a matrix
  images,     // x: a batch of images with 16 channels; y: 16 kernels of 3 x 3
  shaped,     // as the entry says
};
// What an entry takes: operands of any size, or of these shapes.
struct Taken {
  Taken(Operands kind, const std::array<tutti::Shape, 3>& of = {}) : operands(kind), shapes(of) {}
  operator Operands() const { return operands; }

  Operands operands;
  std::array<tutti::Shape, 3> shapes;
};
inline Taken shaped(const tutti::Shape& x, const tutti::Shape& y = {}, const tutti::Shape& z = {}) {
  return {Operands::shaped, {x, y, z}};
}

const char* to_string(Operands operands);

inline constexpr tutti::DTypes f32_only{tutti::DType::f32};
inline constexpr tutti::DTypes bools{tutti::DType::boolean};
inline constexpr tutti::DTypes integers{tutti::DType::i32};
inline constexpr tutti::DTypes floats{tutti::DType::f32, tutti::DType::bf16};
inline constexpr tutti::DTypes numbers = floats | integers;

enum class Kind : std::uint8_t { pass, work, draw };

using Ours = tutti::Tensor (*)(const tutti::Tensor& x, const tutti::Tensor& y, const tutti::Tensor& z);

struct Entry {
  const char* name;
  Kind kind;
  tutti::DTypes dtypes;
  Taken operands;
  const char* theirs;   // as it is written
  Ours ours = nullptr;  // null: there is no such function
};

// The function of an entry if its expression compiles.
template <class F>
constexpr Ours if_possible(F function) {
  if constexpr (std::is_invocable_v<F, const tutti::Tensor&, const tutti::Tensor&, const tutti::Tensor&>) {
    return function;
  } else {
    return nullptr;
  }
}

// One per line of entries.inc, in its order.
std::span<const Entry> entries();

struct Cell {
  const Entry* entry = nullptr;
  tutti::DType dtype = tutti::DType::f32;
  Layout layout = Layout::contiguous;
  std::int64_t side = 0;
};

// Those that make sense, the smallest size first, f32 alone for the largest. `filter`: part of the entry's name.
std::vector<Cell> cells(const std::string& filter, std::int64_t most_side);

struct Given {
  tutti::Tensor x;
  tutti::Tensor y;
  tutti::Tensor z;
};

// Makes operands on the current device, and keeps them for the cells of one size.
class Store {
 public:
  explicit Store(std::uint64_t seed) : seed_(seed) {}
  Given operands(const Cell& cell);

 private:
  tutti::Tensor base(tutti::DType dtype, const tutti::Shape& shape, double low, double high, int number);

  std::uint64_t seed_;
  std::int64_t side_ = 0;
  std::map<std::tuple<tutti::DType, std::int64_t, double, int>, tutti::Tensor> made_;
};

// About how many elements an element of a result of that size is made from, and so how far off it may be.
double terms_of(const Cell& cell, std::int64_t result_size);
// What has to be read and written at least: every element the operands have in memory, and the result.
double bytes_moved(const Cell& cell, const Given& given, const tutti::Tensor& result);

}  // namespace matrix
