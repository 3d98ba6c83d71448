#include "lint/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace tutti::lint {

std::vector<CorpusProgram> corpus() {
  std::vector<CorpusProgram> out;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(TUTTI_LINT_CORPUS)) {
    if (entry.path().extension() == ".py") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::vector<std::string> lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].starts_with("# %% ")) starts.push_back(i);
    }
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const std::size_t end = k + 1 < starts.size() ? starts[k + 1] : lines.size();
      CorpusProgram program{.file = file.filename(), .name = lines[starts[k]].substr(5), .source = {}, .expected = {}};
      for (std::size_t i = 0; i < end; ++i) {
        const bool is_kept = i < starts[0] || i >= starts[k];
        program.source += (is_kept ? lines[i] : std::string()) + "\n";
        const std::size_t label = is_kept ? lines[i].find("# sync: ") : std::string::npos;
        if (label == std::string::npos) continue;
        std::istringstream rules(lines[i].substr(label + 8));
        for (std::string rule; rules >> rule;) {
          if (rule.ends_with(',')) rule.pop_back();
          program.expected.emplace(static_cast<std::uint32_t>(i + 1), rule);
        }
      }
      out.push_back(std::move(program));
    }
  }
  return out;
}

}  // namespace tutti::lint
