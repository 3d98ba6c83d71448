// Uniform random numbers, the same bits on every backend. The layout:
//
// Block b of key k is Philox4x32-10 with the counter words {b mod 2^32, b / 2^32, 0, 0} and the key words {k mod 2^32,
// k / 2^32}; it gives the words w0 ... w3. Element i in row-major order uses
//   f64, i64:          block counter + i / 2, the pair (w0, w1) when i is even, (w2, w3) when odd; bits = second * 2^32 + first
//   all other dtypes:  block counter + i / 4, the word number i mod 4
// so a draw of n elements uses at most n / 2 + 1 blocks from `counter` on. From the word w or the bits:
//   f32   u = (w >> 8) * 2^-24        f16   u = (w >> 21) * 2^-11        bf16  u = (w >> 24) * 2^-8
//   f64   u = (bits >> 11) * 2^-53    bool  w >> 31
//   u8 ... i32  low + ((w * range) >> 32)        i64  low + ((bits * range) >> 64)        range = high - low
// The floating result is u * (high - low) + low in f32 (f64 for f64), the difference taken in f64, product and sum rounded
// one by one (never fused) and then rounded to the dtype, and last limited to the dtype's least and largest value in
// [low, high); if the dtype has none there, it is low rounded to the dtype.
//
// RandomUniformInt draws integers the same way, with a range that is exact. RandomBernoulli uses one word for an element of
// any dtype, as the dtypes of up to 4 bytes above: 1 if w < threshold, else 0.
#include "tutti/exec/random_attributes.h"
#include "tutti/exec/uniform_bounds.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// T the dtype, F the type computed in, which holds every T.
template <class T, class F, class Unit>
void fill_floating(const UniformAttributes& draw, std::int64_t n, T* out, Unit&& unit) {
  const auto [low, span, least, most] = bounds_of<T, F>(draw);
  for (std::int64_t i = 0; i < n; ++i) {
    const F scaled = unit(i) * span;
    const F value = static_cast<F>(T(scaled + low));
    const F not_more = value > most ? most : value;
    out[i] = T(not_more < least ? least : not_more);
  }
}

__extension__ using Wide = unsigned __int128;

template <class T>
void fill_integer(const UniformRange& draw, std::int64_t n, const std::uint32_t* words, T* out) {
  const auto [low, range] = draw;
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (sizeof(T) == 8) {
      const std::uint64_t bits = static_cast<std::uint64_t>(words[2 * i + 1]) << 32U | words[2 * i];
      const auto product = static_cast<Wide>(bits) * range;
      out[i] = static_cast<T>(low + (range == 0 ? bits : static_cast<std::uint64_t>(product >> 64U)));
    } else {
      out[i] = static_cast<T>(low + ((words[i] * range) >> 32U));
    }
  }
}

void fill_integers(const UniformRange& draw, DType dtype, std::int64_t n, const std::uint32_t* words, std::byte* to) {
  visit_dtype<integer_dtypes>(dtype, [&]<class T>(T) { fill_integer(draw, n, words, reinterpret_cast<T*>(to)); });
}

// From 0 to just below 1, in as many steps as the dtype has bits for.
template <class T, class F>
F unit(const std::uint32_t* words, std::int64_t i) {
  if constexpr (std::is_same_v<T, double>) {
    const std::uint64_t bits = static_cast<std::uint64_t>(words[2 * i + 1]) << 32U | words[2 * i];
    return static_cast<double>(bits >> 11U) * 0x1p-53;
  } else {
    constexpr unsigned digits = std::is_same_v<T, float> ? 24 : std::is_same_v<T, f16> ? 11 : 8;
    return static_cast<float>(words[i] >> (32 - digits)) * (1.0F / (1U << digits));
  }
}

void fill(const UniformAttributes& draw, DType dtype, std::int64_t n, const std::uint32_t* words, std::byte* to) {
  visit_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool>) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<std::byte>(words[i] >> 31U);
    } else if constexpr (std::is_integral_v<T>) {
      fill_integer(range_of(draw), n, words, reinterpret_cast<T*>(to));
    } else {
      using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
      fill_floating<T, F>(draw, n, reinterpret_cast<T*>(to), [words](std::int64_t i) { return unit<T, F>(words, i); });
    }
  });
}

// Calls fill(words, n, room) for n elements at a time that take `per_block` elements of each of Philox's blocks.
template <class Fill>
void draw_all(std::uint64_t key, std::uint64_t counter, std::int64_t per_block, const Operand& out, KernelContext& context,
              const Fill& fill) {
  const Writer writer(out);
  const PhiloxRow philox = philox_row();
  for_each_range(context.parallel, writer.layout().count(), [&](std::int64_t begin, std::int64_t end) {
    Scratch scratch;
    alignas(64) std::array<std::uint32_t, block_elements * 2> words;
    for (std::int64_t at = begin; at < end; at += block_elements) {  // ranges begin at whole blocks of elements
      const std::int64_t n = std::min(block_elements, end - at);
      philox(key, counter + static_cast<std::uint64_t>(at / per_block), static_cast<std::size_t>((n + per_block - 1) / per_block),
             words.data());
      std::byte* room = writer.room(at, n, scratch);
      fill(words.data(), n, room);
      writer.write(at, n, room, scratch);
    }
  });
}

std::int64_t elements_per_block(DType dtype) { return size_of(dtype) == 8 ? 2 : 4; }

}  // namespace

static void random_uniform(const KernelCall& call, KernelContext& context) {
  const auto draw = call.attributes->as<UniformAttributes>();
  const DType dtype = call.out().dtype;
  draw_all(draw.key, draw.counter, elements_per_block(dtype), call.out(), context,
           [&](const std::uint32_t* words, std::int64_t n, std::byte* to) { fill(draw, dtype, n, words, to); });
}

static void random_integers(const KernelCall& call, KernelContext& context) {
  const auto draw = call.attributes->as<RandomIntegerAttributes>();
  const DType dtype = call.out().dtype;
  draw_all(draw.key, draw.counter, elements_per_block(dtype), call.out(), context,
           [&](const std::uint32_t* words, std::int64_t n, std::byte* to) {
             fill_integers({draw.low, draw.range}, dtype, n, words, to);
           });
}

static void random_bernoulli(const KernelCall& call, KernelContext& context) {
  const auto draw = call.attributes->as<BernoulliAttributes>();
  visit_dtype(call.out().dtype, [&](auto element) {
    using T = decltype(element);
    T one{};
    if constexpr (std::is_arithmetic_v<T>) {
      one = 1;
    } else {
      one = T(1.0F);
    }
    draw_all(draw.key, draw.counter, 4, call.out(), context, [&](const std::uint32_t* words, std::int64_t n, std::byte* to) {
      T* const out = reinterpret_cast<T*>(to);
      if (draw.threshold == 0) {
        std::fill_n(out, n, T{});
        return;
      }
      const auto last = static_cast<std::uint32_t>(draw.threshold - 1);  // 32 bits, also of a threshold of 2^32
      const T chosen = one;                                              // a copy the loop need not read again
      for (std::int64_t i = 0; i < n; ++i) out[i] = words[i] <= last ? chosen : T{};
    });
  });
}

[[maybe_unused]] static const bool random_is_registered =
    register_host_kernel("RandomUniform", random_uniform) &&
    register_host_kernel("RandomUniformInt", random_integers, integer_dtypes) &&
    register_host_kernel("RandomBernoulli", random_bernoulli);

}  // namespace tutti::kernels
