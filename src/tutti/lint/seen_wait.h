// What a source says about a place where a program was seen to wait: the rule it falls under, and what becomes of the value.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/lint/finding.h"
#include "tutti/lint/syntax_tree.h"
#include "tutti/lint/use.h"

namespace tutti::lint {

enum class Transfer : std::uint8_t { unknown, none, to_host, to_device };

struct SeenWait {
  std::uint32_t line = 1;
  std::string_view code;        // of the line when the program ran, without indentation; one that went on below, in one
  std::string_view expression;  // the part of it that waited; empty: not known
  Transfer transfer{};
};

// The line, from 1, where that code stands: the one it was at, else the nearest that reads the same; 0: nowhere.
std::uint32_t line_of(std::string_view source, const SeenWait& wait);

// The finding that the wait falls under, or null.
const Finding* finding_of(std::string_view source, const std::vector<Finding>& findings, const SeenWait& wait);

// A source, or as much of it as is left, for the waits that were seen in it. A name that nothing is known of is taken for a
// tensor, because something there was one.
class SeenSource {
 public:
  explicit SeenSource(std::string source);
  // Of the code of a wait alone.
  explicit SeenSource(const SeenWait& wait);

  // Places are those of the source; of a wait's code alone, the wait's own.
  [[nodiscard]] bool was_parsed() const { return tree_ != nullptr; }
  [[nodiscard]] const Finding* finding_of(const SeenWait& wait) const;
  [[nodiscard]] ValueUse use_of(const SeenWait& wait) const;
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  void read();
  [[nodiscard]] SeenWait placed(const SeenWait& wait) const;

  std::string source_;
  std::uint32_t offset_ = 0;  // lines before the code of a wait
  bool is_whole_ = true;
  std::unique_ptr<const SyntaxTree> tree_;
  std::vector<Finding> findings_;
};

}  // namespace tutti::lint
