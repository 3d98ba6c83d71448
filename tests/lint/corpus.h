// The labelled programs of tests/lint/corpus, as the linter is given them.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tutti::lint {

struct CorpusProgram {
  std::string file;
  std::string name;
  std::string source;                                        // every line is where it is in the file
  std::set<std::pair<std::uint32_t, std::string>> expected;  // line and rule
};

std::vector<CorpusProgram> corpus();

}  // namespace tutti::lint
