#include "tools/remote_host.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "tutti/base/environment.h"
#include "tutti/base/text.h"

namespace tutti::tools {

namespace {

// For any shell of the Bourne family, and csh.
std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// $1: seconds of grace. The program keeps the shell's pid, so that signals reach it and its status is the shell's. What watches
// the input is not the program's child, keeps no output open, and tells nothing to a later process with the same pid. When the
// program has ended it kills the group, whose number is no other's while it is in it itself.
constexpr const char* script = R"sh(grace=$1; shift
all=
while :; do IFS= read -r line || exit 125; test "$line" = '#run' && break; all="$all$line
"; done
eval "$all" || exit 125
exec 3<&0 </dev/null
pid=$$
born() { sed 's/.*) //' "/proc/$pid/stat" | cut -d ' ' -f 20; }
was_born=$(born)
tell() {
  test "$(born)" = "$was_born" || { kill -s KILL -- "-$pid"; exit 0; }
  case $1 in USR*) ;; *) kill -s "$1" -- "-$pid" && return ;; esac
  kill -s "$1" "$pid"
}
( ( trap '' TERM INT HUP QUIT USR1 USR2
    while IFS= read -r signal <&3; do tell "$signal"; done
    tell TERM; sleep "$grace"; tell KILL ) >/dev/null 2>&1 & )
exec "$@" 3<&-)sh";

}  // namespace

std::vector<std::string> remote_command(const std::string& host, const std::vector<std::string>& program,
                                        std::chrono::milliseconds grace) {
  std::vector<std::string> words;
  std::istringstream shell(environment_text("TUTTI_RSH").value_or("ssh"));
  for (std::string word; shell >> word;) words.push_back(word);
  if (words.empty()) throw std::runtime_error("TUTTI_RSH names no command");
  words.push_back(host);
  std::string line = text("exec sh -c ", quoted(script), " tutti-launch ", std::max<std::int64_t>(1, grace.count() / 1'000));
  for (const std::string& word : program) line += " " + quoted(word);
  words.push_back(line);
  return words;
}

std::string remote_greeting(const std::vector<std::string>& variables, const std::string& folder) {
  std::string out = text("cd ", quoted(folder), " || exit 125\n");
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    out += text("export ", variable.substr(0, equals), "=", quoted(variable.substr(equals + 1)), "\n");
  }
  return out + "#run\n";
}

std::string address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), "9", &hints, &found); error != 0) {
    throw std::runtime_error(text("the host '", printable(host), "' is not known here (", ::gai_strerror(error),
                                  "); say with --listen at which of this host's addresses the ranks find the coordinator"));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  // A connected socket of this kind sends nothing, and knows its own address.
  const int socket = ::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  const bool is_known = socket >= 0 && ::connect(socket, found->ai_addr, found->ai_addrlen) == 0 &&
                        ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) == 0;
  if (socket >= 0) ::close(socket);
  std::array<char, NI_MAXHOST> name{};
  if (!is_known ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&own), length, name.data(), name.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    throw std::runtime_error(
        text("there is no way to the host '", printable(host), "'; say with --listen where ranks find the coordinator"));
  }
  return name.data();
}

}  // namespace tutti::tools
