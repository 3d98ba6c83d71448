// Attention and its gradient: of halves by a plan of cuDNN's, of f32 in tiles, and where neither is possible in strips.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "tutti/backends/cuda/context.h"
#include "tutti/exec/op_call.h"
#include "tutti/exec/op_table.h"
#include "tutti/kernels/cuda/attention_mask.h"
#include "tutti/kernels/cuda/attention_plan.h"
#include "tutti/kernels/cuda/attention_strips.h"
#include "tutti/kernels/cuda/attention_tiles.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

constexpr std::int64_t piece_alignment = 256;

AttentionTensor tensor_of(const Operand& operand) {
  AttentionTensor out;
  for (std::size_t i = 0; i < 4; ++i) {
    out.sizes[i] = operand.axes[i].size;
    out.strides[i] = operand.axes[i].stride;
  }
  return out;
}

// As many rows, dense.
AttentionTensor dense_like(const AttentionTensor& rows, std::int64_t features) {
  const auto [batch, heads, places, _] = rows.sizes;
  return {{batch, heads, places, features}, {heads * places * features, places * features, features, 1}};
}

// Features contiguous, rows apart, and addresses that cuDNN's kernels can load from.
bool suits_cudnn(const Operand& operand) {
  const bool is_apart = operand.axes[0].stride > 0 && operand.axes[1].stride > 0 && operand.axes[2].stride > 0;
  return operand.axes[3].stride == 1 && is_apart && reinterpret_cast<std::uintptr_t>(operand.data) % 16 == 0;
}

// With a mask in the last place, where there is one.
using Inputs = std::array<Operand, 7>;

bool suits_cudnn(const AttentionMask& mask) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 29U;  // no more bytes than a plan may work in
  return (mask.keys == 1 || mask.strides[3] != 0) && mask.rows() * mask.row_size() <= most_elements;
}

// The gradient's engines misread a row that queries share (cuDNN 9: all weights are 0), so each of them gets its own.
AttentionMask mask_of(const Inputs& in, bool causal, bool is_gradient) {
  AttentionMask out;
  out.batches = in[0].axes[0].size;
  out.heads = in[0].axes[1].size;
  out.queries = in[0].axes[2].size;
  out.keys = in[1].axes[2].size;
  out.causal = causal;
  const Operand& mask = in[6];
  out.seen = reinterpret_cast<const std::uint8_t*>(mask.data);
  for (std::size_t i = 0; i < 4; ++i) {
    const bool is_shared = mask.axes[i].size == 1 || mask.axes[i].stride == 0;
    out.strides[i] = is_shared ? 0 : mask.axes[i].stride;
    if (i < 3) out.sizes[i] = is_shared ? 1 : mask.axes[i].size;
  }
  if (is_gradient) out.sizes[2] = out.queries;
  return out;
}

// A plan for so many batches and heads at a time.
struct PartPlan {
  std::shared_ptr<const CudnnPlan> plan;
  std::int64_t sums = 0;  // elements that several blocks add to
  std::int64_t batches = 0;
  std::int64_t heads = 0;
  std::optional<AttentionMask> mask = std::nullopt;
};

AttentionTensor bias_of(const AttentionMask& mask, std::int64_t batches, std::int64_t heads) {
  const std::int64_t row = mask.row_size();
  return {{std::min(mask.sizes[0], batches), std::min(mask.sizes[1], heads), mask.sizes[2], mask.keys},
          {mask.sizes[1] * mask.sizes[2] * row, mask.sizes[2] * row, row, 1}};
}

// The gradient keeps the weights of all heads it works on. Where that is too much, fewer of them are worked on at a time.
PartPlan plan_of(const AttentionAttributes& attributes, const Inputs& in, bool is_gradient, int ordinal, Site site) {
  const DType dtype = in[0].dtype;
  if (!half_dtypes.contains(dtype)) return {};
  for (std::size_t i = 0; i < (is_gradient ? 6U : 3U); ++i) {
    if (i != 4 && !suits_cudnn(in[i])) return {};
  }
  if (is_gradient && !in[4].is_dense()) return {};
  AttentionKey key{.query = tensor_of(in[0]),
                   .key = tensor_of(in[1]),
                   .value = tensor_of(in[2]),
                   .out = {},
                   .given = {},
                   .bias = {},
                   .ordinal = ordinal,
                   .dtype = dtype,
                   .causal = attributes.causal,
                   .is_gradient = is_gradient,
                   .deterministic = attributes.deterministic || !is_gradient};
  key.out = is_gradient ? tensor_of(in[3]) : dense_like(key.query, key.value.sizes[3]);
  if (is_gradient) key.given = tensor_of(in[5]);
  PartPlan part{.plan = nullptr, .batches = key.query.sizes[0], .heads = key.query.sizes[1]};
  if (attributes.has_mask) {
    if (in[6].is_immediate) return {};
    part.mask = mask_of(in, attributes.causal, is_gradient);
    if (!suits_cudnn(*part.mask)) return {};
    key.bias = bias_of(*part.mask, part.batches, part.heads);
  }
  part.plan = attention_plan(key, site);
  if (part.plan != nullptr && !key.deterministic) part.sums = in[0].count();
  if (part.plan == nullptr && !key.deterministic) {
    key.deterministic = true;
    part.plan = attention_plan(key, site);
  }
  const bool can_part = is_gradient && key.query.sizes[2] % 4 == 0;  // what each query's sums begin with stays aligned
  while (can_part && part.plan == nullptr && (part.batches > 1 || part.heads % 2 == 0)) {
    if (part.batches > 1) {
      part.batches = 1;
    } else {
      part.heads /= 2;
    }
    for (AttentionTensor* each : {&key.query, &key.key, &key.value, &key.out, &key.given}) {
      each->sizes[0] = part.batches;
      each->sizes[1] = part.heads;
    }
    if (part.mask) key.bias = bias_of(*part.mask, part.batches, part.heads);
    part.plan = attention_plan(key, site);
  }
  return part;
}

// Where a plan works, from the beginning of the scratch memory on: what is made of a mask, then the library's part.
struct PlanRoom {
  std::int64_t first_seen = 0;  // the bias comes first
  std::int64_t stats = 0;
  std::int64_t sums = 0;
  std::int64_t workspace = 0;
  std::int64_t bytes = 0;

  PlanRoom(const PartPlan& part, bool is_gradient) {
    const auto after = [](std::int64_t at, std::int64_t size) {
      return at + (size + piece_alignment - 1) / piece_alignment * piece_alignment;
    };
    if (part.mask) {
      const AttentionMask& mask = *part.mask;
      first_seen = after(0, mask.rows() * mask.row_size() * std::int64_t{sizeof(std::uint16_t)});
      stats = after(first_seen, mask.rows() * std::int64_t{sizeof(std::int64_t)});
      const std::int64_t rows = is_gradient ? mask.batches * mask.heads * mask.queries : 0;
      sums = after(stats, rows * std::int64_t{sizeof(float)});
    }
    workspace = after(sums, part.sums * std::int64_t{sizeof(float)});
    bytes = workspace + part.plan->workspace_bytes();
  }
};

Inputs inputs_of(const KernelCall& call, const AttentionAttributes& attributes, bool is_gradient) {
  Inputs out{};
  for (std::size_t i = 0; i < (is_gradient ? 6U : 3U); ++i) out[i] = device_input(call, i);
  if (attributes.has_mask) out[6] = call.in(call.inputs - 1U);
  return out;
}

FeatureRows rows_in(const Operand& operand) {
  return {operand.data, {operand.axes[0].stride, operand.axes[1].stride, operand.axes[2].stride}};
}

// What attention in tiles is given; nothing where it is not for them.
std::optional<TiledHeads> tiles_of(const AttentionAttributes& attributes, const Inputs& in, bool is_gradient,
                                   const tutti::cuda::Properties& gpu) {
  constexpr std::int64_t most = std::int64_t{1} << 30U;
  const Operand& query = in[0];
  const Operand& value = in[2];
  if (query.dtype != DType::f32 || !takes_tiled_heads(gpu)) return std::nullopt;
  TiledHeads out;
  out.is_aligned = true;
  for (std::size_t i = 0; i < (is_gradient ? 6U : 3U); ++i) {
    if (i == 4) continue;
    const Operand& each = in[i];
    if (each.axes[3].stride != 1 && each.axes[3].size > 1) return std::nullopt;
    std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(each.data);
    for (std::size_t axis = 0; axis < 3; ++axis) bits |= static_cast<std::uintptr_t>(each.axes[axis].stride) * sizeof(float);
    out.is_aligned = out.is_aligned && bits % 16 == 0;
  }
  if (is_gradient && !in[4].is_dense()) return std::nullopt;
  const std::int64_t heads = query.axes[0].size * query.axes[1].size;
  const std::int64_t longest = std::max(query.axes[2].size, in[1].axes[2].size);
  if (std::max(query.axes[3].size, value.axes[3].size) > most_tiled_features || heads > most || longest > most)
    return std::nullopt;
  if (heads * (longest / 64 + 1) > most) return std::nullopt;  // blocks
  out.query = rows_in(query);
  out.key = rows_in(in[1]);
  out.value = rows_in(value);
  out.heads = static_cast<int>(query.axes[1].size);
  out.all_heads = static_cast<int>(heads);
  out.queries = static_cast<int>(query.axes[2].size);
  out.keys = static_cast<int>(in[1].axes[2].size);
  out.features = static_cast<int>(query.axes[3].size);
  out.width = static_cast<int>(value.axes[3].size);
  out.scale = static_cast<float>(attributes.scale);
  out.causal = attributes.causal;
  out.tf32 = attributes.tf32;
  if (!attributes.has_mask) return out;
  const Operand& mask = in[6];
  if (mask.is_immediate) return std::nullopt;
  out.mask = reinterpret_cast<const std::uint8_t*>(mask.data);
  for (std::size_t i = 0; i < 4; ++i) out.mask_strides[i] = mask.axes[i].size == 1 ? 0 : mask.axes[i].stride;
  return out;
}

bool has_elements(const Inputs& in) { return in[0].count() > 0 && in[1].count() > 0 && in[2].count() > 0; }

std::int64_t attention_bytes(const OpCall& call, bool is_gradient) {
  const auto attributes = call.attributes.as<AttentionAttributes>();
  Inputs in{};
  const auto take = [&](std::size_t i, Operand& to) {
    to.is_immediate = call.inputs()[i].tensor == nullptr;
    if (to.is_immediate) return;
    const TensorImpl& tensor = *call.inputs()[i].tensor;
    to.data = tensor.kernel_address();
    to.dtype = tensor.dtype();
    to.rank = static_cast<std::uint8_t>(tensor.shape().size());
    for (std::size_t axis = 0; axis < to.rank; ++axis) to.axes[axis] = {tensor.shape()[axis], tensor.strides()[axis]};
  };
  for (std::size_t i = 0; i < (is_gradient ? 6U : 3U); ++i) take(i, in[i]);
  if (attributes.has_mask) take(call.inputs().size() - 1, in[6]);
  if (!has_elements(in)) return 0;
  const int ordinal = static_cast<int>(call.inputs()[0].tensor->buffer()->device().physical().ordinal);
  tutti::cuda::Context& context = tutti::cuda::Context::of(ordinal);
  context.enter(call.site);
  if (const PartPlan part = plan_of(attributes, in, is_gradient, ordinal, call.site); part.plan != nullptr)
    return PlanRoom(part, is_gradient).bytes;
  if (const auto tiles = tiles_of(attributes, in, is_gradient, context.properties()))
    return is_gradient ? std::int64_t{tiles->all_heads} * tiles->queries * std::int64_t{sizeof(float)} : 0;
  return attention_strip_bytes(attributes, in[0], in[1], in[2], is_gradient);
}
std::int64_t forward_bytes(const OpCall& call, const Inference&) { return attention_bytes(call, false); }
std::int64_t gradient_bytes(const OpCall& call, const Inference&) { return attention_bytes(call, true); }

// What a plan is run with, in scratch memory.
struct PlanScratch {
  std::optional<AttentionMask> mask;
  std::byte* stats = nullptr;  // of the gradient with a mask
  std::byte* sums = nullptr;   // of the gradient whose order of additions is free
  std::size_t sums_bytes = 0;
  void* workspace = nullptr;

  PlanScratch(const PartPlan& part, bool is_gradient, std::byte* scratch) : mask(part.mask) {
    const PlanRoom room(part, is_gradient);
    if (part.plan->workspace_bytes() > 0) workspace = scratch + room.workspace;
    if (part.sums > 0) sums = scratch + room.sums;
    sums_bytes = static_cast<std::size_t>(part.sums) * sizeof(float);
    if (!mask) return;
    mask->bias = scratch;
    mask->first_seen = reinterpret_cast<std::int64_t*>(scratch + room.first_seen);
    if (is_gradient) stats = scratch + room.stats;
  }
};

// Every operand of a plan, from one batch and head on, with the numbers of the host's that it reads while it is being launched.
class Bindings {
 public:
  Bindings(const KernelCall& call, const AttentionAttributes& attributes, bool is_gradient, const PlanScratch& scratch,
           std::int64_t batch = 0, std::int64_t head = 0)
      : numbers_{static_cast<float>(attributes.scale), std::numeric_limits<float>::lowest(), 1.0F} {
    using Uids = AttentionUids;
    const auto at = [&](const Operand& operand) {
      const std::int64_t elements = batch * operand.axes[0].stride + head * operand.axes[1].stride;
      return operand.data + elements * static_cast<std::int64_t>(size_of(operand.dtype));
    };
    bind(Uids::query, at(call.in(0)));
    bind(Uids::key, at(call.in(1)));
    bind(Uids::value, at(call.in(2)));
    bind(Uids::out, at(is_gradient ? call.in(3) : call.out()));
    Operand stats = is_gradient ? call.in(4) : call.out(1);
    if (scratch.stats != nullptr) stats.data = scratch.stats;
    bind(Uids::stats, at(stats));
    if (scratch.mask) {
      const AttentionTensor all = bias_of(*scratch.mask, scratch.mask->batches, scratch.mask->heads);
      const std::int64_t elements =
          (all.sizes[0] > 1 ? batch * all.strides[0] : 0) + (all.sizes[1] > 1 ? head * all.strides[1] : 0);
      bind(Uids::bias, scratch.mask->bias + elements * std::int64_t{sizeof(std::uint16_t)});
    }
    bind(Uids::scale, &numbers_[0]);
    if (attributes.causal) bind(Uids::unseen, &numbers_[1]);
    if (!is_gradient) return;
    bind(Uids::given, at(call.in(5)));
    bind(Uids::of_query, at(call.out(0)));
    bind(Uids::of_key, at(call.out(1)));
    bind(Uids::of_value, at(call.out(2)));
    bind(Uids::one, &numbers_[2]);
    if (scratch.sums != nullptr) bind(Uids::sums, scratch.sums);
  }
  Bindings(const Bindings&) = delete;
  Bindings& operator=(const Bindings&) = delete;

  [[nodiscard]] std::span<const std::int64_t> uids() const { return {uids_.data(), count_}; }
  [[nodiscard]] std::span<void* const> pointers() const { return {pointers_.data(), count_}; }

 private:
  void bind(std::int64_t uid, void* pointer) {
    uids_[count_] = uid;
    pointers_[count_++] = pointer;
  }
  std::array<float, 3> numbers_;
  std::array<std::int64_t, 14> uids_{};
  std::array<void*, 14> pointers_{};
  std::size_t count_ = 0;
};

void before_plan(const AttentionMask& mask, const PlanScratch& scratch, bool is_gradient, Queue& queue, const KernelCall& call) {
  write_bias(mask, call.in(0).dtype, queue, call);
  if (is_gradient)
    hide_blind(mask, reinterpret_cast<const float*>(call.in(4).data), reinterpret_cast<float*>(scratch.stats), queue, call);
}

void after_plan(const AttentionMask& mask, bool is_gradient, Queue& queue, const KernelCall& call) {
  const Operand& value = call.in(2);
  const std::int64_t width = value.axes[3].size;
  if (is_gradient) {
    add_blind(mask, rows_in(call.in(5)), rows_in(call.out(2)), width, value.dtype, queue, call);
  } else {
    average_blind(mask, rows_in(value), rows_in(call.out()), reinterpret_cast<float*>(call.out(1).data), width, value.dtype,
                  queue, call);
  }
}

template <bool is_gradient>
void attention(const KernelCall& call, KernelContext& context) {
  Queue& queue = queue_of(context);
  const auto attributes = call.attributes->as<AttentionAttributes>();
  const Inputs in = inputs_of(call, attributes, is_gradient);
  if (!has_elements(in)) {
    for (std::size_t i = 0; i < call.outputs; ++i) {
      const std::size_t bytes = static_cast<std::size_t>(call.out(i).count()) * size_of(call.out(i).dtype);
      if (bytes > 0) check(cudaMemsetAsync(call.out(i).data, 0, bytes, queue.stream()), "filling with zeros", call);
    }
    return;
  }
  const PartPlan part = plan_of(attributes, in, is_gradient, queue.properties().ordinal, call.site);
  if (part.plan != nullptr) {
    const PlanScratch scratch(part, is_gradient, call.scratch().data);
    if (scratch.mask) before_plan(*scratch.mask, scratch, is_gradient, queue, call);
    if (scratch.sums != nullptr)
      check(cudaMemsetAsync(scratch.sums, 0, scratch.sums_bytes, queue.stream()), "filling with zeros", call);
    for (std::int64_t batch = 0; batch < in[0].axes[0].size; batch += part.batches) {
      for (std::int64_t head = 0; head < in[0].axes[1].size; head += part.heads) {
        const Bindings bindings(call, attributes, is_gradient, scratch, batch, head);
        part.plan->run(bindings.uids(), bindings.pointers(), scratch.workspace, queue, call);
      }
    }
    if (scratch.mask) after_plan(*scratch.mask, is_gradient, queue, call);
    return;
  }
  if (const auto tiles = tiles_of(attributes, in, is_gradient, queue.properties())) {
    if constexpr (is_gradient) {
      const TiledGradient gradient{.out = rows_in(call.in(3)),
                                   .given = rows_in(call.in(5)),
                                   .stats = call.in(4).as<float>(),
                                   .along = reinterpret_cast<float*>(call.scratch().data),
                                   .of_query = rows_in(call.out(0)),
                                   .of_key = rows_in(call.out(1)),
                                   .of_value = rows_in(call.out(2))};
      attend_tiled_back(*tiles, gradient, queue, call);
    } else {
      attend_tiled(*tiles, rows_in(call.out()), call.out(1).as<float>(), queue, call);
    }
    return;
  }
  is_gradient ? attend_in_strips_back(call, attributes, queue) : attend_in_strips(call, attributes, queue);
}

template <bool is_gradient>
void prepare_attention(const KernelCall& call, KernelContext& context) {
  Queue& queue = queue_of(context);
  const auto attributes = call.attributes->as<AttentionAttributes>();
  const Inputs in = inputs_of(call, attributes, is_gradient);
  if (!has_elements(in)) return;
  queue.enter(call.site);
  const PartPlan part = plan_of(attributes, in, is_gradient, queue.properties().ordinal, call.site);
  if (part.plan == nullptr) return;
  const PlanScratch scratch(part, is_gradient, call.scratch().data);
  const Bindings bindings(call, attributes, is_gradient, scratch);
  part.plan->rehearse(bindings.uids(), bindings.pointers(), scratch.workspace);
}

}  // namespace

[[maybe_unused]] static const bool attention_is_registered =
    register_cuda_kernel("ScaledDotProductAttention", attention<false>, forward_bytes, floating_dtypes,
                         prepare_attention<false>) &&
    register_cuda_kernel("ScaledDotProductAttentionGrad", attention<true>, gradient_bytes, floating_dtypes,
                         prepare_attention<true>);

}  // namespace tutti::kernels::cuda
