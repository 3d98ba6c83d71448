#include "tutti/kernels/cuda/large_elimination.h"

#include "tutti/kernels/cuda/elimination_panel.cuh"
#include "tutti/kernels/cuda/elimination_steps.cuh"
#include "tutti/kernels/cuda/large_product.cuh"
#include "tutti/kernels/cuda/library_product.h"

// The right-hand side lies beside its matrix and takes part in every step: it comes out as the inverse of L times itself. A panel
// is eliminated alone; the columns to its right then follow: rows exchanged, solved for U, and their product with the panel taken
// off what is below.
namespace tutti::kernels::cuda {

namespace {

using tutti::cuda::Trap;

inline constexpr int fill_threads = 256;

// The matrix and, from column `side` on, its right-hand side or the identity; 0 between them and after.
template <class T>
__global__ void __launch_bounds__(fill_threads)
    fill_kernel(LargeMatrices<T> matrices, const T* a, const T* b, int n, int side, int columns) {
  const int j = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (j >= matrices.lead) return;
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    for (int i = static_cast<int>(blockIdx.y); i < n; i += static_cast<int>(gridDim.y)) {
      const std::int64_t row = at * n + i;
      T value = T{0};
      if (j < n) {
        value = a[row * n + j];
      } else if (j >= side && j - side < columns) {
        value = b != nullptr ? b[row * columns + (j - side)] : T(j - side == i);
      }
      matrices.at(at)[i * matrices.lead + j] = value;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(fill_threads) take_kernel(LargeMatrices<T> matrices, T* x, int n, int side, int columns) {
  const int j = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (j >= columns) return;
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    for (int i = static_cast<int>(blockIdx.y); i < n; i += static_cast<int>(gridDim.y))
      x[(at * n + i) * columns + j] = matrices.at(at)[i * matrices.lead + side + j];
  }
}

// In the order of the rows, as for small matrices: where a product of many numbers overflows depends on it.
template <class T>
__global__ void __launch_bounds__(fill_threads)
    diagonal_kernel(LargeMatrices<T> matrices, RowOrder all_orders, Determinants<T> out) {
  __shared__ T pivots[fill_threads];
  __shared__ T logarithms[fill_threads];
  for (std::int64_t at = blockIdx.z; at < matrices.count; at += gridDim.z) {
    const int n = all_orders.n;
    const RowOrder order = all_orders.of(at);
    T all = T{1};
    T side = T{1};
    T logs = T{0};
    for (int first = 0; first < n; first += fill_threads) {
      const int i = first + static_cast<int>(threadIdx.x);
      const int odd = __syncthreads_count(i < n && order.pivots[i] != i) % 2;
      if (i < n) {
        const T pivot = matrices.at(at)[i * (matrices.lead + 1)];
        pivots[threadIdx.x] = pivot;
        logarithms[threadIdx.x] = log(fabs(pivot));
      }
      __syncthreads();
      if (threadIdx.x != 0) continue;
      if (odd != 0) {
        all = -all;
        side = -side;
      }
      for (int k = 0; k < min(fill_threads, n - first); ++k) {
        all *= pivots[k];
        side = pivots[k] == T{0} ? T{0} : pivots[k] < T{0} ? -side : side;
        logs += logarithms[k];
      }
    }
    if (threadIdx.x != 0) continue;
    if (out.product != nullptr) {
      out.product[at] = all;
    } else {
      out.sign[at] = isnan(logs) ? logs : side;
      out.logarithm[at] = logs;
    }
  }
}

// A rehearsal goes through the same steps, launches nothing and only has the library choose its algorithms.
template <class T, bool is_rehearsal = false>
class LargeElimination {
 public:
  // Fills the matrices from a and b.
  LargeElimination(Queue& queue, const KernelCall& call, const T* a, const T* b, std::int64_t count, int n, int columns,
                   Trap* trap)
      : queue_(queue), call_(call), n_(n), columns_(columns), side_(static_cast<int>(in_blocks(n))), trap_(trap) {
    const std::int64_t lead = side_ + in_blocks(columns);
    all_ = {reinterpret_cast<T*>(call.scratch().data), count, lead, lead * n};
    int* const orders = reinterpret_cast<int*>(all_.data + count * all_.step);
    order_ = {orders, orders + count * n, orders + 2 * count * n, n};
    run<fill_kernel<T>>(grid_of_rows(lead), all_, a, b, n, side_, columns);
  }

  void eliminate() {
    const int outer = outer_size();
    const auto end = static_cast<int>(all_.lead);  // what is between is 0 and stays so; whole blocks suit the library
    for (int first = 0; first < n_; first += outer) {
      const Range block{first, std::min(first + outer, n_)};
      const int width = panel_width(n_ - first);
      for (int at = first; at < block.last; at += width) {
        const Range panel{at, std::min(at + width, block.last)};
        const Range right{panel.last, block.last};
        eliminate_panel<widest>(panel, width);
        if (panel.size() == block.size()) break;
        run<follow_kernel<T>>(over_columns(block), all_, panel, block, order_);
        subtract({panel.last, n_}, right, panel);
      }
      const Range right{block.last, end};
      exchange(block, width, right);
      for (int at = first; at < block.last; at += block_size) {
        const Range rows{at, std::min(at + block_size, block.last)};
        solve<false>(rows, right);
        subtract({rows.last, block.last}, right, rows);
      }
      subtract({block.last, n_}, right, block);
    }
  }

  void substitute(T* x) {
    if (columns_ == 0) return;
    const int outer = outer_size();
    const Range right{side_, side_ + columns_};
    for (int first = (n_ - 1) / outer * outer; first >= 0; first -= outer) {
      const Range block{first, std::min(first + outer, n_)};
      for (int at = first + (block.size() - 1) / block_size * block_size; at >= first; at -= block_size) {
        const Range rows{at, std::min(at + block_size, block.last)};
        solve<true>(rows, right);
        subtract({first, at}, right, rows);
      }
      subtract({0, first}, right, block);
    }
    run<take_kernel<T>>(grid_of_rows(columns_), all_, x, n_, side_, columns_);
  }

  void multiply_diagonal(const Determinants<T>& out) {
    run<diagonal_kernel<T>>(grid_over(1, 1, all_.count, fill_threads), all_, order_, out);
  }

 private:
  static constexpr int widest = 128 / static_cast<int>(sizeof(T));  // what a thread holds of a panel fills half its registers
  static constexpr int narrowest = widest / 8;

  // Wide blocks read and write the rest of the matrix less often, narrow ones take fewer launches.
  [[nodiscard]] int outer_size() const { return n_ <= 2048 ? block_size : 8 * block_size; }
  // A row in each thread of a cluster, or several narrower ones.
  [[nodiscard]] int panel_width(int rows) const {
    const int most_threads = most_block_threads * (has_clusters(queue_) ? panel_blocks : 1);
    for (int width = widest; width >= narrowest; width /= 2) {
      if (rows <= most_threads * (widest / width)) return width;
    }
    return 1;
  }
  [[nodiscard]] Grid grid_of_rows(std::int64_t across) const {
    return grid_over(parts_of(across, fill_threads), static_cast<unsigned>(std::min(n_, 65535)), all_.count, fill_threads);
  }

  template <auto kernel, class... Args>
  void run([[maybe_unused]] const Grid& grid, [[maybe_unused]] const Args&... arguments) {
    if constexpr (!is_rehearsal) launch<kernel>(queue_, call_, grid, arguments...);
  }
  template <int Width>
  void eliminate_panel(Range panel, int width) {
    constexpr int rows = widest / Width;
    const int left = n_ - panel.first;
    if (width == Width && left <= most_block_threads * rows) {
      const auto threads = static_cast<int>(in_blocks(parts_of(left, rows)));
      run<panel_kernel<T, Width, rows>>(grid_over(1, 1, all_.count, threads), all_, panel.first, panel.size(), order_, trap_);
    } else if (width == Width) {
      const auto threads = static_cast<int>(in_blocks(parts_of(left, rows * panel_blocks)));
      run<wide_panel_kernel<T, Width, rows>>(grid_over(panel_blocks, 1, all_.count, threads), all_, panel.first, panel.size(),
                                             order_, trap_);
    } else if constexpr (Width > narrowest) {
      eliminate_panel<Width / 2>(panel, width);
    } else {
      run<column_kernel<T>>(grid_over(1, 1, all_.count, most_block_threads), all_, panel.first, order_, trap_);
    }
  }
  void exchange(Range panels, int width, Range columns) {
    if (columns.is_empty()) return;
    run<exchange_kernel<T>>(over_columns(columns), all_, panels, width, columns, order_);
  }
  template <bool is_upper>
  void solve(Range block, Range columns) {
    if (columns.is_empty()) return;
    run<triangle_kernel<T, is_upper>>(over_columns(columns), all_, block, columns);
  }
  // a[rows, columns] -= a[rows, inner] a[inner, columns]
  void subtract(Range rows, Range columns, Range inner) {
    constexpr std::int64_t fewest = 512 * 512;  // fewer do not fill the GPU with the library's tiles
    if (inner.size() <= block_size || static_cast<std::int64_t>(rows.size()) * columns.size() < fewest) {
      if constexpr (!is_rehearsal) subtract_product<false>(queue_, call_, all_, rows, columns, inner);
      return;
    }
    LibraryProduct product;
    product.m = rows.size();
    product.n = columns.size();
    product.k = inner.size();
    product.a_lead = product.b_lead = product.c_lead = all_.lead;
    product.a_step = product.b_step = product.c_step = all_.count > 1 ? all_.step : 0;
    product.batch = static_cast<std::int32_t>(all_.count);
    product.ordinal = queue_.properties().ordinal;
    product.dtype = std::is_same_v<T, float> ? DType::f32 : DType::f64;
    product.epilogue = Epilogue::subtract;
    const auto at = [&](Range down, Range across) {
      return reinterpret_cast<std::byte*>(all_.data + down.first * all_.lead + across.first);
    };
    const ProductAddresses where{at(rows, inner), at(inner, columns), at(rows, columns), nullptr};
    is_rehearsal ? prepare_product(product, where, queue_, call_) : multiply(product, where, queue_, call_);
  }
  [[nodiscard]] Grid over_columns(Range columns) const {
    return grid_over(parts_of(columns.size(), column_threads), 1, all_.count, column_threads);
  }

  Queue& queue_;
  const KernelCall& call_;
  int n_;
  int columns_;
  int side_;  // the first column of the right-hand side
  Trap* trap_;
  LargeMatrices<T> all_;
  RowOrder order_;
};

}  // namespace

std::int64_t large_elimination_bytes(std::int64_t count, std::int64_t n, std::int64_t columns, std::int64_t element) {
  const std::int64_t orders = 3 * n * static_cast<std::int64_t>(sizeof(int));
  return count * (n * (in_blocks(n) + in_blocks(columns)) * element + orders);
}

template <class T>
void solve_large(Queue& queue, const KernelCall& call, const T* a, const T* b, T* x, std::int64_t count, int n, int columns,
                 Trap* trap) {
  LargeElimination<T> elimination(queue, call, a, b, count, n, columns, trap);
  elimination.eliminate();
  elimination.substitute(x);
}

template <class T>
void large_determinants(Queue& queue, const KernelCall& call, const T* a, const Determinants<T>& out, std::int64_t count, int n) {
  LargeElimination<T> elimination(queue, call, a, nullptr, count, n, 0, nullptr);
  elimination.eliminate();
  elimination.multiply_diagonal(out);
}

template <class T>
void prepare_large_elimination(Queue& queue, const KernelCall& call, std::int64_t count, int n, int columns) {
  LargeElimination<T, true> elimination(queue, call, nullptr, nullptr, count, n, columns, nullptr);
  elimination.eliminate();
  elimination.substitute(nullptr);
}

template void prepare_large_elimination<float>(Queue&, const KernelCall&, std::int64_t, int, int);
template void prepare_large_elimination<double>(Queue&, const KernelCall&, std::int64_t, int, int);
template void solve_large(Queue&, const KernelCall&, const float*, const float*, float*, std::int64_t, int, int, Trap*);
template void solve_large(Queue&, const KernelCall&, const double*, const double*, double*, std::int64_t, int, int, Trap*);
template void large_determinants(Queue&, const KernelCall&, const float*, const Determinants<float>&, std::int64_t, int);
template void large_determinants(Queue&, const KernelCall&, const double*, const Determinants<double>&, std::int64_t, int);

}  // namespace tutti::kernels::cuda
