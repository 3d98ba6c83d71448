// The descriptors a launcher must have before it makes its pipes.
#pragma once

namespace tutti::tools {

// A launcher without standard descriptors would give their numbers to its pipes.
void open_standard_descriptors();
bool are_one_file(int a, int b);
// As far as the system lets it.
void allow_descriptors_for(int ranks);

}  // namespace tutti::tools
