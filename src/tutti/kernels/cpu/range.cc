#include <array>

#include "tutti/exec/manipulation_attributes.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

// start + i * step for a block of elements; two roundings.
template <class T>
void real_block(const RangeAttributes& range, std::int64_t begin, std::int64_t n, T* to) {
  const auto base = static_cast<double>(begin);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(n); ++i)
    to[i] = static_cast<T>(range.start + (base + static_cast<double>(i)) * range.step);
}

template <class T>
void integers(const RangeAttributes& range, std::int64_t begin, std::int64_t end, T* to) {
  const auto first = static_cast<std::uint64_t>(range.first);
  const auto by = static_cast<std::uint64_t>(range.by);
  for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(first + static_cast<std::uint64_t>(i) * by);
}

// Rounded from f64 once, by way of an f32 that is made odd where it is not exact.
void halves(const RangeAttributes& range, std::int64_t begin, std::int64_t n, DType dtype, std::byte* to) {
  static const Row to_float = sticky_row(DType::f64);
  alignas(64) std::array<double, block_elements> reals;
  alignas(64) std::array<float, block_elements> floats;
  real_block(range, begin, n, reals.data());
  const void* from = reals.data();
  to_float(&from, 0, floats.data(), static_cast<std::size_t>(n));
  from = floats.data();
  conversion(DType::f32, dtype)(&from, 0, to, static_cast<std::size_t>(n));
}

}  // namespace

static void range(const KernelCall& call, KernelContext& context) {
  const Operand& out = call.out();
  const auto range = call.attributes->as<RangeAttributes>();
  const std::int64_t count = out.count();
  const auto make = [&](std::int64_t begin, std::int64_t end) {
    switch (out.dtype) {
      case DType::u8: return integers(range, begin, end, out.as<std::uint8_t>());
      case DType::i8: return integers(range, begin, end, out.as<std::int8_t>());
      case DType::i16: return integers(range, begin, end, out.as<std::int16_t>());
      case DType::i32: return integers(range, begin, end, out.as<std::int32_t>());
      case DType::i64: return integers(range, begin, end, out.as<std::int64_t>());
      default: break;
    }
    for (std::int64_t at = begin; at < end; at += block_elements) {
      const std::int64_t n = std::min(block_elements, end - at);
      if (out.dtype == DType::f32) {
        real_block(range, at, n, out.as<float>() + at);
      } else if (out.dtype == DType::f64) {
        real_block(range, at, n, out.as<double>() + at);
      } else {
        halves(range, at, n, out.dtype, out.data + at * 2);
      }
    }
  };
  for_each_range(context.parallel, count, make);
  if (!range.has_last || count == 0) return;
  const RangeAttributes only_last{.start = range.last};
  switch (out.dtype) {
    case DType::f32: return real_block(only_last, 0, 1, out.as<float>() + count - 1);
    case DType::f64: return real_block(only_last, 0, 1, out.as<double>() + count - 1);
    default: return halves(only_last, 0, 1, out.dtype, out.data + (count - 1) * 2);
  }
}

static void leave_as_it_is(const KernelCall& /*call*/, KernelContext& /*context*/) {}

[[maybe_unused]] static const bool is_registered =
    register_host_kernel("Range", range, numeric_dtypes) && register_host_kernel("Empty", leave_as_it_is);

}  // namespace tutti::kernels
