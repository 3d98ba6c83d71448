#include "tutti/base/paragraph.h"

namespace tutti {

namespace {

constexpr std::size_t columns = 80;

void append_line(std::string& out, std::string_view line, std::size_t indent) {
  const std::size_t width = columns - indent;
  while (line.size() > width) {
    std::size_t cut = line.rfind(' ', width);
    if (cut == std::string_view::npos) cut = line.find(' ');
    if (cut == std::string_view::npos) break;
    out.append(indent, ' ').append(line.substr(0, cut)).append("\n");
    line.remove_prefix(cut + 1);
  }
  out.append(indent, ' ').append(line).append("\n");
}

}  // namespace

std::string paragraph(std::string_view text, std::size_t indent) {
  std::string out;
  for (;;) {
    const std::size_t end = text.find('\n');
    append_line(out, text.substr(0, end), indent);
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string without_process(std::string text) {
  constexpr std::string_view process = "/job:localhost/replica:0/task:0";
  for (std::size_t at = text.find(process); at != std::string::npos; at = text.find(process, at)) text.erase(at, process.size());
  return text;
}

}  // namespace tutti
