// `tutti ops`: the functions on tensors, with their dtypes on each backend, whether they sync and whether they have a gradient.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

// All of them, or one, by its name or by the name of an op it runs; false: there is none of that name.
bool print_ops(std::string_view name, bool as_json);

// Every function's name and every op's, for a guess at what was meant.
std::vector<std::string> function_names();

}  // namespace tutti::tools
