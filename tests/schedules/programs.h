// Small programs in which streams, devices, memory and variables depend on each other; each checks its own results.
#pragma once

#include <cstdint>
#include <string>

namespace tutti::schedules {

// A value made on one stream is read on another, there and back.
std::string values_cross_streams();
// The same between devices: copies in all directions.
std::string values_cross_devices();
// Memory let go while another stream still reads it is reused.
std::string memory_is_reused_across_streams();
// A given-away tensor is overwritten while another stream reads its old contents.
std::string given_away_memory_has_readers();
// A variable is assigned on one stream and read through snapshots on others.
std::string variables_are_assigned_across_streams();
// Host values are staged, uploaded and the staging memory is reused.
std::string uploads_reuse_their_staging();
// Lent host memory is given back only after its last reader.
std::string lent_memory_is_given_back_after_its_last_use();
// Ops on random inputs, streams and devices; values are exact integers. With `tolerated`, a value that cannot be read
// because of an error with that text in it is as good as a right one.
std::string random_program(std::uint64_t program_seed, const std::string& tolerated = "");

}  // namespace tutti::schedules
