// The functions, types, containers and calls of a source, as far as they are known. Inside the module only.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tutti/lint/finding.h"
#include "tutti/lint/syntax_tree.h"
#include "tutti/lint/value.h"

namespace tutti::lint {

using Bindings = std::unordered_map<std::string_view, Value>;

// What is given to names from elsewhere, by round: what the last one found, and what this one finds.
struct Given {
  Bindings known;
  Bindings finding;

  void add(std::string_view name, const Value& value) {
    const auto [at, is_first] = finding.try_emplace(name, value);
    if (!is_first) at->second = either_assigned(at->second, value);
  }
  void finish_round() { known = std::exchange(finding, {}); }
};

struct Parameter {
  std::string_view name;
  Value value;   // by its annotation, its default, its name
  Value called;  // by the calls of the last round
  Value calling;
  bool is_called = false;
  bool is_calling = false;
};

struct Function {
  NodeId node = no_node;
  std::string_view name;
  std::uint32_t type = 0;  // of which it is a method, from 1
  std::vector<Parameter> parameters;
  Value returned;
  Value returning;
  bool has_returned = false;
  bool is_returning = false;
  bool is_jitted = false;
  bool is_in_loop = false;
  bool is_bound = false;  // its first parameter is self
  bool is_queued = false;
  bool is_property = false;
  bool is_generator = false;
  bool is_yielding = false;
  Value yielded;
  Value yielding;
  Given given;  // by functions in it
};

struct Type {
  std::string_view name;
  std::vector<std::uint32_t> bases;  // in this file, from 0; theirs, too
  std::unordered_map<std::string_view, std::uint32_t> methods;
  Bindings attributes;
  Bindings assigned;  // attributes of instances, in this round
  Bindings fields;    // annotated in its body: what they are if nothing else is given
  Given given;        // to them, by calls of the class
  bool is_module = false;
  bool is_known = false;         // a round has seen it
  Place place = Place::unknown;  // where instances were moved to
  bool may_go_to_gpu = false;    // any of them, or of those that inherit from it
  Confidence sure = Confidence::possible;
};

struct Container {
  std::vector<Value> items;
  std::vector<std::string_view> keys;  // of a dictionary with literal keys, as many as items
  bool is_dictionary = false;
  bool has_positions = false;  // a tuple: items are told apart
  bool has_batches = false;    // what enumerate() and zip() make of a loader
};

struct Loader {
  NodeId call = no_node;
  Known is_pinned = Known::no;
  bool is_used = false;       // its batches go to a GPU
  bool makes_batches = true;  // of memory of their own, as far as the call tells
  bool is_on_gpu = false;     // they are made there
  std::vector<Edit> fix;      // that pins them
  Confidence sure = Confidence::possible;
};

struct Argument {
  std::string_view keyword;  // empty: by position
  NodeId node = no_node;
  Value value;
};

struct Arguments {
  std::vector<Argument> all;
  std::vector<Argument> spread;  // *values: the value is an element
  bool has_splat = false;
  std::size_t positions = 0;

  const Argument* at(std::size_t position) const;  // null where there is none
  const Argument* named(std::string_view keyword) const;
  const Argument* find(std::size_t position, std::string_view keyword) const;
};

// functools.partial
struct Partial {
  Value callee;
  Arguments arguments;
};

}  // namespace tutti::lint
