// `tutti run`: any program linked with tutti, unchanged, with a report of its syncs when it ends.
#pragma once

#include <string>
#include <vector>

namespace tutti::tools {

inline constexpr int not_runnable = 126;  // exit status, as of a shell
inline constexpr int not_found = 127;

struct RunOptions {
  std::string form = "text";
  std::string output;  // empty: where that form usually goes
  std::string sync;    // empty: as the environment says
  std::vector<std::string> command;
};

inline constexpr const char* run_example =
    "text goes to stderr, json to tutti-sync.json, html to tutti-sync.html in this\n"
    "folder. The exit status is the program's; 127 if there is no such program.\n\n"
    "Example:\n"
    "  tutti run --sync-report html --output sync.html -- ./train --epochs 3";

// The program takes the place of this process. Comes back only where it could not be started, with the exit status to give.
int run_program(const RunOptions& options);

// In the environment of the program to be started. Throws where there is no room.
void set_variable(const char* variable, const std::string& value);
// On stderr; returns the exit status for it, as a shell would give.
int say_why_not_started(const std::string& program, int error);

}  // namespace tutti::tools
