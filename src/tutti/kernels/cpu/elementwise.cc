#include "tutti/kernels/cpu/elementwise.h"

#include <bit>
#include <string>

#include "tutti/base/error.h"
#include "tutti/kernels/cpu/streaming.h"

namespace tutti::kernels {

void run_in_ranges(const KernelCall& call, KernelContext& context, const Elementwise& op) {
  const Operand& out = call.out();
  const std::size_t n_inputs = call.inputs;
  const Writer writer(out, op.narrow);
  std::array<Reader, 3> readers;
  bool direct = writer.layout().is_dense() && !writer.converts();
  bool in_place = false;
  unsigned singles = 0;
  const std::int64_t count = writer.layout().count();
  const auto out_size = static_cast<std::int64_t>(writer.layout().element_size());
  std::int64_t touched = count * out_size;
  for (std::size_t i = 0; i < n_inputs; ++i) {
    readers[i] = Reader(call.in(i), op.widen, sizeof(float));
    const Layout& layout = readers[i].layout();
    if (layout.is_single()) {
      singles |= 1U << i;
    } else {
      touched += count * static_cast<std::int64_t>(layout.element_size());
    }
    direct = direct && (layout.is_single() || layout.is_dense()) && !readers[i].converts();
    in_place = in_place || layout.data() == out.data;
  }
  if (direct) {
    const auto inputs_at = [&](std::int64_t begin) {
      std::array<const void*, 3> inputs{};
      for (std::size_t i = 0; i < n_inputs; ++i) {
        const auto size = static_cast<std::int64_t>(readers[i].layout().element_size());
        inputs[i] = readers[i].layout().data() + ((singles >> i & 1U) != 0 ? 0 : begin * size);
      }
      return inputs;
    };
    if (in_place || !pays_to_stream(touched)) {
      for_each_range(context.parallel, count, [&](std::int64_t begin, std::int64_t end) {
        op.row(inputs_at(begin).data(), singles, out.data + begin * out_size, static_cast<std::size_t>(end - begin));
      });
      return;
    }
    // A block stays in the innermost cache on its way past the others.
    const Row stream = copy_rows()[static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(out_size)))].streaming;
    for_each_range(context.parallel, count, [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch;
      const void* block = scratch.working.data();
      for (std::int64_t at = begin; at < end; at += block_elements) {
        const auto n = static_cast<std::size_t>(std::min(block_elements, end - at));
        op.row(inputs_at(at).data(), singles, scratch.working.data(), n);
        stream(&block, 0, out.data + at * out_size, n);
      }
    });
    return;
  }
  for_each_range(context.parallel, count, [&](std::int64_t begin, std::int64_t end) {
    std::array<Scratch, 4> scratch;
    std::array<const void*, 3> inputs;
    for (std::size_t i = 0; i < n_inputs; ++i) {
      if ((singles >> i & 1U) != 0) inputs[i] = readers[i].read(0, 1, scratch[i]);
    }
    for (std::int64_t at = begin; at < end; at += block_elements) {
      const std::int64_t n = std::min(block_elements, end - at);
      for (std::size_t i = 0; i < n_inputs; ++i) {
        if ((singles >> i & 1U) == 0) inputs[i] = readers[i].read(at, n, scratch[i]);
      }
      std::byte* room = writer.room(at, n, scratch[3]);
      op.row(inputs.data(), singles, room, static_cast<std::size_t>(n));
      writer.write(at, n, room, scratch[3]);
    }
  });
}

std::array<Elementwise, dtype_count> elementwise_by_dtype(const std::array<Row, dtype_count>& rows, bool gives_bool) {
  std::array<Elementwise, dtype_count> all;
  for (std::size_t i = 0; i < dtype_count; ++i) all[i].row = rows[i];
  for (const DType half : {DType::f16, DType::bf16}) {
    const Row row = rows[static_cast<std::size_t>(DType::f32)];
    if (row == nullptr) continue;
    all[static_cast<std::size_t>(half)] = {row, conversion(half, DType::f32),
                                           gives_bool ? nullptr : conversion(DType::f32, half)};
  }
  return all;
}

void refuse_dtype(const char* op, DType dtype, Site site) {
  const std::string name(to_string(dtype));
  throw KernelFailed(std::string(op) + " has no CPU kernel for " + name + "; cast the input first", site);
}

}  // namespace tutti::kernels
