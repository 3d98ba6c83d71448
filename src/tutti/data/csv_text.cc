#include "tutti/data/csv_text.h"

#include <algorithm>
#include <utility>

#include "tutti/base/text.h"
#include "tutti/data/file_error.h"

namespace tutti {

namespace {

std::string_view trimmed(std::string_view field) {
  const auto is_blank = [](char each) { return each == ' ' || each == '\t'; };
  while (!field.empty() && is_blank(field.front())) field.remove_prefix(1);
  while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
  return field;
}

}  // namespace

CsvText::CsvText(std::string path, std::string_view content, char delimiter, Site site)
    : path_(std::move(path)), rest_(content), delimiter_(delimiter), site_(site) {
  if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);  // UTF-8's mark
}

bool CsvText::next_line(std::vector<std::string>& fields) {
  fields.clear();
  while (!rest_.empty() && (rest_.front() == '\n' || rest_.front() == '\r')) end_line();
  if (rest_.empty()) return false;
  line_ = next_line_;
  do fields.push_back(field(fields.size() + 1));
  while (take(delimiter_));
  end_line();
  return true;
}

void CsvText::refuse(std::size_t column, std::string_view why) const {
  throw FileError(text(path_, ", line ", line_, ", column ", column, ": ", why), site_);
}

bool CsvText::take(char wanted) {
  if (rest_.empty() || rest_.front() != wanted) return false;
  rest_.remove_prefix(1);
  return true;
}

// A line ends with \n, \r or both.
void CsvText::end_line() {
  if (rest_.empty()) return;
  if (!take('\r') || (!rest_.empty() && rest_.front() == '\n')) take('\n');
  ++next_line_;
}

std::string CsvText::field(std::size_t column) {
  const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.find(delimiter_));
  const std::string_view out = rest_.substr(0, end);
  if (trimmed(out).starts_with('"')) {
    rest_.remove_prefix(rest_.find('"') + 1);
    return quoted(column);
  }
  rest_.remove_prefix(out.size());
  return std::string(trimmed(out));
}

std::string CsvText::quoted(std::size_t column) {
  std::string out;
  for (;;) {
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos) refuse(column, "the quoted field has no end");
    const std::string_view part = rest_.substr(0, end);
    out += part;
    next_line_ += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
    rest_.remove_prefix(end + 1);
    if (!take('"')) break;
    out += '"';  // two of them mean one
  }
  while (delimiter_ != ' ' && take(' ')) {}
  if (!rest_.empty() && rest_.front() != delimiter_ && rest_.front() != '\n' && rest_.front() != '\r')
    refuse(column, "something stands behind the end of a quoted field");
  return out;
}

}  // namespace tutti
