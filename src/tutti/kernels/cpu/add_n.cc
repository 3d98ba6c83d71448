#include "tutti/base/inline_vector.h"
#include "tutti/kernels/cpu/arithmetic.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/kernels.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

// One pass over memory: a block of every input is added up before the next block is touched. Half precision is summed in
// f32 and rounded once. The last addition writes the output, which may be one of the inputs.
static void add_n(const KernelCall& call, KernelContext& context) {
  const Operand& out = call.out();
  const DType working = out.dtype == DType::boolean ? out.dtype : working_dtype(out.dtype);
  const Row add = add_row(working);
  const std::size_t n_inputs = call.inputs;
  if (n_inputs == 1) {
    copy(call.in(0), call.out(), context.parallel);
    return;
  }
  InlineVector<Reader, 8> readers;
  for (std::size_t i = 0; i < n_inputs; ++i) readers.push_back(Reader(call.in(i), working));
  const Writer writer(out, working);
  for_each_range(context.parallel, writer.layout().count(), [&](std::int64_t begin, std::int64_t end) {
    Scratch sum;
    Scratch first;
    Scratch next;
    alignas(64) std::array<std::byte, block_elements * 8> total;
    for (std::int64_t at = begin; at < end; at += block_elements) {
      const std::int64_t n = std::min(block_elements, end - at);
      std::array<const void*, 2> inputs{readers[0].read(at, n, first), nullptr};
      for (std::size_t i = 1; i < n_inputs; ++i) {
        inputs[1] = readers[i].read(at, n, next);
        const bool is_last = i + 1 == n_inputs;
        std::byte* room = is_last ? writer.room(at, n, sum) : total.data();
        add(inputs.data(), 0, room, static_cast<std::size_t>(n));
        if (is_last) writer.write(at, n, room, sum);
        inputs[0] = total.data();
      }
    }
  });
}

[[maybe_unused]] static const bool add_n_is_registered = register_host_kernel("AddN", add_n);

}  // namespace tutti::kernels
