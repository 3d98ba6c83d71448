// Which process of several this one is, so that what each writes does not land on what another wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tutti {

// Nothing: alone, as far as is known. `tutti launch` says it from the start; what another launcher says is known once the mesh
// has read it.
std::optional<std::uint32_t> rank_of_files();
void set_rank_of_files(std::uint32_t rank) noexcept;

// "trace.json" is "trace.rank3.json" for rank 3, and itself for a process that is alone. What lies in /dev is no file to keep
// apart.
std::string path_of_this_process(const std::string& path);

// A process that only starts others, or waits for them in a script, writes no trace and no report when it exits.
void leave_files_to_others() noexcept;
bool files_are_left_to_others() noexcept;

}  // namespace tutti
