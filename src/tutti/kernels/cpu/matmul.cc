#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "tutti/kernels/cpu/bf16_product.h"
#include "tutti/kernels/cpu/blas.h"
#include "tutti/kernels/cpu/dot.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/kernels.h"
#include "tutti/kernels/cpu/products.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

constexpr std::int64_t serial_products = 1 << 20;  // multiplications below which a second core costs more than it saves

// One matrix of a batch: the last two axes of an operand.
struct Matrix {
  std::byte* data;
  DType dtype;
  Axis rows;
  Axis columns;

  [[nodiscard]] Matrix part(std::int64_t row, std::int64_t n_rows, std::int64_t column, std::int64_t n_columns) const {
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    std::byte* first = data + (row * rows.stride + column * columns.stride) * size;
    return {first, dtype, {n_rows, rows.stride}, {n_columns, columns.stride}};
  }
  [[nodiscard]] Matrix transposed() const { return {data, dtype, columns, rows}; }
  [[nodiscard]] Operand operand() const {
    Operand result;
    result.data = data;
    result.dtype = dtype;
    result.rank = 2;
    result.axes[0] = rows;
    result.axes[1] = columns;
    return result;
  }
};

// As BLAS takes it, if one of the strides is 1 and the other large enough. An axis of size 1 may have any stride.
template <class T>
std::optional<BlasMatrix<T>> as_blas(const Matrix& m) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (m.rows.size > most || m.columns.size > most) return std::nullopt;
  const auto lead = [](const Axis& outer, const Axis& inner) {
    if (inner.size != 1 && inner.stride != 1) return std::int64_t{0};
    if (outer.size == 1) return std::max<std::int64_t>(inner.size, 1);
    return outer.stride >= inner.size && outer.stride <= most ? outer.stride : 0;
  };
  T* data = reinterpret_cast<T*>(m.data);
  if (const std::int64_t by_rows = lead(m.rows, m.columns); by_rows > 0) {
    return BlasMatrix<T>{data, static_cast<std::int32_t>(by_rows), false};
  }
  if (const std::int64_t by_columns = lead(m.columns, m.rows); by_columns > 0) {
    return BlasMatrix<T>{data, static_cast<std::int32_t>(by_columns), true};
  }
  return std::nullopt;
}

// c = a b on this thread, straight from where the operands are; false if BLAS cannot take them.
template <class T>
bool multiply_in_place(const Matrix& a, const Matrix& b, const Matrix& c) {
  const auto left = as_blas<const T>(a);
  const auto right = as_blas<const T>(b);
  auto result = as_blas<T>(c);
  if (!left || !right || !result) return false;
  const auto m = static_cast<std::int32_t>(a.rows.size);
  const auto k = static_cast<std::int32_t>(a.columns.size);
  const auto n = static_cast<std::int32_t>(b.columns.size);
  const auto step = [](const Axis& axis) {
    return axis.size == 1 ? 1 : axis.stride > 0 && axis.stride < std::numeric_limits<std::int32_t>::max() ? axis.stride : 0;
  };
  if (n == 1 && step(b.rows) > 0 && step(c.rows) > 0) {
    blas_multiply_vector<T>(m, k, *left, right->data, static_cast<std::int32_t>(step(b.rows)), result->data,
                            static_cast<std::int32_t>(step(c.rows)));
    return true;
  }
  if (result->by_columns) return multiply_in_place<T>(b.transposed(), a.transposed(), c.transposed());
  blas_multiply<T>(m, n, k, *left, *right, T{0}, *result);
  return true;
}

void multiply_panels(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, bool is_first) {
  const auto lead = [](std::int64_t x) { return static_cast<std::int32_t>(x); };
  blas_multiply<float>(lead(m), lead(n), lead(k), {a, lead(k), false}, {b, lead(n), false}, is_first ? 0.0F : 1.0F,
                       {c, lead(n), false});
}
void multiply_panels(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b, double* c, bool is_first) {
  const auto lead = [](std::int64_t x) { return static_cast<std::int32_t>(x); };
  blas_multiply<double>(lead(m), lead(n), lead(k), {a, lead(k), false}, {b, lead(n), false}, is_first ? 0.0 : 1.0,
                        {c, lead(n), false});
}
template <class T>
void multiply_panels(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b, T* c, bool is_first) {
  if (is_first) std::fill_n(c, m * n, T{0});
  const auto sizes = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  if constexpr (sizeof(T) == 4) {
    product_rows().multiply32(sizes(m), sizes(n), sizes(k), reinterpret_cast<const std::uint32_t*>(a),
                              reinterpret_cast<const std::uint32_t*>(b), reinterpret_cast<std::uint32_t*>(c));
  } else {
    product_rows().multiply64(sizes(m), sizes(n), sizes(k), reinterpret_cast<const std::uint64_t*>(a),
                              reinterpret_cast<const std::uint64_t*>(b), reinterpret_cast<std::uint64_t*>(c));
  }
}

// Any dtype and strides: panels are packed as the working type, multiplied, and the sum is rounded once.
template <class T>
void multiply_packed(const Matrix& a, const Matrix& b, const Matrix& c) {
  constexpr std::int64_t most_rows = 256;
  constexpr std::int64_t most_columns = 512;
  constexpr std::int64_t most_depth = 512;
  const std::int64_t m = c.rows.size;
  const std::int64_t n = c.columns.size;
  const std::int64_t k = a.columns.size;
  const std::int64_t rows = std::min(m, most_rows);
  const std::int64_t columns = std::min(n, most_columns);
  const std::int64_t depth = std::min(k, most_depth);
  const std::int64_t elements = rows * depth + depth * columns + rows * columns;
  const auto room = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(elements));
  T* const left = room.get();
  T* const right = left + rows * depth;
  T* const result = right + depth * columns;
  constexpr DType as = dtype_of<T>;
  Scratch scratch;
  const auto pack = [](const Matrix& from, T* to) {
    Reader(from.operand(), as).read_into(0, from.rows.size * from.columns.size, reinterpret_cast<std::byte*>(to));
  };
  for (std::int64_t j = 0; j < n; j += columns) {
    const std::int64_t some_columns = std::min(columns, n - j);
    for (std::int64_t i = 0; i < m; i += rows) {
      const std::int64_t some_rows = std::min(rows, m - i);
      for (std::int64_t l = 0; l < k; l += depth) {
        const std::int64_t some_depth = std::min(depth, k - l);
        pack(a.part(i, some_rows, l, some_depth), left);
        pack(b.part(l, some_depth, j, some_columns), right);
        multiply_panels(some_rows, some_columns, some_depth, left, right, result, l == 0);
      }
      const Writer writer(c.part(i, some_rows, j, some_columns).operand(), as);
      const std::int64_t all = some_rows * some_columns;
      for (std::int64_t at = 0; at < all; at += block_elements) {
        writer.write(at, std::min(block_elements, all - at), reinterpret_cast<const std::byte*>(result + at), scratch);
      }
    }
  }
}

void multiply_one(const Matrix& a, const Matrix& b, const Matrix& c) {
  const bool is_one_dtype = a.dtype == c.dtype && b.dtype == c.dtype;
  if (is_one_dtype && c.dtype == DType::f32 && multiply_in_place<float>(a, b, c)) return;
  if (is_one_dtype && c.dtype == DType::f64 && multiply_in_place<double>(a, b, c)) return;
  if (is_one_dtype && c.dtype == DType::bf16 && multiply_bf16(a.operand(), b.operand(), c.operand())) return;
  visit_dtype<working_dtypes>(working_dtype(c.dtype), [&]<class T>(T) { multiply_packed<T>(a, b, c); });
}

// How one product is cut over the cores: bands of rows first, for a band of columns makes every core pack all of a.
struct Grid {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};
Grid grid_for(std::int64_t m, std::int64_t n, std::int64_t cores) {
  constexpr std::int64_t least = 32;  // thinner bands leave the inner loops half empty
  Grid grid;
  grid.rows = std::clamp<std::int64_t>(m / least, 1, cores);
  grid.columns = std::clamp<std::int64_t>(n / least, 1, std::max<std::int64_t>(1, cores / grid.rows));
  // Many cores: closer to squares, which share less work.
  while (grid.rows % 2 == 0 && m / grid.rows < n / grid.columns / 4 && n / (grid.columns * 2) >= least) {
    grid.rows /= 2;
    grid.columns *= 2;
  }
  return grid;
}

// The batch axes of the operands, and where matrix i of the batch lies.
struct Batch {
  const Operand& operand;
  [[nodiscard]] Matrix at(std::int64_t i) const {
    const std::size_t rank = operand.rank;
    std::int64_t offset = 0;
    for (std::size_t axis = rank - 2; axis-- > 0;) {
      offset += i % operand.axes[axis].size * operand.axes[axis].stride;
      i /= operand.axes[axis].size;
    }
    return {operand.data + offset * static_cast<std::int64_t>(size_of(operand.dtype)), operand.dtype, operand.axes[rank - 2],
            operand.axes[rank - 1]};
  }
};

// One b for the whole batch: the rows of all the a's are those of one tall matrix, if they step alike.
bool as_one_product(Operand& a, Operand& b, Operand& c) {
  const std::size_t batch_axes = c.rank - 2U;
  for (std::size_t i = 0; i < batch_axes; ++i) {
    if (b.axes[i].stride != 0 && b.axes[i].size != 1) return false;
  }
  const auto merge = [batch_axes](Operand& x) {
    Axis rows = x.axes[batch_axes];
    for (std::size_t i = batch_axes; i-- > 0;) {
      if (x.axes[i].size == 1) continue;
      if (rows.size != 1 && x.axes[i].stride != rows.stride * rows.size) return false;
      rows = {rows.size * x.axes[i].size, rows.size == 1 ? x.axes[i].stride : rows.stride};
    }
    x.axes[0] = rows;
    x.axes[1] = x.axes[batch_axes + 1];
    x.rank = 2;
    return true;
  };
  if (!merge(a) || !merge(c)) return false;
  b.axes[0] = b.axes[batch_axes];
  b.axes[1] = b.axes[batch_axes + 1];
  b.rank = 2;
  return true;
}

}  // namespace

void multiply(const Operand& first, const Operand& second, const Operand& result, Parallel& parallel) {
  Operand one_a = first;
  Operand one_b = second;
  Operand one_c = result;
  const bool is_one = as_one_product(one_a, one_b, one_c);
  const Batch a{is_one ? one_a : first};
  const Batch b{is_one ? one_b : second};
  const Batch c{is_one ? one_c : result};
  const std::size_t rank = c.operand.rank;
  const std::int64_t m = c.operand.axes[rank - 2].size;
  const std::int64_t n = c.operand.axes[rank - 1].size;
  const std::int64_t k = a.operand.axes[rank - 1].size;
  const std::int64_t batch = m == 0 || n == 0 ? 0 : c.operand.count() / (m * n);
  if (batch == 0) return;
  if (k == 0) {  // a sum of nothing
    static constexpr std::uint64_t zero = 0;
    Operand zeros = result;
    zeros.data = reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(&zero));
    for (std::size_t i = 0; i < zeros.rank; ++i) zeros.axes[i].stride = 0;
    copy(zeros, result, parallel);
    return;
  }
  const auto cores = static_cast<std::int64_t>(parallel.width());
  if (cores == 1 || batch * m * n * k < serial_products) {
    for (std::int64_t i = 0; i < batch; ++i) multiply_one(a.at(i), b.at(i), c.at(i));
    return;
  }
  if (batch >= 2 * cores) {
    const std::int64_t chunks = std::min(batch, cores * 4);
    parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
      const auto part = static_cast<std::int64_t>(chunk);
      for (std::int64_t i = batch * part / chunks; i < batch * (part + 1) / chunks; ++i) multiply_one(a.at(i), b.at(i), c.at(i));
    });
    return;
  }
  const Grid grid = grid_for(m, n, cores);
  const std::int64_t tiles = grid.rows * grid.columns;
  // Edges at multiples of 16, the height of the inner loops' tiles.
  const auto edge = [](std::int64_t size, std::int64_t i, std::int64_t parts) {
    return i == parts ? size : size * i / parts / 16 * 16;
  };
  parallel.for_each_chunk(static_cast<std::size_t>(batch * tiles), [&](std::size_t chunk) {
    const auto part = static_cast<std::int64_t>(chunk);
    const std::int64_t i = part / tiles;
    const std::int64_t row = part % tiles / grid.columns;
    const std::int64_t column = part % grid.columns;
    const std::int64_t top = edge(m, row, grid.rows);
    const std::int64_t left = edge(n, column, grid.columns);
    const std::int64_t height = edge(m, row + 1, grid.rows) - top;
    const std::int64_t width = edge(n, column + 1, grid.columns) - left;
    if (height == 0 || width == 0) return;
    multiply_one(a.at(i).part(top, height, 0, k), b.at(i).part(0, k, left, width), c.at(i).part(top, height, left, width));
  });
}

static void matmul(const KernelCall& call, KernelContext& context) {
  const Operand& c = call.out();
  const bool is_dot = c.axes[c.rank - 2U].size == 1 && c.axes[c.rank - 1U].size == 1;
  if (is_dot && c.count() > 0 && call.in(0).axes[c.rank - 1U].size > 0) return dot_products(call, context.parallel);
  multiply(call.in(0), call.in(1), c, context.parallel);
}

[[maybe_unused]] static const bool matmul_is_registered = register_host_kernel("MatMul", matmul);

}  // namespace tutti::kernels
