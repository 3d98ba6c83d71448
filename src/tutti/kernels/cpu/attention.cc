// Attention, a strip of queries at a time: the matrix of weights, with a row for each query and a column for each key, is never
// there as a whole.
#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>

#include "tutti/exec/attention_attributes.h"
#include "tutti/kernels/cpu/line_rows.h"
#include "tutti/kernels/cpu/products.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/strided.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

constexpr std::int64_t most_strip = 128;  // queries: their weights stay in the cache for a few thousand keys

// One head of one batch: the last two axes of an operand.
Operand head_of(const Operand& operand, std::int64_t batch, std::int64_t head) {
  Operand out = operand;
  out.data +=
      (batch * operand.axes[0].stride + head * operand.axes[1].stride) * static_cast<std::int64_t>(size_of(operand.dtype));
  out.rank = 2;
  out.axes[0] = operand.axes[2];
  out.axes[1] = operand.axes[3];
  return out;
}
Operand rows_of(Operand matrix, std::int64_t first, std::int64_t count) {
  matrix.data += first * matrix.axes[0].stride * static_cast<std::int64_t>(size_of(matrix.dtype));
  matrix.axes[0].size = count;
  return matrix;
}
Operand transposed(Operand matrix) {
  std::swap(matrix.axes[0], matrix.axes[1]);
  return matrix;
}
template <class W>
Operand dense_matrix(W* data, std::int64_t rows, std::int64_t columns) {
  Operand out;
  out.data = reinterpret_cast<std::byte*>(data);
  out.dtype = dtype_of<W>;
  out.rank = 2;
  out.axes[0] = {rows, columns};
  out.axes[1] = {columns, 1};
  return out;
}
template <class W>
std::unique_ptr<W[]> room_of(std::int64_t elements) {
  return std::make_unique_for_overwrite<W[]>(static_cast<std::size_t>(elements));
}
template <class W>
void read_rows(const Operand& matrix, W* to) {
  Reader(matrix, dtype_of<W>).read_into(0, matrix.count(), reinterpret_cast<std::byte*>(to));
}
template <class W>
void write_rows(const W* from, const Operand& matrix) {
  const Writer writer(matrix, dtype_of<W>);
  Scratch scratch;
  for (std::int64_t i = 0; i < matrix.count(); i += block_elements)
    writer.write(i, std::min(block_elements, matrix.count() - i), reinterpret_cast<const std::byte*>(from + i), scratch);
}

// What the two directions share: sizes, and which keys a query sees.
class Heads {
 public:
  explicit Heads(const KernelCall& call)
      : attributes_(call.attributes->as<AttentionAttributes>()), query_(call.in(0)), key_(call.in(1)) {
    if (attributes_.has_mask) mask_ = &call.in(call.inputs - 1U);
  }
  [[nodiscard]] std::int64_t heads() const { return query_.axes[1].size; }
  [[nodiscard]] std::int64_t all_heads() const { return query_.axes[0].size * heads(); }
  [[nodiscard]] std::int64_t queries() const { return query_.axes[2].size; }
  [[nodiscard]] std::int64_t keys() const { return key_.axes[2].size; }
  [[nodiscard]] std::int64_t strip() const {
    return std::max<std::int64_t>(1, std::min({attributes_.chunk, most_strip, queries()}));
  }
  [[nodiscard]] double scale() const { return attributes_.scale; }

  // The keys that a strip works on, from the first one on. What a causal rule hides from all its queries is left out; not where
  // a mask may hide the rest too, for then a query sees all of them alike.
  [[nodiscard]] std::int64_t reach(std::int64_t first, std::int64_t count) const {
    return attributes_.causal && mask_ == nullptr ? std::min(keys(), first + count) : keys();
  }
  // Of these, those before it may be seen.
  [[nodiscard]] std::int64_t end_of(std::int64_t query, std::int64_t reach) const {
    return attributes_.causal ? std::min(reach, query + 1) : reach;
  }
  [[nodiscard]] bool has_mask() const { return mask_ != nullptr; }
  [[nodiscard]] bool sees(std::int64_t batch, std::int64_t head, std::int64_t query, std::int64_t key) const {
    if (attributes_.causal && key > query) return false;
    if (mask_ == nullptr) return true;
    const auto along = [&](std::size_t axis, std::int64_t i) {
      return mask_->axes[axis].size == 1 ? 0 : i * mask_->axes[axis].stride;
    };
    return mask_->data[along(0, batch) + along(1, head) + along(2, query) + along(3, key)] != std::byte{0};
  }
  [[nodiscard]] bool sees_any(std::int64_t batch, std::int64_t head, std::int64_t query) const {
    if (mask_ == nullptr) return true;
    for (std::int64_t key = 0; key < keys(); ++key) {
      if (sees(batch, head, query, key)) return true;
    }
    return false;
  }

  // How well queries first ... first + count - 1 match the keys in reach, in rows.
  template <class W>
  void match(std::int64_t batch, std::int64_t head, std::int64_t first, std::int64_t count, W* to) const {
    Serial alone;
    const std::int64_t length = reach(first, count);
    multiply(rows_of(head_of(query_, batch, head), first, count), transposed(rows_of(head_of(key_, batch, head), 0, length)),
             dense_matrix(to, count, length), alone);
    for (std::int64_t i = 0; i < count; ++i) {
      W* const row = to + i * length;
      const std::int64_t end = end_of(first + i, length);
      for (std::int64_t j = 0; j < end; ++j) row[j] *= static_cast<W>(scale());
      std::fill(row + end, row + length, static_cast<W>(unseen_match));
      for (std::int64_t j = 0; has_mask() && j < end; ++j) {
        if (!sees(batch, head, first + i, j)) row[j] = static_cast<W>(unseen_match);
      }
    }
  }

 private:
  AttentionAttributes attributes_;
  const Operand& query_;
  const Operand& key_;
  const Operand* mask_ = nullptr;
};

template <class W>
void attend(const KernelCall& call, Parallel& parallel) {
  const Heads heads(call);
  const std::int64_t strips = (heads.queries() + heads.strip() - 1) / heads.strip();
  const Operand& stats = call.out(1);
  const LineRows<W>& rows = line_rows<W>();
  parallel.for_each_chunk(static_cast<std::size_t>(heads.all_heads() * strips), [&](std::size_t chunk) {
    const auto task = static_cast<std::int64_t>(chunk);
    const std::int64_t batch = task / strips / heads.heads();
    const std::int64_t head = task / strips % heads.heads();
    const std::int64_t first = task % strips * heads.strip();
    const std::int64_t count = std::min(heads.strip(), heads.queries() - first);
    const std::int64_t reach = heads.reach(first, count);
    const auto weights = room_of<W>(count * reach);
    heads.match(batch, head, first, count, weights.get());
    for (std::int64_t i = 0; i < count; ++i) {
      W* const row = weights.get() + i * reach;
      const auto length = static_cast<std::size_t>(reach);
      const W largest = length > 0 ? rows.max(row, length) : W{0};
      const double sum = rows.exp_sum(row, largest, row, length);
      rows.scale(row, static_cast<W>(1 / sum), row, length);
      stats.as<W>()[(batch * heads.heads() + head) * heads.queries() + first + i] =
          static_cast<W>(static_cast<double>(largest) + std::log(sum));
    }
    Serial alone;
    multiply(dense_matrix(weights.get(), count, reach), rows_of(head_of(call.in(2), batch, head), 0, reach),
             rows_of(head_of(call.out(), batch, head), first, count), alone);
  });
}

// What one head adds up over its strips.
template <class W>
struct Sum {
  std::int64_t rows;
  std::int64_t columns;
  std::unique_ptr<W[]> total = std::make_unique<W[]>(static_cast<std::size_t>(rows * columns));
  std::unique_ptr<W[]> part = room_of<W>(rows * columns);

  // To as many of the first rows as a has.
  void add_product(const Operand& a, const Operand& b) {
    Serial alone;
    const std::int64_t some = a.axes[0].size;
    multiply(a, b, dense_matrix(part.get(), some, columns), alone);
    for (std::int64_t i = 0; i < some * columns; ++i) total[static_cast<std::size_t>(i)] += part[static_cast<std::size_t>(i)];
  }
};

// With P the weights, g the gradient of the result and d the sums of its rows times the result's: P * (g @ value^T - d) is the
// gradient of the match.
template <class W>
void attend_back(const KernelCall& call, Parallel& parallel) {
  const Heads heads(call);
  const auto [query, key, value, out, stats, given] =
      std::tie(call.in(0), call.in(1), call.in(2), call.in(3), call.in(4), call.in(5));
  const std::int64_t keys = heads.keys();
  const std::int64_t features = query.axes[3].size;
  const std::int64_t width = value.axes[3].size;
  parallel.for_each_chunk(static_cast<std::size_t>(heads.all_heads()), [&, &query = query, &key = key, &value = value, &out = out,
                                                                        &stats = stats, &given = given](std::size_t chunk) {
    const auto task = static_cast<std::int64_t>(chunk);
    const std::int64_t batch = task / heads.heads();
    const std::int64_t head = task % heads.heads();
    Serial alone;
    const auto weights = room_of<W>(heads.strip() * keys);
    const auto slopes = room_of<W>(heads.strip() * keys);
    const auto result = room_of<W>(heads.strip() * width);
    const auto gradient = room_of<W>(heads.strip() * width);
    Sum<W> of_key{keys, features};
    Sum<W> of_value{keys, width};
    for (std::int64_t first = 0; first < heads.queries(); first += heads.strip()) {
      const std::int64_t count = std::min(heads.strip(), heads.queries() - first);
      const std::int64_t reach = heads.reach(first, count);
      const Operand p = dense_matrix(weights.get(), count, reach);
      const Operand ds = dense_matrix(slopes.get(), count, reach);
      const Operand g = rows_of(head_of(given, batch, head), first, count);
      const Operand q = rows_of(head_of(query, batch, head), first, count);
      heads.match(batch, head, first, count, weights.get());
      multiply(g, transposed(rows_of(head_of(value, batch, head), 0, reach)), ds, alone);
      read_rows(rows_of(head_of(out, batch, head), first, count), result.get());
      read_rows(g, gradient.get());
      for (std::int64_t i = 0; i < count; ++i) {
        const Operand& known = stats;
        const W total =
            known.as<W>()[batch * known.axes[0].stride + head * known.axes[1].stride + (first + i) * known.axes[2].stride];
        double d = 0;
        for (std::int64_t j = 0; j < width; ++j)
          d += static_cast<double>(result[static_cast<std::size_t>(i * width + j)]) *
               static_cast<double>(gradient[static_cast<std::size_t>(i * width + j)]);
        W* const row = weights.get() + i * reach;
        if (heads.sees_any(batch, head, first + i)) {
          (void)line_rows<W>().exp_sum(row, total, row, static_cast<std::size_t>(reach));
        } else {  // the total is too large to hold how many there are
          std::fill(row, row + reach, 1 / static_cast<W>(keys));
        }
        W* const slope = slopes.get() + i * reach;
        const std::int64_t end = heads.end_of(first + i, reach);
        for (std::int64_t j = 0; j < end; ++j) slope[j] = row[j] * (slope[j] - static_cast<W>(d)) * static_cast<W>(heads.scale());
        std::fill(slope + end, slope + reach, W{0});
        for (std::int64_t j = 0; heads.has_mask() && j < end; ++j) {
          if (!heads.sees(batch, head, first + i, j)) slope[j] = 0;
        }
      }
      of_value.add_product(transposed(p), g);
      of_key.add_product(transposed(ds), q);
      multiply(ds, rows_of(head_of(key, batch, head), 0, reach), rows_of(head_of(call.out(0), batch, head), first, count), alone);
    }
    write_rows(of_key.total.get(), head_of(call.out(1), batch, head));
    write_rows(of_value.total.get(), head_of(call.out(2), batch, head));
  });
}

}  // namespace

static void attention(const KernelCall& call, KernelContext& context) {
  if (call.out().count() == 0 && call.out(1).count() == 0) return;
  visit_dtype<wide_floats>(working_dtype(call.in(0).dtype), [&]<class W>(W) { attend<W>(call, context.parallel); });
}

static void attention_grad(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats>(working_dtype(call.in(0).dtype), [&]<class W>(W) { attend_back<W>(call, context.parallel); });
}

[[maybe_unused]] static const bool attention_is_registered =
    register_host_kernel("ScaledDotProductAttention", attention, floating_dtypes) &&
    register_host_kernel("ScaledDotProductAttentionGrad", attention_grad, floating_dtypes);

}  // namespace tutti::kernels
