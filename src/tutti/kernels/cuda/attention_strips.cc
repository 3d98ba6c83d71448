#include "tutti/kernels/cuda/attention_strips.h"

#include <algorithm>
#include <utility>

#include "tutti/kernels/cuda/attention_rows.h"
#include "tutti/kernels/cuda/columns.h"
#include "tutti/kernels/cuda/copy.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/operand_product.h"

namespace tutti::kernels::cuda {

namespace {

constexpr std::int64_t strip_alignment = 256;

Operand transposed_heads(Operand operand) {
  std::swap(operand.axes[2], operand.axes[3]);
  return operand;
}
Operand rows_of_heads(Operand operand, std::int64_t first, std::int64_t count) {
  operand.data += first * operand.axes[2].stride * static_cast<std::int64_t>(size_of(operand.dtype));
  operand.axes[2].size = count;
  return operand;
}
Operand dense_strip(std::byte* data, DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t rows,
                    std::int64_t columns) {
  Operand out;
  out.data = data;
  out.dtype = dtype;
  out.rank = 4;
  out.axes[0] = {batch, heads * rows * columns};
  out.axes[1] = {heads, rows * columns};
  out.axes[2] = {rows, columns};
  out.axes[3] = {columns, 1};
  return out;
}

// The same steps say how many bytes they work in and run.
class Strips {
 public:
  Strips(const AttentionAttributes& attributes, const Operand& query, const Operand& key, const Operand& value)
      : attributes_(attributes),
        query_(query),
        key_(key),
        value_(value),
        batch_(query.axes[0].size),
        heads_(query.axes[1].size),
        queries_(query.axes[2].size),
        keys_(key.axes[2].size),
        strip_(std::clamp<std::int64_t>(attributes.chunk, 1, std::max<std::int64_t>(1, queries_))) {}

  // From the beginning of the scratch memory on.
  [[nodiscard]] std::int64_t bytes(bool is_gradient) {
    used_ = 0;
    const Room room = take_room(nullptr, is_gradient);
    const Operand weights = heads_like(nullptr, strip_, keys_);
    std::int64_t most = std::max(operand_product_bytes(rows_of_heads(query_, 0, strip_), transposed_heads(key_)),
                                 operand_product_bytes(weights, value_));
    if (is_gradient) {
      const Operand rows = heads_like(nullptr, strip_, width());
      most = std::max({most, operand_product_bytes(rows, transposed_heads(value_)),
                       operand_product_bytes(transposed_heads(weights), rows),
                       operand_product_bytes(transposed_heads(weights), rows_of_heads(query_, 0, strip_)),
                       operand_product_bytes(weights, key_)});
    }
    return room.bytes + most;
  }

  void forward(const KernelCall& call, Queue& queue) {
    const Room room = take_room(call.scratch().data, false);
    for (std::int64_t first = 0; first < queries_; first += strip_) {
      const WeightStrip strip = strip_at(first, call);
      const Operand weights = heads_like(room.weights, strip.count, keys_);
      product(rows_of_heads(query_, first, strip.count), transposed_heads(key_), weights.data, room, queue, call);
      weigh(strip, weights.data, call.out(1).data, query_.dtype, queue, call);
      const Operand part = heads_like(room.rows, strip.count, width());
      product(weights, value_, part.data, room, queue, call);
      copy_operand(part, rows_of_heads(call.out(), first, strip.count), queue, call);
    }
  }

  void gradient(const KernelCall& call, Queue& queue) {
    const Room room = take_room(call.scratch().data, true);
    const Operand stats = call.in(4);
    for (std::int64_t first = 0; first < queries_; first += strip_) {
      const WeightStrip strip = strip_at(first, call);
      const Operand weights = heads_like(room.weights, strip.count, keys_);
      const Operand slopes = heads_like(room.slopes, strip.count, keys_);
      const Operand query = rows_of_heads(query_, first, strip.count);
      const Operand out = heads_like(room.rows, strip.count, width());
      const Operand given = heads_like(room.given, strip.count, width());
      copy_operand(rows_of_heads(call.in(3), first, strip.count), out, queue, call);
      copy_operand(rows_of_heads(call.in(5), first, strip.count), given, queue, call);
      product(query, transposed_heads(key_), weights.data, room, queue, call);
      weigh_again(strip, weights.data, stats.data, query_.dtype, queue, call);
      product(given, transposed_heads(value_), slopes.data, room, queue, call);
      slope(strip, weights.data, slopes.data, out.data, given.data, width(), query_.dtype, queue, call);
      const auto add = [&](const Operand& to) {
        add_parts(room.part, 1, to.data, to.count(), first == 0, to.dtype, queue, call);
      };
      product(transposed_heads(weights), given, room.part, room, queue, call);
      add(call.out(2));
      product(transposed_heads(slopes), query, room.part, room, queue, call);
      add(call.out(1));
      const Operand of_query = heads_like(room.part, strip.count, query_.axes[3].size);
      product(slopes, key_, of_query.data, room, queue, call);
      copy_operand(of_query, rows_of_heads(call.out(0), first, strip.count), queue, call);
    }
  }

 private:
  struct Room {
    std::byte* weights = nullptr;
    std::byte* slopes = nullptr;
    std::byte* rows = nullptr;
    std::byte* given = nullptr;
    std::byte* part = nullptr;
    std::byte* product = nullptr;
    std::int64_t bytes = 0;
  };

  [[nodiscard]] std::int64_t width() const { return value_.axes[3].size; }
  [[nodiscard]] Operand heads_like(std::byte* data, std::int64_t rows, std::int64_t columns) const {
    return dense_strip(data, query_.dtype, batch_, heads_, rows, columns);
  }
  std::byte* take(std::byte* scratch, std::int64_t elements) {
    std::byte* const at = scratch == nullptr ? nullptr : scratch + used_;
    const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(query_.dtype));
    used_ += (bytes + strip_alignment - 1) / strip_alignment * strip_alignment;
    return at;
  }
  Room take_room(std::byte* scratch, bool is_gradient) {
    const std::int64_t all = batch_ * heads_;
    used_ = 0;
    Room room;
    room.weights = take(scratch, all * strip_ * keys_);
    room.rows = take(scratch, all * strip_ * width());
    if (is_gradient) {
      room.slopes = take(scratch, all * strip_ * keys_);
      room.given = take(scratch, all * strip_ * width());
      const std::int64_t features = query_.axes[3].size;
      room.part = take(scratch, all * std::max(keys_ * std::max(features, width()), strip_ * features));
    }
    room.product = scratch == nullptr ? nullptr : scratch + used_;
    room.bytes = used_;
    return room;
  }
  [[nodiscard]] WeightStrip strip_at(std::int64_t first, const KernelCall& call) const {
    WeightStrip strip{heads_, batch_ * heads_, queries_, first, std::min(strip_, queries_ - first), keys_, attributes_};
    if (!attributes_.has_mask) return strip;
    const Operand& mask = device_input(call, call.inputs - 1U);
    strip.mask = reinterpret_cast<const std::uint8_t*>(mask.data);
    for (std::size_t i = 0; i < 4; ++i) strip.mask_strides[i] = mask.axes[i].size == 1 ? 0 : mask.axes[i].stride;
    return strip;
  }
  void product(const Operand& a, const Operand& b, std::byte* c, const Room& room, Queue& queue, const KernelCall& call) const {
    (void)multiply_operands(a, b, c, room.product, attributes_.tf32, queue, call);
  }

  AttentionAttributes attributes_;
  Operand query_;
  Operand key_;
  Operand value_;
  std::int64_t batch_;
  std::int64_t heads_;
  std::int64_t queries_;
  std::int64_t keys_;
  std::int64_t strip_;
  std::int64_t used_ = 0;
};

}  // namespace

std::int64_t attention_strip_bytes(const AttentionAttributes& attributes, const Operand& query, const Operand& key,
                                   const Operand& value, bool is_gradient) {
  return Strips(attributes, query, key, value).bytes(is_gradient);
}

void attend_in_strips(const KernelCall& call, const AttentionAttributes& attributes, Queue& queue) {
  Strips(attributes, device_input(call, 0), device_input(call, 1), device_input(call, 2)).forward(call, queue);
}

void attend_in_strips_back(const KernelCall& call, const AttentionAttributes& attributes, Queue& queue) {
  Strips(attributes, device_input(call, 0), device_input(call, 1), device_input(call, 2)).gradient(call, queue);
}

}  // namespace tutti::kernels::cuda
