#include "soak/record.h"

#include <sstream>

namespace tutti::soak {

std::string written(const Entry& entry) {
  std::ostringstream line;
  line << entry.rank << '\t' << entry.step << '\t' << ticks(entry.begin) << '\t' << ticks(entry.end) << '\t'
       << static_cast<int>(entry.outcome) << '\t' << entry.is_own_report << '\t' << entry.missing.size();
  for (const Missing& missing : entry.missing) line << '\t' << missing.rank << '\t' << missing.why;
  line << '\t';
  for (const char c : entry.text) line << (c == '\n' ? ' ' : c);
  line << '\n';
  return line.str();
}

std::vector<Entry> entries_in(const std::string& lines) {
  std::vector<Entry> out;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    std::istringstream fields(line);
    Entry entry;
    std::int64_t begin = 0, end = 0;
    int outcome = 0;
    std::size_t missing = 0;
    fields >> entry.rank >> entry.step >> begin >> end >> outcome >> entry.is_own_report >> missing;
    entry.begin = instant(begin);
    entry.end = instant(end);
    entry.outcome = static_cast<Outcome>(outcome);
    for (std::size_t i = 0; i < missing; ++i) {
      Missing one;
      fields >> one.rank >> one.why;
      entry.missing.push_back(one);
    }
    fields.get();
    std::getline(fields, entry.text);
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace tutti::soak
