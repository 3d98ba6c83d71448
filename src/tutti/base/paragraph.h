// Text for a terminal of 80 columns.
#pragma once

#include <string>
#include <string_view>

namespace tutti {

// The text with `indent` spaces before every line, broken at spaces where it would pass column 80; ends with a newline.
// Words longer than a line stay whole. Line breaks in the text stay.
std::string paragraph(std::string_view text, std::size_t indent = 0);

// Without "/job:localhost/replica:0/task:0", which is the same for every device of one process.
std::string without_process(std::string text);

}  // namespace tutti
