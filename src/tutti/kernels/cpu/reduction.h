// The driver of reductions over any axes, strides and dtype.
//
// The order of combination depends on the shape and strides alone, never on the number of cores: the reduced elements are cut
// into segments of a fixed size, each segment is reduced pairwise, and so are the segments' states.
#pragma once

#include "tutti/exec/reduction_attributes.h"
#include "tutti/kernels/cpu/kernels.h"
#include "tutti/kernels/cpu/outer_reduction.h"

namespace tutti::kernels {

template <class T>
void reduce(const Operand& in, std::uint32_t axes, const Operand& out, Parallel& parallel, const Reduction<T>& op) {
  const Split split(in, axes);
  if (split.n_kept == 0) return;
  const Writer writer(out, op.narrow);
  // A few results and those that must be converted or spread out go through room of our own.
  std::array<T, 64> few;
  std::vector<T> many;
  States<T> results{few.data(), static_cast<std::size_t>(split.n_kept)};
  const bool direct = writer.layout().is_dense() && op.narrow == nullptr && op.rows.planes == 1;
  const std::size_t wanted = static_cast<std::size_t>(split.n_kept) * op.rows.planes;
  if (direct) {
    results.first = out.as<T>();
  } else if (wanted > few.size()) {
    many.resize(wanted);
    results.first = many.data();
  }
  if (split.n_reduced == 0) {
    for (std::size_t plane = 0; plane < op.rows.planes; ++plane)
      std::fill_n(results.first + plane * results.step, split.n_kept, op.rows.identity[plane]);
  } else if (split.kept_axis_is_inner()) {
    const Reader reader(split.joined(split.reduced, split.kept), op.widen, sizeof(T));
    reduce_rows<T>(reader, op, split.n_reduced, split.n_kept, results, parallel);
  } else {
    const Reader reader(split.joined(split.kept, split.reduced), op.widen, sizeof(T));
    InnerReduction<T>(reader, op, split.n_reduced, split.n_kept, results).run(parallel);
  }
  if (direct && op.finish == nullptr) return;
  const std::int64_t blocks = (split.n_kept + block_elements - 1) / block_elements;
  for_each(parallel, blocks, split.n_kept, [&](std::int64_t block) {
    Scratch scratch;
    const std::int64_t begin = block * block_elements;
    const std::int64_t n = std::min(block_elements, split.n_kept - begin);
    if (op.finish != nullptr) op.finish({results.first + begin, results.step}, n, split.n_reduced, op.parameter);
    if (!direct) writer.write(begin, n, reinterpret_cast<const std::byte*>(results.first + begin), scratch);
  });
}

template <class T>
void reduce(const KernelCall& call, Parallel& parallel, const Reduction<T>& op) {
  reduce(call.in(0), call.attributes->as<ReductionAttributes>().axes, call.out(), parallel, op);
}

}  // namespace tutti::kernels
