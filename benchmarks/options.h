// The words that every benchmark understands.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>

namespace bench {

class Options {
 public:
  // --json FILE, --quick, and `own` words: those that end in "=" take a value. Ends the program at any other.
  Options(int argc, char** argv, std::initializer_list<const char*> own = {}) {
    std::map<std::string, bool> known{{"--json", true}, {"--quick", false}};
    for (const std::string word : own) known[word.substr(0, word.find('='))] = word.ends_with('=');
    for (int i = 1; i < argc; ++i) {
      const auto found = known.find(argv[i]);
      if (found == known.end() || (found->second && i + 1 == argc)) {
        std::fprintf(stderr, "usage: %s", argv[0]);
        for (const auto& [word, has_value] : known) std::fprintf(stderr, " [%s%s]", word.c_str(), has_value ? " VALUE" : "");
        std::fputc('\n', stderr);
        std::exit(2);
      }
      given_[found->first] = found->second ? argv[++i] : "";
    }
  }

  [[nodiscard]] bool has(const std::string& word) const { return given_.count(word) != 0; }
  // Empty: not given.
  [[nodiscard]] std::string value(const std::string& word) const { return has(word) ? given_.at(word) : ""; }
  [[nodiscard]] std::string json() const { return value("--json"); }
  // A moment for each figure: it shows that the benchmark still works, and measures nothing.
  [[nodiscard]] bool is_quick() const { return has("--quick"); }
  [[nodiscard]] int samples(int full) const { return is_quick() ? std::min(full, 2) : full; }
  [[nodiscard]] int calls(int full) const { return is_quick() ? std::max(1, full / 100) : full; }

 private:
  std::map<std::string, std::string> given_;
};

}  // namespace bench
