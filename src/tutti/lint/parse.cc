#include "tutti/lint/syntax_tree.h"

#include <tree_sitter/api.h>

#include <memory>
#include <utility>

extern "C" const TSLanguage* tree_sitter_python(void);

namespace tutti::lint {

namespace {

constexpr std::uint64_t longest_parse_us = 20'000'000;

constexpr std::pair<std::string_view, Syntax> syntax_names[] = {
    {"ERROR", Syntax::error},
    {"module", Syntax::module},
    {"block", Syntax::block},
    {"expression_statement", Syntax::expression_statement},
    {"assignment", Syntax::assignment},
    {"augmented_assignment", Syntax::augmented_assignment},
    {"call", Syntax::call},
    {"argument_list", Syntax::argument_list},
    {"keyword_argument", Syntax::keyword_argument},
    {"attribute", Syntax::attribute},
    {"subscript", Syntax::subscript},
    {"slice", Syntax::slice},
    {"identifier", Syntax::identifier},
    {"string", Syntax::string},
    {"interpolation", Syntax::interpolation},
    {"concatenated_string", Syntax::concatenated_string},
    {"integer", Syntax::integer},
    {"float", Syntax::floating},
    {"true", Syntax::true_},
    {"false", Syntax::false_},
    {"none", Syntax::none},
    {"list", Syntax::list},
    {"tuple", Syntax::tuple},
    {"dictionary", Syntax::dictionary},
    {"set", Syntax::set},
    {"pair", Syntax::pair},
    {"binary_operator", Syntax::binary_operator},
    {"unary_operator", Syntax::unary_operator},
    {"comparison_operator", Syntax::comparison_operator},
    {"boolean_operator", Syntax::boolean_operator},
    {"not_operator", Syntax::not_operator},
    {"conditional_expression", Syntax::conditional_expression},
    {"lambda", Syntax::lambda},
    {"list_comprehension", Syntax::list_comprehension},
    {"set_comprehension", Syntax::set_comprehension},
    {"dictionary_comprehension", Syntax::dictionary_comprehension},
    {"generator_expression", Syntax::generator_expression},
    {"for_in_clause", Syntax::for_in_clause},
    {"if_clause", Syntax::if_clause},
    {"named_expression", Syntax::named_expression},
    {"await", Syntax::await_},
    {"parenthesized_expression", Syntax::parenthesized_expression},
    {"expression_list", Syntax::expression_list},
    {"pattern_list", Syntax::pattern_list},
    {"tuple_pattern", Syntax::tuple_pattern},
    {"list_pattern", Syntax::list_pattern},
    {"list_splat", Syntax::list_splat},
    {"list_splat_pattern", Syntax::list_splat_pattern},
    {"dictionary_splat", Syntax::dictionary_splat},
    {"for_statement", Syntax::for_statement},
    {"while_statement", Syntax::while_statement},
    {"if_statement", Syntax::if_statement},
    {"elif_clause", Syntax::elif_clause},
    {"else_clause", Syntax::else_clause},
    {"with_statement", Syntax::with_statement},
    {"with_clause", Syntax::with_clause},
    {"with_item", Syntax::with_item},
    {"as_pattern", Syntax::as_pattern},
    {"as_pattern_target", Syntax::as_pattern_target},
    {"try_statement", Syntax::try_statement},
    {"except_clause", Syntax::except_clause},
    {"except_group_clause", Syntax::except_clause},
    {"finally_clause", Syntax::finally_clause},
    {"function_definition", Syntax::function_definition},
    {"class_definition", Syntax::class_definition},
    {"decorated_definition", Syntax::decorated_definition},
    {"decorator", Syntax::decorator},
    {"return_statement", Syntax::return_statement},
    {"assert_statement", Syntax::assert_statement},
    {"import_statement", Syntax::import_statement},
    {"import_from_statement", Syntax::import_from_statement},
    {"aliased_import", Syntax::aliased_import},
    {"dotted_name", Syntax::dotted_name},
    {"typed_parameter", Syntax::typed_parameter},
    {"default_parameter", Syntax::default_parameter},
    {"typed_default_parameter", Syntax::typed_default_parameter},
    {"parameters", Syntax::parameters},
    {"lambda_parameters", Syntax::parameters},
    {"type", Syntax::type},
    {"comment", Syntax::comment},
    {"break_statement", Syntax::break_statement},
    {"continue_statement", Syntax::continue_statement},
    {"raise_statement", Syntax::raise_statement},
    {"match_statement", Syntax::match_statement},
    {"case_clause", Syntax::case_clause},
    {"print_statement", Syntax::print_statement},
    {"global_statement", Syntax::global_statement},
    {"nonlocal_statement", Syntax::nonlocal_statement},
    {"yield", Syntax::yield},
};

constexpr std::pair<std::string_view, Part> part_names[] = {
    {"left", Part::left},
    {"right", Part::right},
    {"function", Part::function},
    {"arguments", Part::arguments},
    {"object", Part::object},
    {"attribute", Part::attribute},
    {"value", Part::value},
    {"subscript", Part::subscript},
    {"name", Part::name},
    {"body", Part::body},
    {"condition", Part::condition},
    {"consequence", Part::consequence},
    {"alternative", Part::alternative},
    {"parameters", Part::parameters},
    {"superclasses", Part::superclasses},
    {"type", Part::type},
    {"return_type", Part::return_type},
    {"definition", Part::definition},
    {"argument", Part::argument},
    {"operator", Part::operator_},
    {"operators", Part::operators},
    {"key", Part::key},
    {"module_name", Part::module_name},
    {"alias", Part::alias},
};

template <class Named, std::size_t Count>
Named by_name(const std::pair<std::string_view, Named> (&names)[Count], const char* name, Named otherwise) {
  for (const auto& [text, named] : names) {
    if (name != nullptr && text == name) return named;
  }
  return otherwise;
}

// What the grammar's numbers mean here.
struct Meaning {
  std::vector<Syntax> syntax;
  std::vector<Part> part;

  Meaning() {
    const TSLanguage* const python = tree_sitter_python();
    for (std::uint32_t i = 0; i < ts_language_symbol_count(python); ++i) {
      const auto symbol = static_cast<TSSymbol>(i);
      const bool is_named = ts_language_symbol_type(python, symbol) == TSSymbolTypeRegular;
      syntax.push_back(is_named ? by_name(syntax_names, ts_language_symbol_name(python, symbol), Syntax::other)
                                : Syntax::operator_);
    }
    for (std::uint32_t i = 0; i <= ts_language_field_count(python); ++i) {
      part.push_back(by_name(part_names, ts_language_field_name_for_id(python, static_cast<TSFieldId>(i)), Part::none));
    }
  }
};

Node converted(TSNode from, TSFieldId field) {
  static const Meaning meaning;
  const TSSymbol symbol = ts_node_symbol(from);
  Node node;
  node.begin = ts_node_start_byte(from);
  node.end = ts_node_end_byte(from);
  node.line = ts_node_start_point(from).row;
  // The symbol of what did not parse is outside the grammar's.
  node.kind = ts_node_is_error(from) ? Syntax::error : symbol < meaning.syntax.size() ? meaning.syntax[symbol] : Syntax::other;
  node.part = field < meaning.part.size() ? meaning.part[field] : Part::none;
  node.is_broken = ts_node_has_error(from) || ts_node_is_missing(from);
  return node;
}

}  // namespace

std::optional<SyntaxTree> SyntaxTree::parse(std::string_view source) {
  if (source.size() > most_bytes) return std::nullopt;
  const std::unique_ptr<TSParser, decltype(&ts_parser_delete)> parser(ts_parser_new(), &ts_parser_delete);
  if (!ts_parser_set_language(parser.get(), tree_sitter_python())) return std::nullopt;
  ts_parser_set_timeout_micros(parser.get(), longest_parse_us);
  const std::unique_ptr<TSTree, decltype(&ts_tree_delete)> parsed(
      ts_parser_parse_string(parser.get(), nullptr, source.data(), static_cast<std::uint32_t>(source.size())), &ts_tree_delete);
  if (!parsed) return std::nullopt;

  // Down and up again with a cursor: the depth of a source is its own.
  SyntaxTree tree(source);
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(parsed.get()));
  std::vector<NodeId> above;
  std::vector<NodeId> last_child;
  tree.nodes_.push_back(converted(ts_tree_cursor_current_node(&cursor), 0));
  bool goes_down = ts_tree_cursor_goto_first_child(&cursor);
  if (goes_down) {
    above.push_back(0);
    last_child.push_back(no_node);
  }
  while (!above.empty()) {
    const TSNode at = ts_tree_cursor_current_node(&cursor);
    const TSFieldId field = ts_tree_cursor_current_field_id(&cursor);
    const bool is_kept = ts_node_is_named(at) || field != 0;
    if (is_kept) {
      const auto id = static_cast<NodeId>(tree.nodes_.size());
      tree.nodes_.push_back(converted(at, field));
      tree.nodes_[id].parent = above.back();
      (last_child.back() == no_node ? tree.nodes_[above.back()].first : tree.nodes_[last_child.back()].next) = id;
      last_child.back() = id;
      if (ts_tree_cursor_goto_first_child(&cursor)) {
        above.push_back(id);
        last_child.push_back(no_node);
        continue;
      }
    }
    while (!above.empty() && !ts_tree_cursor_goto_next_sibling(&cursor)) {
      ts_tree_cursor_goto_parent(&cursor);
      above.pop_back();
      last_child.pop_back();
    }
  }
  ts_tree_cursor_delete(&cursor);
  return tree;
}

}  // namespace tutti::lint
