#include "tools/declarations.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <stdexcept>
#include <utility>

namespace tutti::tools {

namespace {

using std::string_view;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

string_view trimmed(string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Words with one space between them.
std::string on_one_line(string_view text) {
  std::string out;
  for (const char c : trimmed(text)) {
    if (!is_space(c)) {
      out += c;
    } else if (out.back() != ' ') {
      out += ' ';
    }
  }
  return out;
}

void replace_all(std::string& text, string_view from, string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// The first word, and whether the text begins with it.
string_view first_word(string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_word);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}
bool takes_word(string_view& text, string_view word) {
  text = trimmed(text);
  if (first_word(text) != word) return false;
  text = trimmed(text.substr(word.size()));
  return true;
}

// Behind the bracket that closes the one at `at`.
std::size_t behind_closing(string_view code, std::size_t at, string_view open = "({[", string_view close = ")}]") {
  int depth = 0;
  for (std::size_t i = at; i < code.size(); ++i) {
    if (open.find(code[i]) != string_view::npos) ++depth;
    if (close.find(code[i]) != string_view::npos && --depth == 0) return i + 1;
  }
  throw std::runtime_error("a bracket is not closed: " + std::string(code.substr(at, 60)));
}

// The text with spaces in place of comments and of what stands in quotes, so that brackets and semicolons mean what they say.
std::string code_of(string_view text) {
  std::string code(text);
  for (std::size_t i = 0; i < code.size(); ++i) {
    const string_view rest = text.substr(i);
    std::size_t end = i;
    if (rest.starts_with("//")) {
      end = std::min(text.find('\n', i), text.size());
    } else if (rest.starts_with("/*")) {
      end = std::min(text.find("*/", i), text.size() - 2) + 2;
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || !is_word(text[i - 1])))) {  // not 60'000
      for (++i, end = i; end < text.size() && text[end] != text[i - 1]; ++end) end += text[end] == '\\' ? 1 : 0;
    }
    for (; i < end; ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
  }
  return code;
}

// --- Macros: declarations that are all alike ---

struct Macro {
  std::string name;
  std::vector<std::string> parameters;
  std::string body;
};

std::vector<std::string> separated(string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    out.emplace_back(trimmed(list.substr(0, end)));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return out;
}

// "NAME(a, b) rest": the name and what stands in its brackets; `rest` is left.
std::optional<Macro> called(string_view& rest) {
  const string_view name = first_word(rest);
  if (name.empty() || rest.size() == name.size() || rest[name.size()] != '(') return std::nullopt;
  const std::size_t end = behind_closing(rest, name.size());
  Macro call{std::string(name), separated(rest.substr(name.size() + 1, end - name.size() - 2)), {}};
  rest.remove_prefix(end);
  return call;
}

std::string expanded(const Macro& macro, const std::vector<std::string>& arguments) {
  std::string out;
  for (std::size_t i = 0; i < macro.body.size();) {
    const string_view word = first_word(string_view(macro.body).substr(i));
    const auto found = std::find(macro.parameters.begin(), macro.parameters.end(), word);
    const auto number = static_cast<std::size_t>(found - macro.parameters.begin());
    if (word.empty()) {
      out += macro.body[i];
    } else {
      out += found != macro.parameters.end() && number < arguments.size() ? arguments[number] : std::string(word);
    }
    i += std::max<std::size_t>(word.size(), 1);
  }
  return out;
}

// Without the preprocessor's lines, and with what its macros stand for. Lines with a macro's call stand by themselves.
std::string preprocessed(string_view text) {
  std::string out;
  std::vector<Macro> macros;
  while (!text.empty()) {
    std::string line;
    bool goes_on = true;
    while (goes_on && !text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      string_view part = text.substr(0, end);
      goes_on = part.ends_with('\\');
      if (goes_on) part.remove_suffix(1);
      line.append(part);
      line += '\n';
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    string_view rest = trimmed(line);
    if (rest.starts_with("#define ")) {
      rest.remove_prefix(8);
      if (std::optional<Macro> macro = called(rest)) {
        macro->body = trimmed(rest);
        macros.push_back(std::move(*macro));
      }
    } else if (rest.starts_with("#undef ")) {
      std::erase_if(macros, [&](const Macro& each) { return each.name == trimmed(rest.substr(7)); });
    } else if (!rest.starts_with('#')) {
      const auto macro =
          std::find_if(macros.begin(), macros.end(), [&](const Macro& each) { return first_word(rest) == each.name; });
      out += macro == macros.end() ? line : expanded(*macro, called(rest)->parameters) + "\n";
    }
  }
  return out;
}

// --- Statements ---

// Off the front of a declaration: attributes, template parameters with what they must be, specifiers. Gives the parameters'
// names.
std::vector<std::string> take_prefix(string_view& head) {
  std::vector<std::string> parameters;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    head = trimmed(head);
    if (head.starts_with("[[")) {
      head.remove_prefix(behind_closing(head, 0));
      goes_on = true;
    }
    for (const char* word : {"inline", "constexpr", "static", "explicit", "virtual"}) goes_on = takes_word(head, word) || goes_on;
    if (takes_word(head, "template")) {
      const std::size_t end = behind_closing(head, 0, "<", ">");
      for (const std::string& each : separated(head.substr(1, end - 2))) {
        const std::size_t last = each.find_last_of(" .");
        parameters.push_back(last == std::string::npos ? each : each.substr(last + 1));
      }
      head = trimmed(head.substr(end));
      goes_on = true;
    }
    if (takes_word(head, "requires")) {
      if (head.starts_with('(')) {
        head.remove_prefix(behind_closing(head, 0));
      } else {
        while (!head.empty() && (is_word(head.front()) || head.front() == ':')) head.remove_prefix(1);
        if (head.starts_with('<')) head.remove_prefix(behind_closing(head, 0, "<", ">"));
      }
      goes_on = true;
    }
  }
  return parameters;
}

// The same with x for what stands between the angle brackets of templates.
std::string without_angles(string_view head) {
  std::string out(head);
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (out[i] != '<' || !is_word(out[i - 1]) || string_view(out).substr(0, i).ends_with("operator")) continue;
    const std::size_t end = behind_closing(out, i, "<", ">");
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(i), out.begin() + static_cast<std::ptrdiff_t>(end), 'x');
    i = end - 1;
  }
  return out;
}

bool names_one_of(string_view text, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < text.size();) {
    const string_view word = first_word(text.substr(i));
    if (std::find(words.begin(), words.end(), word) != words.end()) return true;
    i += std::max<std::size_t>(word.size(), 1);
  }
  return false;
}

// std::int64_t is int64_t to readers.
std::string shortened(std::string text) {
  for (const char* size : {"8", "16", "32", "64"}) {
    for (const char* kind : {"int", "uint"}) {
      const std::string name = std::string(kind) + size + "_t";
      replace_all(text, "std::" + name, name);
    }
  }
  replace_all(text, "std::size_t", "size_t");
  return text;
}

string_view without_site(string_view arguments) {
  arguments = trimmed(arguments);
  const std::size_t last = arguments.rfind(',') == string_view::npos ? 0 : arguments.rfind(',') + 1;
  string_view argument = arguments.substr(last);
  if (!takes_word(argument, "Site")) return arguments;
  return trimmed(arguments.substr(0, last == 0 ? 0 : last - 1));
}

// Of a declaration on one line.
std::optional<DeclaredFunction> function_of(string_view head, string_view scope) {
  const std::vector<std::string> parameters = take_prefix(head);
  const std::string code = without_angles(head);
  std::size_t open = code.find('(');
  if (open == std::string::npos) return std::nullopt;
  if (string_view(code).substr(open).starts_with("()(")) open += 2;  // the call operator
  std::size_t begin = code.rfind("operator", open);
  if (begin == std::string::npos) {
    if (code.find('=') < open) return std::nullopt;  // a variable
    begin = open;
    while (begin > 0 && is_word(code[begin - 1])) --begin;
  }
  const string_view result = trimmed(head.substr(0, begin));
  if (begin == open || result.empty() || result.ends_with('~')) return std::nullopt;  // a constructor
  std::string name(head.substr(begin, open - begin));
  std::erase(name, ' ');
  const std::size_t end = behind_closing(code, open);
  const string_view arguments = without_site(head.substr(open + 1, end - open - 2));
  std::string given;
  if (!parameters.empty() && !names_one_of(arguments, parameters)) {
    for (const std::string& each : parameters) given += (given.empty() ? "<" : ", ") + each;
    given += ">";
  }
  DeclaredFunction out;
  out.name = scope.empty() ? name : std::string(scope) + "::" + name;
  out.text = shortened(std::string(result) + " " + name + given + "(" + std::string(arguments) + ")");
  return out;
}

// "Dense(int64_t inputs)"; empty: it is something else.
std::string constructor_of(string_view head, const std::string& type) {
  take_prefix(head);
  if (!takes_word(head, type.c_str()) || !head.starts_with('(')) return {};
  const std::string code = without_angles(head);
  return shortened(type + "(" + std::string(without_site(head.substr(1, behind_closing(code, 0) - 2))) + ")");
}

// Comments between two statements.
struct Comments {
  std::string behind = {};  // on the line of the statement before, and below it in the same column
  std::string above = {};   // the statement after
  bool has_gap = false;     // an empty line
};

Comments comments_between(string_view text, std::size_t from, std::size_t to) {
  Comments out{.has_gap = from == 0};
  const std::size_t newline = from == 0 ? string_view::npos : text.rfind('\n', from - 1);
  std::size_t line_begin = newline == string_view::npos ? 0 : newline + 1;
  std::size_t column = string_view::npos;  // of the comment behind
  for (std::size_t begin = from; begin < to;) {
    const std::size_t end = std::min(text.find('\n', begin), to);
    const string_view line = text.substr(begin, end - begin);
    const bool is_statements_own = begin == from && from > 0;
    if (const std::size_t slashes = line.find("//"); slashes != string_view::npos) {
      const std::size_t at = begin + slashes - line_begin;
      const bool is_behind = is_statements_own || at == column;
      column = is_behind ? at : string_view::npos;
      std::string& comment = is_behind ? out.behind : out.above;
      comment += (comment.empty() ? "" : " ") + on_one_line(line.substr(slashes + 2));
    } else if (!is_statements_own && trimmed(line).empty() && end < to) {
      column = string_view::npos;
      out.above.clear();
      out.has_gap = true;
    }
    begin = line_begin = end + 1;
  }
  return out;
}

std::string without_comments(string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.append(text.substr(0, end).substr(0, text.substr(0, end).find("//")));
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// add(a, b), or elementwise("add", ...): the function an operator stands for.
std::string called_in(string_view body) {
  const std::size_t at = body.find("return ");
  if (at == string_view::npos) return {};
  const string_view call = trimmed(body.substr(at + 7));
  const std::size_t name = call.starts_with("elementwise(") ? call.find_first_of("\"#") + 1 : 0;
  return std::string(first_word(call.substr(name)));
}

// "public:" and its like; empty: something else. `end`: behind it.
string_view access_at(string_view code, std::size_t start, std::size_t& end) {
  for (const char* word : {"public", "private", "protected"}) {
    string_view rest = code.substr(start);
    if (!takes_word(rest, word) || !rest.starts_with(':') || rest.starts_with("::")) continue;
    end = code.size() - rest.size() + 1;
    return word;
  }
  return {};
}

// Whether the brace behind this begins a body, and not a value.
bool opens_body(string_view head) {
  if (head.ends_with('=')) return false;
  take_prefix(head);
  for (const char* word : {"namespace", "class", "struct", "union", "enum"}) {
    if (first_word(head) == word) return true;
  }
  return head.empty() || without_angles(head).find('(') != std::string::npos;
}

class Parser {
 public:
  Declarations declared;

  // What stands in a namespace, or in a type: then its fields are added.
  void parse(string_view text, string_view scope, DeclaredType* type, bool is_public) {
    const std::string code = code_of(text);
    DeclaredField* field = nullptr;  // the last statement, if it was one
    std::string comment;             // that counts for what follows, up to a gap
    for (std::size_t ended = 0;;) {
      const std::size_t start = std::min(code.find_first_not_of(" \n;", ended), code.size());
      Comments between = comments_between(text, ended, start);
      if (field != nullptr && !between.behind.empty()) field->comment = std::move(between.behind);
      field = nullptr;
      if (start == code.size()) return;
      if (between.has_gap || !between.above.empty()) comment = std::move(between.above);
      if (const string_view access = access_at(code, start, ended); !access.empty()) {
        is_public = access == "public";
        comment.clear();
        continue;
      }
      const Statement found = statement_at(code, start);
      ended = found.end;
      if (!is_public) continue;
      const string_view head = text.substr(start, found.head);
      const string_view body = text.substr(start + found.head, found.end - start - found.head);
      if (body.starts_with('{') && define(head, body.substr(1, body.size() - 2), scope, comment)) {
        comment.clear();
        continue;
      }
      field = declare(on_one_line(without_comments(head)), body, scope, type, comment);
    }
  }

 private:
  struct Statement {
    std::size_t head;  // how long, up to the body or the semicolon
    std::size_t end;
  };

  static Statement statement_at(string_view code, std::size_t start) {
    std::size_t at = start;
    while (at < code.size() && code[at] != ';') {
      if (code[at] == '{' && opens_body(trimmed(code.substr(start, at - start)))) return {at - start, behind_closing(code, at)};
      at = string_view("({[").find(code[at]) != string_view::npos ? behind_closing(code, at) : at + 1;
    }
    return {at - start, std::min(at + 1, code.size())};
  }

  // A namespace or a type; false: neither.
  bool define(string_view head, string_view inside, string_view scope, const std::string& comment) {
    const std::string line = on_one_line(code_of(head));
    string_view rest = line;
    take_prefix(rest);
    if (takes_word(rest, "namespace")) {
      if (rest.find("detail") == string_view::npos) parse(inside, scope, nullptr, true);
      return true;
    }
    if (takes_word(rest, "enum")) {
      takes_word(rest, "class");
      add_enum({.name = std::string(first_word(rest)), .comment = comment, .is_enum = true}, inside);
      return true;
    }
    const bool is_struct = takes_word(rest, "struct");
    if (!is_struct && !takes_word(rest, "class")) return false;
    take_prefix(rest);
    DeclaredType type{.name = std::string(first_word(rest)), .comment = comment};
    parse(inside, type.name, &type, is_struct);
    declared.types.push_back(std::move(type));
    return true;
  }

  void add_enum(DeclaredType type, string_view inside) {
    const std::string code = code_of(inside);
    for (std::size_t at = 0; at < code.size();) {
      const std::size_t end = std::min(code.find(',', at), code.size());
      const std::string value = on_one_line(string_view(code).substr(at, end - at));
      Comments after = comments_between(inside, end, std::min(code.find_first_not_of(" \n,", end), code.size()));
      if (!value.empty()) type.fields.push_back({value, std::move(after.behind)});
      at = end + 1;
    }
    declared.types.push_back(std::move(type));
  }

  // A function, or a field, which is returned.
  DeclaredField* declare(string_view line, string_view body, string_view scope, DeclaredType* type, const std::string& comment) {
    for (const char* word : {"", "using", "friend", "static_assert", "typedef", "extern", "class", "struct", "enum"}) {
      if (first_word(line) == word && !line.starts_with("[[")) return nullptr;
    }
    if (line.starts_with("template <>") || line.ends_with("= delete") || line.ends_with("= default")) return nullptr;
    if (std::optional<DeclaredFunction> function = function_of(line, scope)) {
      function->comment = comment;
      if (function->name.starts_with("operator")) function->stands_for = called_in(body);
      declared.functions.push_back(std::move(*function));
      return nullptr;
    }
    const std::string code = without_angles(line);
    if (type == nullptr) return nullptr;
    if (std::string made = constructor_of(line, type->name); !made.empty()) {
      type->constructors.push_back(std::move(made));
      return nullptr;
    }
    if (code.find('(') < std::min(code.find('='), code.size())) return nullptr;  // a constructor
    type->fields.push_back({shortened(std::string(line)), comment});
    return &type->fields.back();
  }
};

// The lines the header begins with.
std::string opening_comment(string_view header) {
  std::string out;
  while (header.starts_with("//")) {
    const std::size_t end = std::min(header.find('\n'), header.size());
    out += (out.empty() ? "" : " ") + on_one_line(header.substr(2, end - 2));
    header.remove_prefix(std::min(end + 1, header.size()));
  }
  return out;
}

}  // namespace

Declarations parse_declarations(string_view header) {
  Parser parser;
  parser.declared.comment = opening_comment(header);
  parser.parse(preprocessed(header), {}, nullptr, true);
  return std::move(parser.declared);
}

}  // namespace tutti::tools
