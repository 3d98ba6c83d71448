#include "tutti/kernels/cuda/attention_plan.h"

#include <optional>
#include <utility>

#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/door.h"
#include "tutti/kernels/cuda/plan_cache.h"

namespace tutti::kernels::cuda {

namespace {

using Uids = AttentionUids;

// The operations that cuDNN knows as attention. Which they are and in which order is what its engines look for.
class AttentionGraph {
 public:
  AttentionGraph(const Cudnn& cudnn, const AttentionKey& key)
      : key_(key),
        graph_(cudnn),
        stored_(cudnn_type(key.dtype)),
        batch_(key.query.sizes[0]),
        heads_(key.query.sizes[1]),
        queries_(key.query.sizes[2]),
        keys_(key.key.sizes[2]) {}

  CudnnGraph forward() {
    const Value match = matched();
    const Value largest = reduced(CUDNN_REDUCE_TENSOR_MAX, match);
    const Value terms = pointwise(CUDNN_POINTWISE_EXP, pointwise(CUDNN_POINTWISE_SUB, match, largest));
    const Value sum = reduced(CUDNN_REDUCE_TENSOR_ADD, terms);
    const Value logarithm = pointwise(CUDNN_POINTWISE_LOG, sum);
    pointwise_into(stats(), CUDNN_POINTWISE_ADD, largest, logarithm);
    const Value weights = inner(match.sizes, stored_);
    pointwise_into(weights, CUDNN_POINTWISE_DIV, terms, sum);
    multiply_into(real(Uids::out, key_.out), weights, real(Uids::value, key_.value));
    return std::move(graph_);
  }

  CudnnGraph gradient() {
    const Value given = real(Uids::given, key_.given);
    const Value one = number(Uids::one);
    const Value product = pointwise(CUDNN_POINTWISE_MUL, given, real(Uids::out, key_.out));
    const Value along = pointwise(CUDNN_POINTWISE_MUL, reduced(CUDNN_REDUCE_TENSOR_ADD, product), one);
    const Value weights = pointwise(CUDNN_POINTWISE_EXP, pointwise(CUDNN_POINTWISE_SUB, matched(), stats()));
    multiply_into(real(Uids::of_value, dense(key_.value)), transposed(weights), given);
    const Value of_weights = inner(weights.sizes, CUDNN_DATA_FLOAT);
    multiply_into(of_weights, given, real(Uids::value, transposed(key_.value)));
    const Value centred = pointwise(CUDNN_POINTWISE_SUB, pointwise(CUDNN_POINTWISE_MUL, of_weights, one), along);
    const Value slopes = pointwise(CUDNN_POINTWISE_MUL, pointwise(CUDNN_POINTWISE_MUL, centred, weights), *scale_);
    multiply_into(real(Uids::of_key, dense(key_.key)), transposed(slopes), real(Uids::query, key_.query));
    const Value keys = inner(key_.key.sizes, stored_, key_.key.strides);
    reshape_into(keys, real(Uids::key, transposed(key_.key)));
    const Value of_query = real(Uids::of_query, dense(key_.query));
    if (key_.deterministic) {
      multiply_into(of_query, slopes, keys);
    } else {
      const Value sums =
          made({.uid = Uids::sums, .type = CUDNN_DATA_FLOAT, .is_in_blocks = true}, of_query.sizes, of_query.strides);
      multiply_into(sums, slopes, keys);
      pointwise_into(of_query, CUDNN_POINTWISE_IDENTITY, sums, std::nullopt);
    }
    return std::move(graph_);
  }

 private:
  using Four = std::array<std::int64_t, 4>;
  struct Value {
    const CudnnDescriptor* descriptor;
    Four sizes;
    Four strides;
  };

  static Four dense_strides(const Four& sizes) { return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1}; }
  static AttentionTensor dense(const AttentionTensor& like) { return {like.sizes, dense_strides(like.sizes)}; }
  static AttentionTensor transposed(AttentionTensor tensor) {
    std::swap(tensor.sizes[2], tensor.sizes[3]);
    std::swap(tensor.strides[2], tensor.strides[3]);
    return tensor;
  }

  Value made(CudnnTensor tensor, const Four& sizes, const Four& strides) {
    tensor.sizes.assign(sizes.begin(), sizes.end());
    tensor.strides.assign(strides.begin(), strides.end());
    return {&graph_.tensor(tensor), sizes, strides};
  }
  // Each operand has one descriptor.
  Value real(std::int64_t uid, const AttentionTensor& tensor, cudnnDataType_t type) {
    auto& known = reals_.at(static_cast<std::size_t>(uid));
    if (!known) known = made({.uid = uid, .type = type}, tensor.sizes, tensor.strides);
    return *known;
  }
  Value real(std::int64_t uid, const AttentionTensor& tensor) { return real(uid, tensor, stored_); }
  Value stats() {
    return real(Uids::stats, {{batch_, heads_, queries_, 1}, {heads_ * queries_, queries_, 1, 1}}, CUDNN_DATA_FLOAT);
  }
  Value number(std::int64_t uid) {
    return made({.uid = uid, .type = CUDNN_DATA_FLOAT, .is_by_value = true}, {1, 1, 1, 1}, {1, 1, 1, 1});
  }
  Value inner(const Four& sizes, cudnnDataType_t type, const Four& strides) {
    return made({.uid = next_uid_++, .type = type, .is_virtual = true}, sizes, strides);
  }
  Value inner(const Four& sizes, cudnnDataType_t type) { return inner(sizes, type, dense_strides(sizes)); }

  // How well every query matches every key, where it sees it.
  Value matched() {
    scale_ = number(Uids::scale);
    const Value all = inner({batch_, heads_, queries_, keys_}, CUDNN_DATA_FLOAT);
    multiply_into(all, real(Uids::query, key_.query), real(Uids::key, transposed(key_.key)));
    Value match = pointwise(CUDNN_POINTWISE_MUL, all, *scale_);
    if (key_.bias.sizes[3] > 0) match = pointwise(CUDNN_POINTWISE_ADD, match, real(Uids::bias, key_.bias));
    if (!key_.causal) return match;
    const Value row = places(match, 2);
    const Value column = places(match, 3);
    const Value seen = inner(match.sizes, CUDNN_DATA_BOOLEAN);
    pointwise_into(seen, CUDNN_POINTWISE_CMP_GE, row, column, nullptr, CUDNN_DATA_BOOLEAN);
    const Value out = inner(match.sizes, CUDNN_DATA_FLOAT);
    pointwise_into(out, CUDNN_POINTWISE_BINARY_SELECT, match, number(Uids::unseen), &seen);
    return out;
  }
  Value places(const Value& like, std::int64_t axis) {
    const Value out = inner(like.sizes, CUDNN_DATA_INT32);
    CudnnDescriptor& mode = graph_.add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    mode.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_GEN_INDEX);
    mode.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_INT32);
    mode.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
    mode.finalize();
    CudnnDescriptor& operation = graph_.add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *like.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *out.descriptor);
    finish(operation);
    return out;
  }

  Value pointwise(cudnnPointwiseMode_t mode, const Value& x, const std::optional<Value>& b = std::nullopt) {
    const Value out = inner(x.sizes, CUDNN_DATA_FLOAT);
    pointwise_into(out, mode, x, b);
    return out;
  }
  void pointwise_into(const Value& out, cudnnPointwiseMode_t which, const Value& x, const std::optional<Value>& b,
                      const Value* chooser = nullptr, cudnnDataType_t precision = CUDNN_DATA_FLOAT) {
    CudnnDescriptor& mode = graph_.add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    mode.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, which);
    mode.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, precision);
    mode.finalize();
    CudnnDescriptor& operation = graph_.add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.descriptor);
    if (b) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b->descriptor);
    if (chooser != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *chooser->descriptor);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *out.descriptor);
    finish(operation);
  }
  // Along the last axis.
  Value reduced(cudnnReduceTensorOp_t with, const Value& x) {
    const Value out = inner({batch_, heads_, queries_, 1}, CUDNN_DATA_FLOAT);
    CudnnDescriptor& mode = graph_.add(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    mode.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, with);
    mode.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    mode.finalize();
    CudnnDescriptor& operation = graph_.add(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, mode);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *out.descriptor);
    finish(operation);
    return out;
  }
  void multiply_into(const Value& c, const Value& a, const Value& b) {
    CudnnDescriptor& mode = graph_.add(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    mode.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    mode.finalize();
    CudnnDescriptor& operation = graph_.add(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, mode);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *c.descriptor);
    finish(operation);
  }
  void reshape_into(const Value& out, const Value& x) {
    CudnnDescriptor& operation = graph_.add(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x.descriptor);
    operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *out.descriptor);
    finish(operation);
  }
  Value transposed(const Value& x) {
    const Value out = inner({x.sizes[0], x.sizes[1], x.sizes[3], x.sizes[2]}, stored_,
                            {x.strides[0], x.strides[1], x.strides[3], x.strides[2]});
    reshape_into(out, x);
    return out;
  }
  void finish(CudnnDescriptor& operation) {
    operation.finalize();
    graph_.add_operation(operation);
  }

  const AttentionKey& key_;
  CudnnGraph graph_;
  cudnnDataType_t stored_;
  std::int64_t batch_;
  std::int64_t heads_;
  std::int64_t queries_;
  std::int64_t keys_;
  std::int64_t next_uid_ = 100;
  std::optional<Value> scale_;
  std::array<std::optional<Value>, 11> reals_{};
};

}  // namespace

std::shared_ptr<const CudnnPlan> attention_plan(const AttentionKey& key, Site site) {
  static auto* const plans = new PlanCache<AttentionKey>;  // outlive every thread
  return plans->find_or(key, [&]() -> std::shared_ptr<const CudnnPlan> {
    const Cudnn* const cudnn = find_cudnn(site);
    CudnnHandle* const handle = cudnn != nullptr ? cudnn_handle(key.ordinal, site) : nullptr;
    if (handle == nullptr) return nullptr;
    const BlockingRegion choosing(SyncReason::module_load, site);
    try {
      AttentionGraph graph(*cudnn, key);
      return std::make_shared<const CudnnPlan>(key.is_gradient ? graph.gradient() : graph.forward(), *handle,
                                               CudnnLimits{.deterministic = key.deterministic});
    } catch (const CudnnRefusal& refusal) {
      log(LogLevel::debug, text("no plan of cuDNN's for attention", key.is_gradient ? ", back" : "", key.causal ? ", causal" : "",
                                key.bias.sizes[3] > 0 ? ", with a mask" : "", ": ", refusal.what));
      return nullptr;
    }
  });
}

}  // namespace tutti::kernels::cuda
