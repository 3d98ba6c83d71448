#include <array>

#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// Elements begin ... begin + n - 1, a block at most. Of floats start + i * step, in f64; half precision is rounded from it once,
// by way of an f32 that is made odd where it is not exact.
template <class T>
void range_block(const RangeAttributes& range, std::int64_t begin, std::int64_t n, T* to) {
  if constexpr (std::is_integral_v<T>) {
    const auto first = static_cast<std::uint64_t>(range.first);
    const auto by = static_cast<std::uint64_t>(range.by);
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(first + static_cast<std::uint64_t>(begin + i) * by);
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto base = static_cast<double>(begin);
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(n); ++i)
      to[i] = static_cast<T>(range.start + (base + static_cast<double>(i)) * range.step);
  } else {
    static const Row to_float = sticky_row(DType::f64);
    alignas(64) std::array<double, block_elements> reals;
    alignas(64) std::array<float, block_elements> floats;
    range_block(range, begin, n, reals.data());
    const void* from = reals.data();
    to_float(&from, 0, floats.data(), static_cast<std::size_t>(n));
    from = floats.data();
    conversion(DType::f32, dtype_of<T>)(&from, 0, to, static_cast<std::size_t>(n));
  }
}

}  // namespace

static void range(const KernelCall& call, KernelContext& context) {
  const Operand& out = call.out();
  const auto range = call.attributes->as<RangeAttributes>();
  const std::int64_t count = out.count();
  visit_dtype<numeric_dtypes>(out.dtype, [&]<class T>(T) {
    T* const to = out.as<T>();
    for_each_range(context.parallel, count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; at += block_elements)
        range_block(range, at, std::min(block_elements, end - at), to + at);
    });
    if (range.has_last && count > 0) range_block({.start = range.last}, 0, 1, to + count - 1);
  });
}

static void leave_as_it_is(const KernelCall& /*call*/, KernelContext& /*context*/) {}

[[maybe_unused]] static const bool range_is_registered =
    register_host_kernel("Range", range, numeric_dtypes) && register_host_kernel("Empty", leave_as_it_is);

}  // namespace tutti::kernels
