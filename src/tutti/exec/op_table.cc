#include "tutti/exec/op_table.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "tutti/base/edit_distance.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/hal/function_name.h"

namespace tutti {

namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<OpRow>, std::less<>> rows;
};

Table& table() {
  static Table& instance = *new Table;
  return instance;
}

OpRow& row(Table& all, std::string_view name) {
  const auto found = all.rows.find(name);
  if (found != all.rows.end()) return *found->second;
  auto made = std::make_unique<OpRow>();
  made->name = name;
  return *all.rows.emplace(std::string(name), std::move(made)).first->second;
}

void add_kernel(OpRow& to, BackendKind kind, Kernel kernel, DTypes takes = any_dtype) {
  if (kernel == nullptr) return;
  to.kernels[static_cast<std::size_t>(kind)].store(kernel, std::memory_order_release);
  for (std::size_t i = 0; i < dtype_count; ++i) {
    if (takes.contains(static_cast<DType>(i))) to.masks[i].fetch_or(mask_of(kind), std::memory_order_acq_rel);
  }
}

const char* function_of_row(const char* op) noexcept {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.rows.find(std::string_view(op));
  return found != all.rows.end() && found->second->is_registered() ? found->second->function.c_str() : op;
}
[[maybe_unused]] const bool errors_name_functions = detail::look_up_functions_with(&function_of_row);

}  // namespace

const OpRow& register_op(OpDefinition definition, const OpKernels& kernels, Site site) {
  if (definition.name.empty()) throw InvalidArgument("an op needs a name", site);
  if (definition.infer == nullptr && definition.run == nullptr)
    throw InvalidArgument(
        text("op ", printable(definition.name), " needs an inference function: it says the dtype and shape of each output"),
        site);
  if (definition.function.empty()) definition.function = definition.name;
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  OpRow& made = row(all, definition.name);
  if (made.is_registered())
    throw InvalidArgument(text("an op named ", printable(definition.name), " is registered already; choose another name"), site);
  if (definition.gradient.apply == nullptr && definition.gradient.none == nullptr) definition.gradient = made.gradient;
  static_cast<OpDefinition&>(made) = std::move(definition);
  made.has_users_kernels = kernels.cpu != nullptr || kernels.sim != nullptr || kernels.cuda != nullptr;
  add_kernel(made, BackendKind::cpu, kernels.cpu);
  add_kernel(made, BackendKind::sim, kernels.sim);
  add_kernel(made, BackendKind::cuda, kernels.cuda);
  return made;
}

DTypes OpRow::dtypes_on(BackendKind backend) const noexcept {
  if (kind != OpKind::kernel) return takes;  // it runs wherever its inputs are
  DTypes found;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if ((mask_for(dtype) & mask_of(backend)) != 0) found = found | DTypes{dtype};
  }
  return found & takes;
}

bool register_kernel(const char* op, BackendKind kind, Kernel kernel, Workspace workspace, DTypes takes, Prepare prepare) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  OpRow& to = row(all, op);
  to.workspaces[static_cast<std::size_t>(kind)].store(workspace, std::memory_order_release);
  to.prepares[static_cast<std::size_t>(kind)].store(prepare, std::memory_order_release);
  add_kernel(to, kind, kernel, takes);
  return true;
}

bool register_gradient(const char* op, const GradientRule& rule) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  row(all, op).gradient = rule;
  return true;
}

std::vector<const OpRow*> list_ops() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::vector<const OpRow*> rows;
  for (const auto& [name, registered] : all.rows) {
    if (registered->is_registered()) rows.push_back(registered.get());
  }
  return rows;
}

const OpRow& find_op(std::string_view name, Site site) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.rows.find(name);
  if (found != all.rows.end() && found->second->is_registered()) return *found->second;
  std::string nearest;
  std::size_t best = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto& [known, registered] : all.rows) {
    if (!registered->is_registered()) continue;  // only its kernels are there
    const std::size_t apart = name.size() > 64 ? best : edit_distance(name, known);
    if (apart < best) {
      best = apart;
      nearest = known;
    }
  }
  throw UnknownOp(text("no op is named '", printable(name), "'", nearest.empty() ? "" : text("; did you mean '", nearest, "'?")),
                  site);
}

}  // namespace tutti
