#include "tools/run.h"

#include <sys/stat.h>
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

}  // namespace

void set_variable(const char* variable, const std::string& value) {
  if (::setenv(variable, value.c_str(), 1) != 0) throw std::runtime_error(text("the environment has no room for ", variable));
}

int say_why_not_started(const std::string& program, int error) {
  const bool has_path = program.find('/') != std::string::npos;
  struct stat found {};
  const bool is_there = has_path && ::stat(program.c_str(), &found) == 0;
  const bool is_missing = error == ENOENT && !is_there;
  std::string why = text("cannot be run: ", std::generic_category().message(error));
  if (is_missing) {
    why = has_path ? std::string("was not found")
                   : text("was not found in PATH; write ./", printable(program), " for one in this folder");
  } else if (is_there && S_ISDIR(found.st_mode)) {
    why = "cannot be run: it is a folder";
  } else if (is_there && error == ENOENT) {
    why = "cannot be run: what its first line names, or the loader it needs, was not found";
  } else if (is_there && error == EACCES && (found.st_mode & S_IXUSR) == 0) {
    why += "; chmod +x makes it a program";
  }
  std::cerr << "tutti: error: the program '" << printable(program) << "' " << why << '\n';
  return is_missing ? not_found : not_runnable;
}

int run_program(const RunOptions& options) {
  set_variable("TUTTI_SYNC_REPORT", options.output.empty() ? options.form : text(options.form, ":", options.output));
  if (!options.sync.empty()) set_variable("TUTTI_SYNC", options.sync);
  std::vector<std::string> words = options.command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return say_why_not_started(options.command[0], errno);
}

}  // namespace tutti::tools
