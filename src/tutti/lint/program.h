// The functions, types, containers and calls of a source, as far as they are known. Inside the module only.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tutti/lint/finding.h"
#include "tutti/lint/syntax_tree.h"
#include "tutti/lint/value.h"

namespace tutti::lint {

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
};

struct Type {
  std::string_view name;
  std::vector<std::uint32_t> bases;  // in this file, from 0; theirs, too
  std::unordered_map<std::string_view, std::uint32_t> methods;
  std::unordered_map<std::string_view, Value> attributes;
  bool is_module = false;
  Place place = Place::unknown;  // where instances were moved to
  Confidence sure = Confidence::possible;
};

struct Container {
  std::vector<Value> items;
  std::vector<std::string_view> keys;  // of a dictionary with literal keys, as many as items
  bool is_dictionary = false;
  bool has_positions = false;  // a tuple: items are told apart
};

struct Loader {
  NodeId call = no_node;
  Known is_pinned = Known::no;
  bool is_used = false;       // its batches go to a GPU
  bool makes_batches = true;  // of memory of their own, as far as the call tells
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
  bool has_splat = false;
  std::size_t positions = 0;

  const Argument* at(std::size_t position) const;  // null where there is none
  const Argument* named(std::string_view keyword) const;
  const Argument* find(std::size_t position, std::string_view keyword) const;
};

}  // namespace tutti::lint
