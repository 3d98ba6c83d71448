// The page of a report before its data: page/*, put together and turned into a string by the build.
#pragma once

#include <string_view>

namespace tutti::detail {

// Holds "{{report}}" once, where the JSON goes.
std::string_view sync_page() noexcept;

}  // namespace tutti::detail
