// Ranks on other hosts: what is run through ssh, and what it is told over its input.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace tutti::tools {

// The words of TUTTI_RSH (ssh without it), the host, and a script for the shell there. The script reads the environment from its
// input, so that no secret stands in a command line, then becomes the program; later lines are names of signals for the program,
// and the end of the input stops it.
std::vector<std::string> remote_command(const std::string& host, const std::vector<std::string>& program,
                                        std::chrono::milliseconds grace);
// What such a script has to be told first. Variables are "NAME=value".
std::string remote_greeting(const std::vector<std::string>& variables, const std::string& folder);

// The address of this host's from which the other one can be reached. Throws where that one's name means nothing here.
std::string address_towards(const std::string& host);

}  // namespace tutti::tools
