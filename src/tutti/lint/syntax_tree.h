// The syntax tree of a Python source, flat: what the parser found, without the parser.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tutti::lint {

enum class Syntax : std::uint8_t {
  other,
  error,
  module,
  block,
  expression_statement,
  assignment,
  augmented_assignment,
  call,
  argument_list,
  keyword_argument,
  attribute,
  subscript,
  slice,
  identifier,
  string,
  interpolation,
  concatenated_string,
  integer,
  floating,
  true_,
  false_,
  none,
  list,
  tuple,
  dictionary,
  set,
  pair,
  binary_operator,
  unary_operator,
  comparison_operator,
  boolean_operator,
  not_operator,
  conditional_expression,
  lambda,
  list_comprehension,
  set_comprehension,
  dictionary_comprehension,
  generator_expression,
  for_in_clause,
  if_clause,
  named_expression,
  await_,
  parenthesized_expression,
  expression_list,
  pattern_list,
  tuple_pattern,
  list_pattern,
  list_splat,
  list_splat_pattern,
  dictionary_splat,
  for_statement,
  while_statement,
  if_statement,
  elif_clause,
  else_clause,
  with_statement,
  with_clause,
  with_item,
  as_pattern,
  as_pattern_target,
  try_statement,
  except_clause,
  finally_clause,
  function_definition,
  class_definition,
  decorated_definition,
  decorator,
  return_statement,
  assert_statement,
  import_statement,
  import_from_statement,
  aliased_import,
  dotted_name,
  typed_parameter,
  default_parameter,
  typed_default_parameter,
  parameters,
  type,
  comment,
  break_statement,
  continue_statement,
  raise_statement,
  match_statement,
  case_clause,
  print_statement,
  global_statement,
  nonlocal_statement,
  yield,
  operator_,
};

// The part a node plays in its parent.
enum class Part : std::uint8_t {
  none,
  left,
  right,
  function,
  arguments,
  object,
  attribute,
  value,
  subscript,
  name,
  body,
  condition,
  consequence,
  alternative,
  parameters,
  superclasses,
  type,
  return_type,
  definition,
  argument,
  operator_,
  operators,
  key,
  module_name,
  alias,
};

using NodeId = std::uint32_t;
inline constexpr NodeId no_node = 0xffffffff;

struct Node {
  std::uint32_t begin = 0;  // bytes of the source
  std::uint32_t end = 0;
  std::uint32_t line = 0;  // from 0
  NodeId parent = no_node;
  NodeId first = no_node;
  NodeId next = no_node;
  Syntax kind = Syntax::other;
  Part part = Part::none;
  bool is_broken = false;  // it, or something in it, did not parse
};

class SyntaxTree {
 public:
  // None where the parser gave up: too large (most_bytes), or too slow.
  static std::optional<SyntaxTree> parse(std::string_view source);
  static constexpr std::size_t most_bytes = std::size_t{32} << 20;

  NodeId root() const { return 0; }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }
  std::string_view text(NodeId id) const { return source_.substr(nodes_[id].begin, nodes_[id].end - nodes_[id].begin); }
  std::string_view source() const { return source_; }
  NodeId child(NodeId of, Part part) const;  // the first that plays it, or no_node

 private:
  explicit SyntaxTree(std::string_view source) : source_(source) {}

  std::string_view source_;
  std::vector<Node> nodes_;
};

}  // namespace tutti::lint
