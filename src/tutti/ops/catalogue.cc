#include "tutti/ops/catalogue.h"

#include <algorithm>

namespace tutti {

namespace {

constexpr CatalogueEntry creation[] = {
    {.name = "constant", .ops = "_EagerConst"},
    {.name = "from_bytes", .ops = "_EagerConst"},
    {.name = "zeros", .ops = "Fill"},
    {.name = "ones", .ops = "Fill"},
    {.name = "full", .ops = "Fill"},
    {.name = "empty", .ops = "Empty"},
    {.name = "zeros_like", .ops = "Fill"},
    {.name = "ones_like", .ops = "Fill"},
    {.name = "full_like", .ops = "Fill"},
    {.name = "empty_like", .ops = "Empty"},
    {.name = "arange", .ops = "Range"},
    {.name = "linspace", .ops = "Range"},
    {.name = "eye", .ops = "MatrixBandPart"},
    {.name = "tril", .ops = "MatrixBandPart"},
    {.name = "triu", .ops = "MatrixBandPart"},
    {.name = "meshgrid"},
    {.name = "wrap_host_memory"},
    {.name = "wrap_device_memory"},
    {.name = "from_dlpack"},
};

constexpr CatalogueEntry random_numbers[] = {
    {.name = "uniform", .ops = "RandomUniform"},
    {.name = "normal", .ops = "RandomStandardNormal", .dtypes = floating_dtypes},
    {.name = "randint", .ops = "RandomUniformInt", .dtypes = integer_dtypes},
    {.name = "bernoulli", .ops = "RandomBernoulli"},
    {.name = "permutation", .ops = "RandomUniformInt Sort GatherV2", .dtypes = any_dtype},
};

constexpr CatalogueEntry arithmetic[] = {
    {.name = "add", .ops = "AddV2"},
    {.name = "subtract", .ops = "Sub"},
    {.name = "multiply", .ops = "Mul"},
    {.name = "divide", .ops = "RealDiv"},
    {.name = "floor_divide", .ops = "FloorDiv"},
    {.name = "remainder", .ops = "FloorMod"},
    {.name = "pow", .ops = "Pow Square"},
    {.name = "add_n", .ops = "AddN"},
    {.name = "abs", .ops = "Abs", .dtypes = numeric_dtypes},
    {.name = "negative", .ops = "Neg"},
    {.name = "positive", .dtypes = numeric_dtypes},
    {.name = "sign", .ops = "Sign"},
    {.name = "square", .ops = "Square"},
    {.name = "sqrt", .ops = "Sqrt"},
    {.name = "copysign", .ops = "CopySign"},
    {.name = "maximum", .ops = "Maximum"},
    {.name = "minimum", .ops = "Minimum"},
    {.name = "clip", .ops = "ClipByValue Maximum Minimum"},
    {.name = "floor", .ops = "Floor", .dtypes = numeric_dtypes},
    {.name = "ceil", .ops = "Ceil", .dtypes = numeric_dtypes},
    {.name = "trunc", .ops = "Trunc", .dtypes = numeric_dtypes},
    {.name = "round", .ops = "Rint", .dtypes = numeric_dtypes},
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
    {.name = "embedding", .ops = "GatherV2"},
    {.name = "cross_entropy", .ops = "SparseSoftmaxCrossEntropyWithLogits CrossEntropyMean Sum"},
    {.name = "dropout", .ops = "Dropout"},
    {.name = "one_hot", .ops = "OneHot"},
    {.name = "conv2d", .ops = "MatMul Unfold ConcatV2"},
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
    {.name = "argsort", .ops = "Sort"},
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
    {.name = "stop_gradient", .ops = "StopGradient"},
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
    {.name = "is_pinned"},
    {.name = "to_dlpack", .syncs = "the value, unless a stream is given or it is ready"},
};

constexpr CatalogueEntry values_for_the_host[] = {
    {.name = "item", .ops = "_Copy", .syncs = "the value"},
    {.name = "read", .ops = "_Copy", .syncs = "the value"},
    {.name = "read_all", .ops = "_Copy", .syncs = "the values, once for all of them"},
    {.name = "read_async", .ops = "_Copy"},
    {.name = "try_read", .ops = "_Copy"},
    {.name = "to_string", .ops = "_Copy", .syncs = "the value"},
};

constexpr CatalogueEntry control[] = {
    {.name = "cond", .ops = "SelectV2"},
    {.name = "while_loop", .ops = "While"},
};

constexpr CatalogueEntry variables[] = {
    {.name = "Variable::value", .ops = "ReadVariableOp"},
    {.name = "Variable::assign", .ops = "AssignVariableOp"},
    {.name = "Variable::assign_add", .ops = "AssignAddVariableOp"},
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
    {.name = "all_reduce", .ops = "_Copy AddN RealDiv Minimum Maximum Mul LogicalAnd LogicalOr", .dtypes = any_dtype},
    {.name = "broadcast", .ops = "_Copy"},
    {.name = "all_gather", .ops = "_Copy ConcatV2"},
    {.name = "reduce_scatter", .ops = "_Copy AddN RealDiv Minimum Maximum Mul LogicalAnd LogicalOr", .dtypes = any_dtype},
    {.name = "all_to_all", .ops = "_Copy ConcatV2"},
    {.name = "elementwise"},
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

bool has_gradient(const CatalogueEntry& entry) {
  const std::vector<const OpRow*> rows = ops_of(entry);
  return !rows.empty() && std::all_of(rows.begin(), rows.end(), [](const OpRow* row) { return row->gradient.apply != nullptr; });
}

}  // namespace tutti
