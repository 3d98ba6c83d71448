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
    {.name = "wrap_host_memory"},
    {.name = "wrap_device_memory"},
    {.name = "from_dlpack"},
};

constexpr CatalogueEntry random[] = {
    {.name = "uniform", .ops = "RandomUniform"},
};

constexpr CatalogueEntry elementwise[] = {
    {.name = "add", .ops = "AddV2"},      {.name = "add_n", .ops = "AddN"}, {.name = "cast", .ops = "Cast"},
    {.name = "exp", .ops = "Exp"},        {.name = "mul", .ops = "Mul"},    {.name = "relu", .ops = "Relu"},
    {.name = "where", .ops = "SelectV2"},
};

constexpr CatalogueEntry reductions[] = {
    {.name = "count_nonzero", .ops = "CountNonzero"},
    {.name = "sum", .ops = "Sum"},
};

constexpr CatalogueEntry linear_algebra[] = {
    {.name = "matmul", .ops = "MatMul"},
};

constexpr CatalogueEntry indexing[] = {
    {.name = "nonzero", .ops = "NonZero CountNonzero", .syncs = "the count"},
    {.name = "take", .ops = "GatherV2"},
};

constexpr CatalogueEntry shapes[] = {
    {.name = "contiguous", .ops = "_Copy"},
    {.name = "expand"},
    {.name = "reshape", .ops = "_Copy"},
    {.name = "slice"},
    {.name = "transpose"},
    {.name = "try_reshape"},
};

constexpr CatalogueEntry between_devices[] = {
    {.name = "copy_to", .ops = "_Copy"},
    {.name = "is_pinned"},
    {.name = "pin", .ops = "_Copy"},
    {.name = "to_dlpack", .syncs = "the value, unless a stream is given or it is ready"},
};

constexpr CatalogueEntry values_for_the_host[] = {
    {.name = "item", .ops = "_Copy", .syncs = "the value"},
    {.name = "read", .ops = "_Copy", .syncs = "the value"},
    {.name = "read_async", .ops = "_Copy"},
    {.name = "to_string", .ops = "_Copy", .syncs = "the value"},
    {.name = "try_read", .ops = "_Copy"},
};

constexpr CatalogueEntry variables[] = {
    {.name = "Variable::assign", .ops = "_Copy"},
    {.name = "Variable::assign_add", .ops = "AddV2"},
    {.name = "Variable::value"},
};

constexpr CatalogueSection sections[] = {
    {"Creation", creation},
    {"Random numbers", random},
    {"Element-wise", elementwise},
    {"Reductions", reductions},
    {"Linear algebra", linear_algebra},
    {"Indexing", indexing},
    {"Shapes and views", shapes},
    {"Between devices and libraries", between_devices},
    {"Values for the host", values_for_the_host},
    {"Variables", variables},
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
  return !rows.empty() && std::all_of(rows.begin(), rows.end(), [](const OpRow* row) { return row->gradient != nullptr; });
}

}  // namespace tutti
