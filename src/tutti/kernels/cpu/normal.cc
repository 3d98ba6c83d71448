// Normal random numbers. Of Philox's block b (see random.cc), element i in row-major order uses
//   f64:    block counter + i / 2: the words as two of 64 bits, the first of each two the lower half
//   others: block counter + i / 4: the words 0 and 1 for i mod 4 = 0 and 1, else the words 2 and 3
// and exec/box_muller.h makes two numbers of the two, the cosine's first. Half precision is worked out in f32, rounded once.
#include <array>

#include "tutti/exec/random_attributes.h"
#include "tutti/kernels/cpu/normal_rows.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/rows.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

template <class T, class Fill>
void fill_normal(const KernelCall& call, KernelContext& context, const Fill& fill) {
  const auto draw = call.attributes->as<NormalAttributes>();
  const Writer writer(call.out(), dtype_of<T>);
  const PhiloxRow philox = philox_row();
  constexpr std::int64_t per_block = 16 / sizeof(T);
  for_each_range(
      context.parallel, writer.layout().count(),
      [&](std::int64_t begin, std::int64_t end) {
        Scratch scratch;
        alignas(64) std::array<std::uint32_t, block_elements * 2> words;
        alignas(64) std::array<T, block_elements> drawn;
        for (std::int64_t at = begin; at < end; at += block_elements) {  // ranges begin at whole blocks of elements
          const std::int64_t n = std::min(block_elements, end - at);
          philox(draw.key, draw.counter + static_cast<std::uint64_t>(at / per_block),
                 static_cast<std::size_t>((n + per_block - 1) / per_block), words.data());
          fill(words.data(), static_cast<std::size_t>((n + 1) / 2), static_cast<T>(draw.mean), static_cast<T>(draw.stddev),
               drawn.data());
          writer.write(at, n, reinterpret_cast<const std::byte*>(drawn.data()), scratch);
        }
      },
      serial_elements / 8);
}

}  // namespace

static void random_normal(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats>(working_dtype(call.out().dtype), [&]<class W>(W) {
    if constexpr (std::is_same_v<W, double>) {
      fill_normal<W>(call, context, normal_rows().of_doubles);
    } else {
      fill_normal<W>(call, context, normal_rows().of_floats);
    }
  });
}

[[maybe_unused]] static const bool normal_is_registered =
    register_host_kernel("RandomStandardNormal", random_normal, floating_dtypes);

}  // namespace tutti::kernels
