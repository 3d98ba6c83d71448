// The page of a report: page/*, put together and turned into a string by the build, and a report in it.
#pragma once

#include <string>
#include <string_view>

namespace tutti::detail {

// Before its data: holds "{{report}}" once, where the JSON goes.
std::string_view sync_page() noexcept;

// With the JSON of a report, whatever its strings hold.
std::string page_of(std::string_view json);

}  // namespace tutti::detail
