// The process that started the ranks of this host, found without knowing its name: what all of them have in common when the
// launcher itself gives its run no name.
#pragma once

#include <optional>
#include <string>

namespace tutti {

// The nearest ancestor in whose environment `variable` (that of the rank) is not set: "1234.567", its pid and when it began, so
// that a later process with the same pid is another. Nothing: it cannot be seen from here.
std::optional<std::string> launcher_process(const char* variable);

}  // namespace tutti
