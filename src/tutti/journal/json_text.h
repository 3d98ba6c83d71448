// Text as a JSON string, whatever bytes it holds.
#pragma once

#include <string>
#include <string_view>

namespace tutti::journal {

// Appends `text` in quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace tutti::journal
