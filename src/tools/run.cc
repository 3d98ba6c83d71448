#include "tools/run.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <system_error>

#include "tutti/base/text.h"

namespace tutti::tools {

namespace {

// As a shell would give.
constexpr int not_runnable = 126;
constexpr int not_found = 127;

void set(const char* variable, const std::string& value) {
  if (::setenv(variable, value.c_str(), 1) != 0) throw std::runtime_error(text("the environment has no room for ", variable));
}

}  // namespace

int say_why_not_started(const std::string& program, int error) {
  const bool is_missing = error == ENOENT;
  std::cerr << "tutti: error: the program '" << printable(program) << "' "
            << (is_missing ? std::string("was not found") : text("cannot be run: ", std::generic_category().message(error)));
  if (is_missing && program.find('/') == std::string::npos)
    std::cerr << " in PATH; write ./" << printable(program) << " for one in this folder";
  std::cerr << '\n';
  return is_missing ? not_found : not_runnable;
}

int run_program(const RunOptions& options) {
  set("TUTTI_SYNC_REPORT", options.output.empty() ? options.form : text(options.form, ":", options.output));
  if (!options.sync.empty()) set("TUTTI_SYNC", options.sync);
  std::vector<std::string> words = options.command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return say_why_not_started(options.command[0], errno);
}

}  // namespace tutti::tools
