// Where the notes of jobs are kept: folders that nobody but this user can write to.
#pragma once

#include <string>
#include <vector>

#include "tutti/base/site.h"

namespace tutti {

// $XDG_RUNTIME_DIR alone, where it is set; throws InvalidState where it is a link, another user's, or others can write to it.
// Otherwise those in `shared`, which every user may write to: tutti-<uid>, then tutti-<uid>-* in the order of their names. One
// that somebody else has put there, a link, or one that others can write to is passed over, so it holds nobody up.
std::vector<std::string> job_folders(const std::string& shared = "/tmp", Site site = {});

// The first of these. Where there is none, tutti-<uid> is made, or, where something has that name, one with a name that nobody
// can foresee. Throws InvalidState where no folder can be made.
std::string make_job_folder(const std::string& shared = "/tmp", Site site = {});

}  // namespace tutti
