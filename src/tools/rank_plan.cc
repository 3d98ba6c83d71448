#include "tools/rank_plan.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "tools/remote_host.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/host_port.h"
#include "tutti/mesh/control/job_secret.h"
#include "tutti/mesh/control/sockets.h"

namespace tutti::tools {

namespace {

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

// The user is ssh's matter.
std::string without_user(const std::string& host) { return host.substr(host.find('@') + 1); }

// With a secret in it: not grown, which would leave shorter copies behind. Whoever starts the rank overwrites it.
std::string in_one_piece(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string out;
  out.reserve(size);
  for (const std::string_view part : parts) out += part;
  return out;
}

constexpr std::string_view secret_variable = "TUTTI_JOB_SECRET";

}  // namespace

int free_port() {
  const control::Descriptor listener = control::listen_on("0.0.0.0:0", {});
  return parse_host_port(control::bound_address(listener.get())).value().port;
}

RankPlan::RankPlan(const LaunchOptions& options)
    : options_(options),
      job_(text("launch-", ::getpid(), "-", std::chrono::system_clock::now().time_since_epoch().count())),
      secret_(make_job_secret()) {}

std::string RankPlan::listening_host() const {
  if (!options_.listen.empty()) return options_.listen;
  for (const std::string& written : options_.hosts) {
    const std::string host = without_user(written);
    if (!is_loopback_name(host)) return address_towards(host);
  }
  return "127.0.0.1";
}

std::size_t RankPlan::host_index(int rank) const {
  return static_cast<std::size_t>(rank) * options_.hosts.size() / static_cast<std::size_t>(options_.ranks);
}

int RankPlan::first_rank_on(std::size_t host) const {
  const std::size_t hosts = std::max<std::size_t>(1, options_.hosts.size());
  return static_cast<int>((host * static_cast<std::size_t>(options_.ranks) + hosts - 1) / hosts);
}

std::string RankPlan::master_host() const {
  const std::string first = options_.hosts.empty() ? "localhost" : without_user(options_.hosts.front());
  return is_loopback_name(first) ? listening_host() : first;
}

std::string RankPlan::host_of(int rank) const { return options_.hosts.empty() ? "" : options_.hosts[host_index(rank)]; }

std::vector<std::string> RankPlan::own_variables(int rank, const MeetingPoints& points) const {
  const std::size_t host = host_index(rank);
  const int local_rank = rank - first_rank_on(host);
  return {text("TUTTI_RANK=", rank), text("TUTTI_WORLD_SIZE=", options_.ranks), text("TUTTI_LOCAL_RANK=", local_rank),
          text("TUTTI_COORDINATOR=", points.coordinator), text("TUTTI_JOB_ID=", job_),
          // As torchrun does.
          text("RANK=", rank), text("WORLD_SIZE=", options_.ranks), text("LOCAL_RANK=", local_rank),
          text("LOCAL_WORLD_SIZE=", first_rank_on(host + 1) - first_rank_on(host)), text("MASTER_ADDR=", master_host()),
          text("MASTER_PORT=", points.master_port)};
}

bool RankPlan::is_passed_on(std::string_view name) const {
  // What has another name was not set by a shell, and cannot be by the one there.
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (!std::ranges::all_of(name, is_plain)) return false;
  return name.starts_with("TUTTI_") || std::ranges::find(options_.variables, name) != options_.variables.end();
}

RankStart RankPlan::start_of(int rank, const MeetingPoints& points) const {
  const std::vector<std::string> own = own_variables(rank, points);
  const auto is_own = [&](std::string_view name) {
    const auto is_named = [name](const std::string& variable) { return name_of(variable) == name; };
    return name == secret_variable || std::ranges::any_of(own, is_named);
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
    passed.push_back(in_one_piece({secret_variable, "=", secret_}));
    start.command = options_.command;
    start.environment = std::move(passed);
    // A terminal belongs to the group in front, which is the launcher's.
    start.keeps_input = rank == 0 && ::isatty(STDIN_FILENO) == 0;
    return start;
  }
  start.command = remote_command(host_of(rank), options_.command, options_.grace);
  start.is_remote = true;
  // Digits need no quotes.
  start.greeting = in_one_piece(
      {"export ", secret_variable, "=", secret_, "\n", remote_greeting(passed, std::filesystem::current_path().string())});
  return start;
}

}  // namespace tutti::tools
