// Hand-made operands over memory of their own: random layouts, plain element access, and cores to run on.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include <tutti/tensor/dtype_visit.h>
#include "kernels/closeness.h"
#include "tutti/exec/attributes.h"
#include "tutti/exec/op_table.h"

namespace tutti::testing {

using Sizes = std::vector<std::int64_t>;
using Random = std::mt19937_64;

inline constexpr std::array all_dtypes{DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                                       DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

// Real threads, started for every run; chunks dealt out in turn.
class Threads final : public Parallel {
 public:
  explicit Threads(std::size_t width) : width_(width) {}
  [[nodiscard]] std::size_t width() const noexcept override { return width_; }
  std::size_t limit_width(std::size_t width) noexcept override { return width_ = std::max<std::size_t>(1, width); }
  void run(std::size_t chunks, Body body, void* context) override {
    std::vector<std::exception_ptr> failures(width_);
    const auto work = [&](std::size_t first) {
      try {
        for (std::size_t i = first; i < chunks; i += width_) body(context, i);
      } catch (...) {
        failures[first] = std::current_exception();
      }
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < std::min(width_, chunks); ++i) threads.emplace_back(work, i);
    work(0);
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

 private:
  std::size_t width_;
};

inline std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

// How an array lies in memory. `scattered` permutes the axes, leaves gaps and turns some axes round.
enum class Lie { dense, scattered, broadcast };

class Array {
 public:
  Array() = default;
  Array(DType dtype, const Sizes& sizes, Lie lie, Random& random) : sizes_(sizes) {
    const std::size_t rank = sizes.size();
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), 0U);
    if (lie != Lie::dense) std::shuffle(order.begin(), order.end(), random);
    operand_.dtype = dtype;
    operand_.rank = static_cast<std::uint8_t>(rank);
    std::int64_t span = 1;
    std::int64_t first = 0;
    for (std::size_t i = rank; i-- > 0;) {
      const std::size_t axis = order[i];
      const std::int64_t size = std::max<std::int64_t>(sizes[axis], 1);
      std::int64_t stride = span;
      if (lie == Lie::scattered && pick(random, 0, 2) == 0) stride += pick(random, 1, 3);
      if (lie == Lie::broadcast && pick(random, 0, 1) == 0) stride = 0;
      if (stride != 0) span = stride * size;
      if (lie == Lie::scattered && pick(random, 0, 2) == 0) {
        first += (size - 1) * stride;
        stride = -stride;
      }
      operand_.axes[axis] = {sizes[axis], stride};
    }
    const std::size_t bytes = size_of(dtype);
    memory_.resize((static_cast<std::size_t>(span) + 16) * bytes + 64);
    std::uint64_t noise = random();
    for (std::byte& byte : memory_) byte = static_cast<std::byte>((noise = noise * 6364136223846793005U + 1) >> 56U);
    const std::size_t misfit = reinterpret_cast<std::uintptr_t>(memory_.data()) % 64;
    start_ = (64 - misfit) % 64 + (lie == Lie::dense ? 0 : bytes) + static_cast<std::size_t>(first) * bytes;
    operand_.data = memory_.data() + start_;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  Array(Array&&) noexcept = default;
  Array& operator=(Array&&) noexcept = default;

  [[nodiscard]] const Operand& operand() const { return operand_; }
  [[nodiscard]] const Sizes& sizes() const { return sizes_; }
  [[nodiscard]] std::int64_t count() const { return operand_.count(); }
  [[nodiscard]] std::int64_t offset(std::int64_t i) const {
    std::int64_t where = 0;
    for (std::size_t axis = operand_.rank; axis-- > 0;) {
      where += i % operand_.axes[axis].size * operand_.axes[axis].stride;
      i /= operand_.axes[axis].size;
    }
    return where;
  }
  // Element i in row order.
  template <class T>
  [[nodiscard]] T get(std::int64_t i) const {
    if constexpr (std::is_same_v<T, bool>) {
      return operand_.as<std::uint8_t>()[offset(i)] != 0;
    } else {
      return operand_.as<T>()[offset(i)];
    }
  }
  template <class T>
  void set(std::int64_t i, T value) {
    operand_.as<T>()[offset(i)] = value;
  }
  // Small integers, halves and quarters in every dtype; the whole range of the integers when `wild`.
  void fill(Random& random, bool wild = false) {
    for (std::int64_t i = 0; i < count(); ++i) {
      visit_dtype(operand_.dtype, [&]<class T>(T) {
        if constexpr (std::is_same_v<T, bool>) {
          set<std::uint8_t>(i, static_cast<std::uint8_t>(random() & 1U));
        } else if constexpr (std::is_integral_v<T>) {
          set<T>(i, static_cast<T>(wild ? static_cast<std::int64_t>(random()) : pick(random, -9, 9)));
        } else {
          const double value = static_cast<double>(pick(random, -64, 64)) / 16;
          const double fine = std::uniform_real_distribution<double>(-4, 4)(random);
          set<T>(i, T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(wild ? fine : value)));
        }
      });
    }
  }
  // What lies between the elements, to see that a kernel leaves it alone.
  [[nodiscard]] std::vector<std::byte> surroundings() const {
    std::vector<std::byte> copy = memory_;
    for (std::int64_t i = 0; i < count(); ++i) {
      const auto at = static_cast<std::int64_t>(start_) + offset(i) * static_cast<std::int64_t>(size_of(operand_.dtype));
      std::fill_n(copy.begin() + at, size_of(operand_.dtype), std::byte{0});
    }
    return copy;
  }

 private:
  Sizes sizes_;
  std::vector<std::byte> memory_;
  std::size_t start_ = 0;
  Operand operand_;
};

inline Sizes random_sizes(Random& random, std::size_t most_rank = 4, std::int64_t most = 9) {
  Sizes sizes(static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(most_rank))));
  for (std::int64_t& size : sizes) size = pick(random, 0, 30) == 0 ? 0 : pick(random, 1, most);
  std::int64_t others = 1;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) others *= sizes[i];
  if (!sizes.empty() && others <= 20 && pick(random, 0, 2) == 0) sizes.back() = pick(random, 1, 700);
  return sizes;
}

inline Lie random_lie(Random& random, bool may_broadcast = true) {
  return static_cast<Lie>(pick(random, 0, may_broadcast ? 2 : 1));
}

// The kernel of an op on the host's cores.
struct HostKernel {
  const OpRow& op;
  void operator()(KernelCall call, KernelContext& context) const {
    call.op = &op;
    op.kernels[static_cast<std::size_t>(BackendKind::cpu)].load()(call, context);
  }
};
inline HostKernel host_kernel(const char* op) { return {find_op(op)}; }

template <class T = int>
void run_kernel(const HostKernel& kernel, Parallel& parallel, const std::vector<const Array*>& inputs, const Array& output,
                const T& attributes = T{}) {
  std::vector<Operand> operands;
  for (const Array* input : inputs) operands.push_back(input->operand());
  operands.push_back(output.operand());
  const Attributes packed(attributes);
  KernelCall call;
  call.inputs = static_cast<std::uint16_t>(inputs.size());
  call.outputs = 1;
  call.operands = operands.data();
  call.attributes = &packed;
  KernelContext context{parallel};
  kernel(call, context);
}

}  // namespace tutti::testing
