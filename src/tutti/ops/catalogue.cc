#include "tutti/ops/catalogue.h"

#include <algorithm>

#include "tutti/base/text.h"

namespace tutti {

namespace {

constexpr std::string_view changes_in_steps = "zero: it changes in steps";
constexpr std::string_view takes_none = "none: it takes no tensors";
constexpr std::string_view takes_shape = "zero: it takes only the shape";
constexpr std::string_view leaves = "none: what the host or another library gets, no tape sees";

constexpr CatalogueEntry creation[] = {
    {.name = "constant", .ops = "_EagerConst"},
    {.name = "from_bytes", .ops = "_EagerConst"},
    {.name = "zeros", .ops = "Fill", .gradient = takes_none},
    {.name = "ones", .ops = "Fill", .gradient = takes_none},
    {.name = "full", .ops = "Fill"},
    {.name = "empty", .ops = "Empty"},
    {.name = "zeros_like", .ops = "Fill", .gradient = takes_shape},
    {.name = "ones_like", .ops = "Fill", .gradient = takes_shape},
    {.name = "full_like", .ops = "Fill"},
    {.name = "empty_like", .ops = "Empty", .gradient = takes_shape},
    {.name = "arange", .ops = "Range"},
    {.name = "linspace", .ops = "Range"},
    {.name = "eye", .ops = "MatrixBandPart", .gradient = takes_none},
    {.name = "tril", .ops = "MatrixBandPart"},
    {.name = "triu", .ops = "MatrixBandPart"},
    {.name = "meshgrid"},
    {.name = "wrap_host_memory", .gradient = takes_none},
    {.name = "wrap_device_memory", .gradient = takes_none},
    {.name = "from_dlpack", .gradient = takes_none},
};

constexpr CatalogueEntry random_numbers[] = {
    {.name = "uniform", .ops = "RandomUniform"},
    {.name = "normal", .ops = "RandomStandardNormal", .dtypes = floating_dtypes},
    {.name = "randint", .ops = "RandomUniformInt", .dtypes = integer_dtypes},
    {.name = "bernoulli", .ops = "RandomBernoulli"},
    {.name = "permutation", .ops = "RandomUniformInt Sort GatherV2", .dtypes = any_dtype, .gradient = "yes"},
};

constexpr CatalogueEntry arithmetic[] = {
    {.name = "add", .ops = "AddV2"},
    {.name = "subtract", .ops = "Sub"},
    {.name = "multiply", .ops = "Mul"},
    {.name = "divide", .ops = "RealDiv"},
    {.name = "floor_divide", .ops = "FloorDiv", .gradient = changes_in_steps},
    {.name = "remainder", .ops = "FloorMod"},
    {.name = "pow", .ops = "Pow Square"},
    {.name = "add_n", .ops = "AddN"},
    {.name = "abs", .ops = "Abs", .dtypes = numeric_dtypes},
    {.name = "negative", .ops = "Neg"},
    {.name = "positive", .dtypes = numeric_dtypes},
    {.name = "sign", .ops = "Sign", .gradient = changes_in_steps},
    {.name = "square", .ops = "Square"},
    {.name = "sqrt", .ops = "Sqrt"},
    {.name = "copysign", .ops = "CopySign"},
    {.name = "maximum", .ops = "Maximum"},
    {.name = "minimum", .ops = "Minimum"},
    {.name = "clip", .ops = "ClipByValue Maximum Minimum"},
    {.name = "floor", .ops = "Floor", .dtypes = numeric_dtypes, .gradient = changes_in_steps},
    {.name = "ceil", .ops = "Ceil", .dtypes = numeric_dtypes, .gradient = changes_in_steps},
    {.name = "trunc", .ops = "Trunc", .dtypes = numeric_dtypes, .gradient = changes_in_steps},
    {.name = "round", .ops = "Rint", .dtypes = numeric_dtypes, .gradient = changes_in_steps},
    {.name = "where", .ops = "SelectV2"},
    {.name = "cast", .ops = "Cast"},
};

constexpr CatalogueEntry math[] = {
    {.name = "exp", .ops = "Exp"},
    {.name = "expm1", .ops = "Expm1"},
    {.name = "log", .ops = "Log"},
    {.name = "log1p", .ops = "Log1p"},
    {.name = "log2", .ops = "Log2"},
    {.name = "log10", .ops = "Log10"},
    {.name = "logaddexp", .ops = "LogAddExp"},
    {.name = "sin", .ops = "Sin"},
    {.name = "cos", .ops = "Cos"},
    {.name = "tan", .ops = "Tan"},
    {.name = "asin", .ops = "Asin"},
    {.name = "acos", .ops = "Acos"},
    {.name = "atan", .ops = "Atan"},
    {.name = "atan2", .ops = "Atan2"},
    {.name = "hypot", .ops = "Hypot"},
    {.name = "sinh", .ops = "Sinh"},
    {.name = "cosh", .ops = "Cosh"},
    {.name = "tanh", .ops = "Tanh"},
    {.name = "asinh", .ops = "Asinh"},
    {.name = "acosh", .ops = "Acosh"},
    {.name = "atanh", .ops = "Atanh"},
    {.name = "erf", .ops = "Erf"},
};

constexpr CatalogueEntry comparison[] = {
    {.name = "equal", .ops = "Equal"},
    {.name = "not_equal", .ops = "NotEqual"},
    {.name = "less", .ops = "Less"},
    {.name = "less_equal", .ops = "LessEqual"},
    {.name = "greater", .ops = "Less"},
    {.name = "greater_equal", .ops = "LessEqual"},
    {.name = "isnan", .ops = "IsNan NotEqual", .dtypes = numeric_dtypes},
    {.name = "isinf", .ops = "IsInf NotEqual", .dtypes = numeric_dtypes},
    {.name = "isfinite", .ops = "IsFinite Equal", .dtypes = numeric_dtypes},
    {.name = "signbit", .ops = "SignBit"},
    {.name = "isclose", .ops = "LessEqual LogicalAnd LogicalOr Equal IsFinite IsNan Abs Sub Mul AddV2 Cast", .dtypes = any_dtype},
    {.name = "allclose",
     .ops = "LessEqual LogicalAnd LogicalOr Equal IsFinite IsNan Abs Sub Mul AddV2 Cast All",
     .dtypes = any_dtype},
    {.name = "logical_and", .ops = "LogicalAnd"},
    {.name = "logical_or", .ops = "LogicalOr"},
    {.name = "logical_xor", .ops = "BitwiseXor", .dtypes = boolean_dtype},
    {.name = "logical_not", .ops = "LogicalNot"},
    {.name = "bitwise_and", .ops = "BitwiseAnd"},
    {.name = "bitwise_or", .ops = "BitwiseOr"},
    {.name = "bitwise_xor", .ops = "BitwiseXor"},
    {.name = "bitwise_invert", .ops = "Invert"},
    {.name = "bitwise_left_shift", .ops = "LeftShift"},
    {.name = "bitwise_right_shift", .ops = "RightShift"},
};

constexpr CatalogueEntry reductions[] = {
    {.name = "sum", .ops = "Sum"},
    {.name = "prod", .ops = "Prod"},
    {.name = "max", .ops = "Max"},
    {.name = "min", .ops = "Min"},
    {.name = "mean", .ops = "Mean"},
    {.name = "var", .ops = "Var"},
    {.name = "std", .ops = "Std"},
    {.name = "all", .ops = "All"},
    {.name = "any", .ops = "Any"},
    {.name = "count_nonzero", .ops = "CountNonzero CountNonzeroOnAxes"},
    {.name = "argmax", .ops = "ArgMax"},
    {.name = "argmin", .ops = "ArgMin"},
    {.name = "logsumexp", .ops = "LogSumExp"},
    {.name = "vector_norm", .ops = "Norm CountNonzeroOnAxes"},
};

constexpr CatalogueEntry scans[] = {
    {.name = "cumulative_sum", .ops = "Cumsum"},
    {.name = "cumsum", .ops = "Cumsum"},
    {.name = "cumprod", .ops = "Cumprod"},
};

constexpr CatalogueEntry neural[] = {
    {.name = "relu", .ops = "Relu"},
    {.name = "sigmoid", .ops = "Sigmoid"},
    {.name = "silu", .ops = "Silu"},
    {.name = "gelu", .ops = "Gelu GeluTanh"},
    {.name = "softmax", .ops = "Softmax"},
    {.name = "log_softmax", .ops = "LogSoftmax"},
    {.name = "layer_norm", .ops = "LayerNorm"},
    {.name = "linear", .ops = "FusedMatMul"},
    {.name = "embedding", .ops = "GatherV2"},
    {.name = "cross_entropy", .ops = "SparseSoftmaxCrossEntropyWithLogits CrossEntropyMean Sum"},
    {.name = "dropout", .ops = "Dropout"},
    {.name = "one_hot", .ops = "OneHot"},
    {.name = "channels_last", .ops = "_Contiguous"},
    {.name = "conv2d", .ops = "Conv2D", .dtypes = any_dtype},
    {.name = "max_pool2d", .ops = "MaxPool"},
    {.name = "avg_pool2d", .ops = "AvgPool"},
};

constexpr CatalogueEntry linear_algebra[] = {
    {.name = "matmul", .ops = "MatMul"},
    {.name = "matrix_transpose", .ops = "Transpose"},
    {.name = "tensordot", .ops = "MatMul"},
    {.name = "vecdot", .ops = "MatMul"},
    {.name = "outer", .ops = "Mul"},
    {.name = "trace", .ops = "Sum"},
    {.name = "einsum", .ops = "MatMul Sum Mul"},
    {.name = "cholesky", .ops = "Cholesky"},
    {.name = "cholesky_ex", .ops = "Cholesky"},
    {.name = "solve", .ops = "MatrixSolve"},
    {.name = "inv", .ops = "MatrixInverse"},
    {.name = "det", .ops = "MatrixDeterminant"},
    {.name = "slogdet", .ops = "LogMatrixDeterminant"},
    {.name = "qr", .ops = "Qr"},
};

constexpr CatalogueEntry sorting[] = {
    {.name = "sort", .ops = "Sort"},
    {.name = "argsort", .ops = "Sort", .gradient = "none: its result is a place, a whole number"},
    {.name = "topk", .ops = "TopKV2"},
    {.name = "searchsorted", .ops = "SearchSorted"},
    {.name = "unique_values", .ops = "Unique UniqueCount Sort", .syncs = "the count, unless a size is given"},
    {.name = "unique_counts", .ops = "Unique UniqueCount Sort", .syncs = "the count, unless a size is given"},
    {.name = "unique_inverse", .ops = "Unique UniqueCount Sort", .syncs = "the count, unless a size is given"},
    {.name = "unique_all", .ops = "Unique UniqueCount Sort", .syncs = "the count, unless a size is given"},
};

constexpr CatalogueEntry indexing[] = {
    {.name = "index", .ops = "GatherNd MaskedSelect CountNonzero", .syncs = "the count, where a mask is among the items"},
    {.name = "at"},
    {.name = "At::get", .ops = "GatherNd MaskedSelect CountNonzero", .syncs = "the count, where a mask is among the items"},
    {.name = "At::set", .ops = "TensorScatterUpdate SelectV2", .syncs = "the count, where a mask stands beside other tensors"},
    {.name = "At::add", .ops = "TensorScatterAdd SelectV2", .syncs = "the count, where a mask stands beside other tensors"},
    {.name = "At::multiply", .ops = "TensorScatterMul SelectV2", .syncs = "the count, where a mask stands beside other tensors"},
    {.name = "At::min", .ops = "TensorScatterMin SelectV2", .syncs = "the count, where a mask stands beside other tensors"},
    {.name = "At::max", .ops = "TensorScatterMax SelectV2", .syncs = "the count, where a mask stands beside other tensors"},
    {.name = "take", .ops = "GatherV2"},
    {.name = "index_select", .ops = "GatherV2"},
    {.name = "take_along_axis", .ops = "TakeAlongAxis"},
    {.name = "gather", .ops = "TakeAlongAxis"},
    {.name = "scatter", .ops = "TensorScatterUpdate TensorScatterAdd TensorScatterMul TensorScatterMin TensorScatterMax"},
    {.name = "nonzero", .ops = "NonZero CountNonzero", .syncs = "the count, unless a size is given"},
    {.name = "masked_select", .ops = "MaskedSelect CountNonzero", .syncs = "the count, unless a size is given"},
    {.name = "masked_scatter", .ops = "SelectV2 Cumsum Sub GatherV2"},
    {.name = "repeat_interleave",
     .ops = "GatherV2 RepeatIndices",
     .syncs = "the number of elements, where the repeats are a tensor and no size is given"},
};

constexpr CatalogueEntry shapes[] = {
    {.name = "slice", .ops = "StridedSlice"},
    {.name = "transpose", .ops = "Transpose"},
    {.name = "permute_dims", .ops = "Transpose"},
    {.name = "moveaxis", .ops = "Transpose"},
    {.name = "broadcast_to", .ops = "BroadcastTo"},
    {.name = "broadcast_arrays", .ops = "BroadcastTo"},
    {.name = "expand_dims", .ops = "Reshape"},
    {.name = "squeeze", .ops = "Reshape"},
    {.name = "reshape", .ops = "Reshape"},
    {.name = "contiguous", .ops = "_Contiguous"},
    {.name = "stop_gradient", .ops = "StopGradient", .gradient = "zero: it is for that"},
    {.name = "diagonal", .ops = "MatrixDiagPart"},
    {.name = "flip", .ops = "StridedSlice"},
    {.name = "split", .ops = "StridedSlice"},
    {.name = "unstack", .ops = "StridedSlice"},
    {.name = "concat", .ops = "ConcatV2"},
    {.name = "stack", .ops = "ConcatV2"},
    {.name = "roll", .ops = "ConcatV2"},
    {.name = "repeat", .ops = "Reshape BroadcastTo"},
    {.name = "tile", .ops = "Reshape BroadcastTo"},
    {.name = "pad", .ops = "PadV2"},
};

constexpr CatalogueEntry between_devices[] = {
    {.name = "copy_to", .ops = "_Copy"},
    {.name = "pin", .ops = "_Pin"},
    {.name = "is_pinned", .gradient = leaves},
    {.name = "to_dlpack", .syncs = "the value, unless a stream is given or it is ready", .gradient = leaves},
};

constexpr CatalogueEntry values_for_the_host[] = {
    {.name = "item", .ops = "_Copy", .syncs = "the value", .gradient = leaves},
    {.name = "read", .ops = "_Copy", .syncs = "the value", .gradient = leaves},
    {.name = "read_all", .ops = "_Copy", .syncs = "the values, once for all of them", .gradient = leaves},
    {.name = "read_async", .ops = "_Copy", .gradient = leaves},
    {.name = "try_read", .ops = "_Copy", .gradient = leaves},
    {.name = "to_string", .ops = "_Copy", .syncs = "the value", .gradient = leaves},
};

constexpr CatalogueEntry control[] = {
    {.name = "cond", .ops = "SelectV2"},
    {.name = "while_loop", .ops = "While"},
};

constexpr CatalogueEntry variables[] = {
    {.name = "Variable::value", .ops = "ReadVariableOp", .gradient = "yes"},
    {.name = "Variable::assign", .ops = "AssignVariableOp", .gradient = "yes"},
    {.name = "Variable::assign_add", .ops = "AssignAddVariableOp", .gradient = "yes"},
};

// Of the module above this one: only their names are known here.
constexpr CatalogueEntry meshes[] = {
    {.name = "create_mesh"},
    {.name = "create_distributed_mesh"},
    {.name = "parse_mesh"},
    {.name = "Mesh::sub_mesh"},
    {.name = "Mesh::sub_meshes"},
    {.name = "Layout::replicated"},
    {.name = "Layout::batch_sharded"},
    {.name = "Layout::inner_sharded"},
    {.name = "parse_layout"},
    {.name = "relayout_steps"},
    {.name = "barrier", .syncs = "every device of the mesh, on every process"},
};

constexpr CatalogueEntry sharded[] = {
    {.name = "shard", .ops = "_Copy"},
    {.name = "pack", .ops = "_Copy"},
    {.name = "unpack"},
    {.name = "to_tensor", .ops = "_Copy"},
    {.name = "relayout", .ops = "_Copy ConcatV2"},
    {.name = "all_reduce",
     .ops = "_Copy AddN RealDiv Minimum Maximum Mul LogicalAnd LogicalOr AllReduce NonlinearAllReduce",
     .dtypes = any_dtype},
    {.name = "broadcast", .ops = "_Copy Broadcast"},
    {.name = "all_gather", .ops = "_Copy ConcatV2 AllGather"},
    {.name = "reduce_scatter",
     .ops = "_Copy AddN RealDiv Minimum Maximum Mul LogicalAnd LogicalOr ReduceScatter NonlinearReduceScatter",
     .dtypes = any_dtype},
    {.name = "all_to_all", .ops = "_Copy ConcatV2 AllToAll"},
    {.name = "elementwise"},
};

// Of `train`.
constexpr CatalogueEntry differentiation[] = {
    {.name = "value_and_grad"},
    {.name = "grad"},
    {.name = "Tape"},
    {.name = "Tape::watch"},
    {.name = "Tape::gradient"},
    {.name = "Tape::gradients"},
    {.name = "custom_gradient", .ops = "CustomGradient"},
    {.name = "checkpoint", .ops = "CustomGradient"},
    {.name = "FindNonFinite"},
    {.name = "FindNonFinite::report", .syncs = "a number of each device"},
};

constexpr CatalogueEntry losses[] = {
    {.name = "mse_loss", .ops = "Mean Square Sub"},
    {.name = "mae_loss", .ops = "Mean Abs Sub"},
    {.name = "dense_cross_entropy", .ops = "LogSoftmax Mul Sum Mean Neg"},
    {.name = "smoothed_cross_entropy", .ops = "LogSoftmax SparseSoftmaxCrossEntropyWithLogits CrossEntropyMean Mean Mul AddV2"},
    {.name = "binary_cross_entropy", .ops = "Log1p Exp Neg Minimum Maximum Mul Sub AddV2 Mean"},
    {.name = "scaled_dot_product_attention", .ops = "Softmax MatMul Mul SelectV2"},
};

constexpr CatalogueEntry layers[] = {
    {.name = "Dense"},
    {.name = "Conv2D"},
    {.name = "Embedding"},
    {.name = "LayerNorm"},
    {.name = "BatchNorm"},
    {.name = "Dropout"},
    {.name = "MultiHeadAttention"},
    {.name = "Sequential"},
    {.name = "Sequential::add"},
    {.name = "parameters"},
    {.name = "named_variables"},
    {.name = "freeze"},
    {.name = "Evaluation"},
    {.name = "is_training"},
    {.name = "glorot_uniform"},
    {.name = "he_normal"},
    {.name = "normal_initializer"},
    {.name = "zeros_initializer"},
    {.name = "ones_initializer"},
};

constexpr CatalogueEntry optimizers[] = {
    {.name = "Sgd"},
    {.name = "Adam"},
    {.name = "adamw"},
    {.name = "Optimizer::update"},
    {.name = "Optimizer::parameters"},
    {.name = "Optimizer::step"},
    {.name = "clip_by_global_norm"},
    {.name = "constant_rate"},
    {.name = "warmup_cosine"},
    {.name = "exponential_decay"},
};

constexpr CatalogueEntry training[] = {
    {.name = "Model::compile"},
    {.name = "Model::fit", .syncs = "the values of its epochs, at the end or for callbacks that read them"},
    {.name = "Model::evaluate", .syncs = "the result"},
    {.name = "Model::predict"},
    {.name = "sgd"},
    {.name = "adam"},
    {.name = "accuracy"},
    {.name = "binary_accuracy"},
    {.name = "mean_absolute_error"},
    {.name = "early_stopping"},
    {.name = "checkpoints", .syncs = "the values, once for each file"},
    {.name = "on_epoch_end"},
    {.name = "on_step_end"},
    {.name = "MirroredStrategy::run"},
    {.name = "MirroredStrategy::split"},
    {.name = "MirroredStrategy::reduce"},
    {.name = "MirroredStrategy::all_reduce"},
};

constexpr CatalogueEntry files[] = {
    {.name = "save", .syncs = "the values, once for all of them"},
    {.name = "load"},
    {.name = "save_tensors", .syncs = "the values, once for all of them"},
    {.name = "load_tensors"},
    {.name = "load_metadata"},
};

constexpr CatalogueSection sections[] = {
    {"Creation", creation},
    {"Random numbers", random_numbers},
    {"Arithmetic", arithmetic},
    {"Functions of one element", math},
    {"Comparison, logic and bits", comparison},
    {"Reductions", reductions},
    {"Running sums and products", scans},
    {"Neural networks", neural},
    {"Linear algebra", linear_algebra},
    {"Sorting, searching, sets", sorting},
    {"Indexing", indexing},
    {"Shapes and views", shapes},
    {"Between devices and libraries", between_devices},
    {"Values for the host", values_for_the_host},
    {"Control flow on the device", control},
    {"Variables", variables},
    {"Sharded tensors", sharded},
    {"Losses and attention", losses},
    {"Gradients", differentiation, false},
    {"Training", training, false},
    {"Layers", layers, false},
    {"Optimizers", optimizers, false},
    {"Files of tensors", files, false},
    {"Meshes and layouts", meshes, false},
};

}  // namespace

std::span<const CatalogueSection> catalogue() { return sections; }

std::vector<const OpRow*> ops_of(const CatalogueEntry& entry) {
  std::vector<const OpRow*> rows;
  for (std::string_view rest = entry.ops; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (end > 0) rows.push_back(&find_op(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return rows;
}

DTypes dtypes_on(const CatalogueEntry& entry, BackendKind kind) {
  const std::vector<const OpRow*> rows = ops_of(entry);
  const auto lacks_kernel = [&](const OpRow* row) { return row->dtypes_on(kind).empty(); };
  if (std::any_of(rows.begin(), rows.end(), lacks_kernel)) return {};
  if (!entry.dtypes.empty()) return entry.dtypes;
  return rows.empty() ? any_dtype : rows.front()->dtypes_on(kind);
}

std::string gradient_of(const CatalogueEntry& entry) {
  if (!entry.gradient.empty()) return std::string(entry.gradient);
  const std::vector<const OpRow*> rows = ops_of(entry);
  if (rows.empty() || rows.front()->gradient.apply != nullptr) return "yes";
  return text("none: ", rows.front()->gradient.none != nullptr ? rows.front()->gradient.none : "its row states no rule");
}

}  // namespace tutti
