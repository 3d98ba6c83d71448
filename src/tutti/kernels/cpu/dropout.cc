#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cpu/lines.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/rows.h"
#include "tutti/kernels/cpu/transpose.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

template <class W>
void dropout_as(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<DropoutAttributes>();
  const LineSource<W> x(call.in(0));
  const LineTarget<W> out(call.out());
  const PhiloxRow philox = philox_row();
  const auto scale = static_cast<W>(attributes.scale);
  constexpr std::int64_t grain = serial_elements / 8;  // random words cost more than most ops
  for_each_range(
      context.parallel, call.out().count(),
      [&](std::int64_t begin, std::int64_t end) {
        LineRoom<W> room;
        alignas(64) std::array<std::uint32_t, line_chunk> words;
        for (std::int64_t at = begin; at < end;
             at += line_chunk) {  // ranges begin at whole chunks, and so at whole Philox blocks
          const std::int64_t n = std::min(line_chunk, end - at);
          philox(attributes.key, attributes.counter + static_cast<std::uint64_t>(at / 4), static_cast<std::size_t>((n + 3) / 4),
                 words.data());
          const W* from = x.read(at, n, room);
          W* to = out.room(at, room);
          for (std::int64_t i = 0; i < n; ++i)
            to[i] = words[static_cast<std::size_t>(i)] < attributes.dropped ? 0 : from[i] * scale;
          out.write(at, to, static_cast<std::size_t>(n));
        }
      },
      grain);
}

}  // namespace

static void dropout(const KernelCall& call, KernelContext& context) {
  if (call.out().count() == 0) return;
  visit_dtype<wide_floats>(working_dtype(call.in(0).dtype), [&]<class W>(W) { dropout_as<W>(call, context); });
}

[[maybe_unused]] static const bool dropout_is_registered = register_host_kernel("Dropout", dropout, floating_dtypes);

}  // namespace tutti::kernels
