#include "tools/rank_plan.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>

#include "tools/remote_host.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/host_port.h"
#include "tutti/mesh/control/job_secret.h"

namespace tutti::tools {

namespace {

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

}  // namespace

RankPlan::RankPlan(const LaunchOptions& options)
    : options_(options),
      job_(text("launch-", ::getpid(), "-", std::chrono::system_clock::now().time_since_epoch().count())),
      secret_(make_job_secret()) {}

std::string RankPlan::listening_host() const {
  if (!options_.listen.empty()) return options_.listen;
  for (const std::string& written : options_.hosts) {
    const std::string host = written.substr(written.find('@') + 1);  // the user is ssh's matter
    if (!is_loopback_name(host)) return address_towards(host);
  }
  return "127.0.0.1";
}

std::size_t RankPlan::host_index(int rank) const {
  return static_cast<std::size_t>(rank) * options_.hosts.size() / static_cast<std::size_t>(options_.ranks);
}

std::string RankPlan::host_of(int rank) const { return options_.hosts.empty() ? "" : options_.hosts[host_index(rank)]; }

int RankPlan::local_rank(int rank) const {
  int first = rank;
  while (first > 0 && host_index(first - 1) == host_index(rank)) --first;
  return rank - first;
}

std::vector<std::string> RankPlan::own_variables(int rank, const std::string& coordinator) const {
  return {text("TUTTI_RANK=", rank),
          text("TUTTI_WORLD_SIZE=", options_.ranks),
          text("TUTTI_LOCAL_RANK=", local_rank(rank)),
          text("TUTTI_COORDINATOR=", coordinator),
          text("TUTTI_JOB_ID=", job_),
          text("TUTTI_JOB_SECRET=", secret_)};
}

bool RankPlan::is_passed_on(std::string_view name) const {
  // What has another name was not set by a shell, and cannot be by the one there.
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (!std::ranges::all_of(name, is_plain)) return false;
  return name.starts_with("TUTTI_") || std::ranges::find(options_.variables, name) != options_.variables.end();
}

RankStart RankPlan::start_of(int rank, const std::string& coordinator) const {
  const std::vector<std::string> own = own_variables(rank, coordinator);
  const auto is_own = [&](std::string_view name) {
    return std::ranges::any_of(own, [&](const std::string& variable) { return name_of(variable) == name; });
  };
  const bool is_remote = !options_.hosts.empty();
  RankStart start;
  std::vector<std::string> passed = own;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view name = name_of(*variable);
    if (is_remote) start.environment.emplace_back(*variable);
    if (!is_own(name) && (!is_remote || is_passed_on(name))) passed.emplace_back(*variable);
  }
  if (!is_remote) {
    start.command = options_.command;
    start.environment = std::move(passed);
    // A terminal belongs to the group in front, which is the launcher's.
    start.keeps_input = rank == 0 && ::isatty(STDIN_FILENO) == 0;
    return start;
  }
  start.command = remote_command(host_of(rank), options_.command, options_.grace);
  start.is_remote = true;
  start.greeting = remote_greeting(passed, std::filesystem::current_path().string());
  return start;
}

}  // namespace tutti::tools
