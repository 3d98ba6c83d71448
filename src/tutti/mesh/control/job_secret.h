// What the processes of one job know and strangers do not.
#pragma once

#include <string>

namespace tutti {

// 128 random bits of the system's, as 32 hexadecimal digits.
std::string make_job_secret();

}  // namespace tutti
