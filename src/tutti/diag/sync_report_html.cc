#include <string>
#include <string_view>

#include "tutti/diag/page.h"
#include "tutti/diag/sync_report.h"

namespace tutti {

std::string detail::page_of(std::string_view json) {
  const std::string_view page = sync_page();
  static constexpr std::string_view mark = "{{report}}";
  const std::size_t at = page.find(mark);
  std::string out(page.substr(0, at));
  // JSON has this character in strings only; as it stands, a name could end the script element.
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  out += page.substr(at + mark.size());
  return out;
}

std::string SyncReport::to_html() const { return detail::page_of(to_json()); }

}  // namespace tutti
