#include "tutti/kernels/cuda/dot.h"

#include <algorithm>

#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/reduction_kernels.cuh"

namespace tutti::kernels::cuda {

namespace {

template <class T>
struct Pair {
  T a;
  T b;
};

template <class T>
struct SteppedPairs {
  using Element = Pair<T>;
  using Loaded = Pair<T>;
  static constexpr int width = 1;
  const T* a;
  const T* b;
  std::int64_t a_stride;
  std::int64_t b_stride;
  __device__ __forceinline__ Loaded load(std::int64_t i) const { return {a[i * a_stride], b[i * b_stride]}; }
  __device__ __forceinline__ void unpack(const Loaded& loaded, Element (&elements)[1]) const { elements[0] = loaded; }
};

template <class T>
struct VectorPairs {
  using Element = Pair<T>;
  struct Loaded {
    uint4 a;
    uint4 b;
  };
  static constexpr int width = 16 / sizeof(T);
  const uint4* a;
  const uint4* b;
  __device__ __forceinline__ Loaded load(std::int64_t i) const { return {__ldg(a + i), __ldg(b + i)}; }
  __device__ __forceinline__ void unpack(const Loaded& loaded, Element (&elements)[width]) const {
    T left[width];
    T right[width];
    memcpy(left, &loaded.a, sizeof loaded.a);
    memcpy(right, &loaded.b, sizeof loaded.b);
#pragma unroll
    for (int i = 0; i < width; ++i) elements[i] = {left[i], right[i]};
  }
};

// Added in short chains as they are computed in, then in f64, as a sum is.
template <class T>
struct TotalDot {
  using Total = double;
  using Out = T;
  __device__ __forceinline__ Total none() const { return 0; }
  __device__ __forceinline__ Total merge(Total a, Total b) const { return a + b; }
  __device__ __forceinline__ Out finish(Total total) const { return rounded<T>(total); }
};

// The task's data is the one factor, whose lie the plan follows; this is the other.
template <class T>
struct Dot : TotalDot<T> {
  using Ending = TotalDot<T>;
  using Part = Working<T>;
  using Total = double;

  const T* other;
  RowAxes other_kept;
  std::int64_t stride;
  std::int64_t other_stride;

  __device__ __forceinline__ Part part(const Pair<T>& x) const { return widen(x.a) * widen(x.b); }
  __device__ __forceinline__ Part no_part() const { return 0; }
  __device__ __forceinline__ Part combine(Part x, Part y) const { return x + y; }
  __device__ __forceinline__ Total total_of(Part part) const { return part; }

  __device__ __forceinline__ Total share(const ReductionTask& task, std::int64_t output, std::int64_t thread,
                                         std::int64_t threads) const {
    const T* a = static_cast<const T*>(task.data) + offset_of(task.kept, output);
    const T* b = other + offset_of(other_kept, output);
    const std::int64_t head = to_boundary(a);
    const bool takes_vectors = stride == 1 && other_stride == 1 && head == to_boundary(b) && head < task.length;
    if (!takes_vectors) return strided_share<4>(*this, SteppedPairs<T>{a, b, stride, other_stride}, thread, task.length, threads);
    using Vectors = VectorPairs<T>;
    const std::int64_t vectors = (task.length - head) / Vectors::width;
    const Vectors source{reinterpret_cast<const uint4*>(a + head), reinterpret_cast<const uint4*>(b + head)};
    const Total total = strided_share<4>(*this, source, thread, vectors, threads);
    const std::int64_t tail = head + vectors * Vectors::width;
    Part rest = 0;
    for (std::int64_t i = thread; i < head; i += threads) rest += part({a[i], b[i]});
    for (std::int64_t i = tail + thread; i < task.length; i += threads) rest += part({a[i], b[i]});
    return total + total_of(rest);
  }
};

// One factor: its axes that are kept, and the one that is not.
struct Factor {
  const Operand& operand;
  std::size_t summed;
  [[nodiscard]] std::uint32_t mask() const { return 1U << summed; }
  [[nodiscard]] RowAxes kept() const {
    RowAxes axes;
    for (std::size_t i = 0; i < operand.rank; ++i) {
      if (i != summed) axes.push_back(operand.axes[i]);
    }
    return axes;
  }
};

struct DotPlan {
  Factor lead;
  Factor other;
  ReductionPlan reduction;
};
// A factor of which neighbours in memory belong to different sums goes first: there it shows most how threads walk.
DotPlan plan_dot(const Operand& a, const Operand& b, int multiprocessors) {
  const Factor left{a, a.rank - 1U};
  const Factor right{b, b.rank - 2U};
  const ReductionPlan of_right = plan_reduction(b, right.mask(), multiprocessors, ordered_reduction);
  if (of_right.mapping == ReductionMapping::by_column) return {right, left, of_right};
  return {left, right, plan_reduction(a, left.mask(), multiprocessors, ordered_reduction)};
}

template <class T>
void run(const DotPlan& plan, Queue& queue, const KernelCall& call) {
  const auto stride = [](const Factor& of) { return of.operand.axes[of.summed].stride; };
  run_reduction(
      plan.reduction,
      Dot<T>{{}, reinterpret_cast<const T*>(plan.other.operand.data), plan.other.kept(), stride(plan.lead), stride(plan.other)},
      queue, call);
}

}  // namespace

bool is_dot(const Operand& a, const Operand& b) {
  return is_floating(a.dtype) && a.axes[a.rank - 2U].size == 1 && b.axes[b.rank - 1U].size == 1;
}

std::int64_t dot_workspace(const Operand& a, const Operand& b) {
  return plan_dot(a, b, most_multiprocessors).reduction.partials() * static_cast<std::int64_t>(sizeof(double));
}

void dot(const KernelCall& call, Queue& queue) {
  DotPlan plan =
      plan_dot(device_input(call, 0), device_input(call, 1), std::min(queue.properties().multiprocessors, most_multiprocessors));
  ReductionTask& task = plan.reduction.task;
  task.out = call.out().data;
  if (task.parts > 1) task.partials = call.scratch().data;
  visit_stored<floating_dtypes>(call.out().dtype, [&]<class T>(T) { run<T>(plan, queue, call); });
}

}  // namespace tutti::kernels::cuda
