// The rules: what makes the host wait, why, and what to write instead. docs/lint/ has a page for each, made from this table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tutti::lint {

enum class RuleId : std::uint8_t {
  item,
  tolist,
  to_cpu,
  numpy,
  python_scalar,
  print,
  format,
  log_value,
  save,
  branch,
  assertion,
  min_max,
  nonzero,
  boolean_index,
  boolean_assign,
  masked_select,
  unique,
  bincount,
  repeat_interleave,
  one_hot,
  host_index,
  scalar_assign,
  tensor_bounds,
  create_from_host,
  blocking_copy,
  unpinned_loader,
  type_to_cpu,
  host_lengths,
  synchronize,
  query_loop,
  barrier,
  object_collective,
  allclose,
  linalg_check,
  distribution_check,
  sampling_check,
  clip_grad_check,
  grad_scaler,
  empty_cache,
  pin_memory,
  jax_read,
  jax_branch,
  jax_block,
};

struct Rule {
  RuleId id;
  std::string_view name;      // "to-cpu"
  std::string_view category;  // "reads"
  std::string_view title;     // one line, for lists
  std::string_view why;       // it syncs
  std::string_view instead;   // the form that does not
  std::string_view safe;      // when that form means the same
  std::string_view before;    // Python
  std::string_view after;
  bool has_fix;  // --fix rewrites what is surely the same
};

std::span<const Rule> rules();
const Rule& rule(RuleId id);
const Rule* find_rule(std::string_view name);  // null where there is none

// The page of docs/lint/, in Markdown; and the same for a terminal.
std::string page(const Rule& rule);
std::string explanation(const Rule& rule);

}  // namespace tutti::lint
