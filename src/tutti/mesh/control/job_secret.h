// What the processes of one job know and strangers do not.
#pragma once

#include <string_view>

#include "tutti/base/site.h"
#include "tutti/mesh/wire/secret.h"

namespace tutti {

// 128 random bits of the system's, as 32 hexadecimal digits.
wire::Secret make_job_secret();
// Throws InvalidArgument for one that could be guessed: too short, of few different characters, or of repetitions and rows.
void check_job_secret(std::string_view secret, Site site);

}  // namespace tutti
