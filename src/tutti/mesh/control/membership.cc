#include "tutti/mesh/control/membership.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/host_port.h"
#include "tutti/mesh/control/launcher_process.h"
#include "tutti/mesh/control/slurm_nodes.h"

namespace tutti {

namespace {

constexpr int most_ranks = 1 << 20;

// One launcher's variables, read on behalf of `site`.
class Variables {
 public:
  explicit Variables(Site site) : site_(site) {}

  [[nodiscard]] Site site() const { return site_; }

  [[noreturn]] void refuse(const std::string& message) const { throw InvalidArgument(message, site_); }

  static bool is_set(const char* variable) { return environment_text(variable).has_value(); }

  static std::string value(const char* variable) { return environment_text(variable).value_or(""); }

  [[nodiscard]] int number(const char* variable, int lowest, int highest, const std::string& because = "") const {
    const std::string found = value(variable);
    const auto number = parse_unsigned(found, static_cast<unsigned>(lowest), static_cast<unsigned>(highest));
    if (number) return static_cast<int>(*number);
    refuse(text(variable, "='", printable(found), "' cannot be: a whole number from ", lowest, " to ", highest, because,
                " was expected"));
  }

  // Some of these are set and others are not.
  [[nodiscard]] std::string what_is_missing(const char* launcher, std::initializer_list<const char*> needed) const {
    std::string have;
    std::string lack;
    for (const char* variable : needed) {
      std::string& list = is_set(variable) ? have : lack;
      list += list.empty() ? "" : ", ";
      list += variable;
    }
    return text("of ", launcher, "'s variables ", have, have.find(',') == std::string::npos ? " is" : " are", " set and ", lack,
                lack.find(',') == std::string::npos ? " is" : " are", " not; ", launcher, " sets all of them");
  }

  [[nodiscard]] HostPort address(const char* variable, std::string_view written) const {
    const auto found = parse_host_port(written);
    if (found) return *found;
    refuse(text(variable, ": '", printable(written),
                "' cannot be: host:port or [v6]:port, with a port from 1 to 65535, was expected"));
  }

 private:
  Site site_;
};

// What one launcher said; `missing` where it said only a part.
struct Said {
  std::optional<Membership> membership;
  std::string missing;
};

bool all_set(std::initializer_list<const char*> variables) { return std::ranges::all_of(variables, Variables::is_set); }
bool any_set(std::initializer_list<const char*> variables) { return std::ranges::any_of(variables, Variables::is_set); }

Membership numbers(const Variables& variables, const char* rank, const char* world, const char* local_rank) {
  Membership who;
  who.world = variables.number(world, 1, most_ranks);
  who.rank = variables.number(rank, 0, who.world - 1, text(" (", world, " is ", who.world, ")"));
  if (local_rank != nullptr && Variables::is_set(local_rank)) {
    who.local_rank = variables.number(local_rank, 0, who.world - 1, text(" (", world, " is ", who.world, ")"));
  }
  return who;
}

bool is_one_host(const Variables& variables, const char* local_size, int world) {
  return Variables::is_set(local_size) && variables.number(local_size, 1, most_ranks) == world;
}

// What tells this run apart where all ranks are children of one launcher; empty where that cannot be seen.
std::string run_of(const char* name, const char* rank_variable) {
  const auto process = launcher_process(rank_variable);
  return process ? text(name, "-", *process) : std::string();
}

Said from_ours(const Variables& variables) {
  if (!any_set({"TUTTI_RANK", "TUTTI_WORLD_SIZE"})) return {};
  if (!all_set({"TUTTI_RANK", "TUTTI_WORLD_SIZE"})) {
    variables.refuse(variables.what_is_missing("tutti launch", {"TUTTI_RANK", "TUTTI_WORLD_SIZE", "TUTTI_COORDINATOR"}));
  }
  Membership who = numbers(variables, "TUTTI_RANK", "TUTTI_WORLD_SIZE", "TUTTI_LOCAL_RANK");
  if (who.world > 1 && !Variables::is_set("TUTTI_COORDINATOR")) {
    variables.refuse(text("TUTTI_WORLD_SIZE is ", who.world,
                          " and TUTTI_COORDINATOR is not set; set it to the host:port that "
                          "`tutti coordinator` prints, or start the ranks with `tutti launch`"));
  }
  who.launcher = "tutti launch";
  return {who, ""};
}

// Scripts for PyTorch set torchrun's variables from another launcher's. Where that one says that all are on one host, it is
// enough.
bool repeat_a_launcher_of_one_host() {
  const auto repeat = [](const char* rank, const char* world) {
    return all_set({rank, world}) && Variables::value("RANK") == Variables::value(rank) &&
           Variables::value("WORLD_SIZE") == Variables::value(world);
  };
  const auto are_all = [](const char* local_size) { return Variables::value(local_size) == Variables::value("WORLD_SIZE"); };
  return (repeat("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE") && are_all("OMPI_COMM_WORLD_LOCAL_SIZE")) ||
         (repeat("PMI_RANK", "PMI_SIZE") && are_all("MPI_LOCALNRANKS")) ||
         (repeat("SLURM_PROCID", "SLURM_STEP_NUM_TASKS") && Variables::value("SLURM_STEP_NUM_NODES") == "1");
}

Said from_torchrun(const Variables& variables) {
  if (!any_set({"RANK", "WORLD_SIZE"})) return {};
  if (!Variables::is_set("TORCHELASTIC_RUN_ID") && repeat_a_launcher_of_one_host()) return {};
  const bool has_place = Variables::is_set("TUTTI_COORDINATOR") || all_set({"MASTER_ADDR", "MASTER_PORT"});
  if (!all_set({"RANK", "WORLD_SIZE"}) || !has_place) {
    return {std::nullopt, variables.what_is_missing("torchrun", {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})};
  }
  Membership who = numbers(variables, "RANK", "WORLD_SIZE", "LOCAL_RANK");
  who.launcher = "torchrun";
  who.one_host = is_one_host(variables, "LOCAL_WORLD_SIZE", who.world);
  who.job = text("torchrun-", Variables::value("TORCHELASTIC_RUN_ID"), "-", Variables::value("MASTER_PORT"), "-",
                 Variables::value("TORCHELASTIC_RESTART_COUNT"));
  if (who.one_host) {
    const std::string run = run_of("", "RANK");
    who.job = run.empty() ? "" : who.job + run;
  }
  if (Variables::is_set("MASTER_PORT") && (!who.one_host || who.job.empty())) {
    // torch's own store listens at the port itself.
    const int port = variables.number("MASTER_PORT", 1, 65'534) + 1;
    const std::string host = Variables::value("MASTER_ADDR");
    const bool has_colon = host.find(':') != std::string::npos && !host.starts_with('[');
    who.coordinator =
        variables.address("MASTER_ADDR", has_colon ? text("[", host, "]:", port) : text(host, ":", port)).to_string();
  }
  return {who, ""};
}

Said from_dtensor(const Variables& variables) {
  const std::string jobs = Variables::value("DTENSOR_JOBS");
  if (jobs.empty()) {
    // Local mode; a client that is not the first says that there are others.
    if (!Variables::is_set("DTENSOR_CLIENT_ID") || Variables::value("DTENSOR_CLIENT_ID") == "0") return {};
    return {std::nullopt, variables.what_is_missing("DTensor", {"DTENSOR_CLIENT_ID", "DTENSOR_JOBS"})};
  }
  std::vector<HostPort> clients;
  for (std::string_view rest = jobs;;) {
    const std::size_t comma = rest.find(',');
    clients.push_back(variables.address("DTENSOR_JOBS", rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (!Variables::is_set("DTENSOR_CLIENT_ID")) {
    return {std::nullopt, variables.what_is_missing("DTensor", {"DTENSOR_CLIENT_ID", "DTENSOR_JOBS"})};
  }
  Membership who;
  who.world = static_cast<int>(clients.size());
  who.rank = variables.number("DTENSOR_CLIENT_ID", 0, who.world - 1, text(" (DTENSOR_JOBS has ", who.world, " entries)"));
  const auto own = static_cast<std::size_t>(who.rank);
  const auto is_beside = [&](const HostPort& client) { return client.host == clients[own].host; };
  who.local_rank = static_cast<int>(std::count_if(clients.begin(), clients.begin() + who.rank, is_beside));
  who.one_host = std::ranges::all_of(clients, is_beside);
  who.coordinator = clients.front().to_string();
  who.job = text("dtensor-", Variables::value("DTENSOR_JOB_NAME"), "-", who.coordinator);
  who.launcher = "DTensor";
  return {who, ""};
}

Said from_open_mpi(const Variables& variables) {
  if (!any_set({"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"})) return {};
  if (!all_set({"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"})) {
    return {std::nullopt, variables.what_is_missing("Open MPI", {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"})};
  }
  Membership who = numbers(variables, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK");
  who.launcher = "Open MPI";
  who.one_host = is_one_host(variables, "OMPI_COMM_WORLD_LOCAL_SIZE", who.world);
  who.job = who.one_host ? run_of("openmpi", "OMPI_COMM_WORLD_RANK") : text("openmpi-", Variables::value("PMIX_NAMESPACE"));
  return {who, ""};
}

Said from_mpich(const Variables& variables) {
  if (!any_set({"PMI_RANK", "PMI_SIZE"})) return {};
  // `srun --mpi=pmi2` says the same in MPICH's words, and less: Slurm's own variables know the hosts.
  const bool is_mpiexec = Variables::is_set("MPI_LOCALNRANKS");
  if (!is_mpiexec && Variables::is_set("SLURM_STEP_ID") && Variables::value("PMI_RANK") == Variables::value("SLURM_PROCID"))
    return {};
  if (!all_set({"PMI_RANK", "PMI_SIZE"})) return {std::nullopt, variables.what_is_missing("MPICH", {"PMI_RANK", "PMI_SIZE"})};
  Membership who = numbers(variables, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID");
  who.launcher = "MPICH";
  who.one_host = is_one_host(variables, "MPI_LOCALNRANKS", who.world);
  who.job = who.one_host ? run_of("mpich", "PMI_RANK") : "mpich";
  return {who, ""};
}

// Below the ports the system gives out by itself; the same on every rank.
int port_of_job(std::uint64_t job, std::uint64_t step) {
  static constexpr std::uint64_t lowest = 15'000;
  static constexpr std::uint64_t count = 17'000;
  return static_cast<int>(lowest + (job * 131 + step) % count);
}

Said from_slurm(const Variables& variables) {
  // A batch script has SLURM_PROCID and SLURM_NTASKS too, but is no step of many: its step has a number beyond all others, or
  // none.
  static constexpr std::uint64_t highest_step = 0xffff'0000;
  const auto step = parse_unsigned(Variables::value("SLURM_STEP_ID"), 0, highest_step);
  if (!step || !Variables::is_set("SLURM_PROCID")) return {};
  const char* const world = Variables::is_set("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  const char* const nodes = Variables::is_set("SLURM_STEP_NODELIST") ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST";
  const char* const node_count = Variables::is_set("SLURM_STEP_NUM_NODES") ? "SLURM_STEP_NUM_NODES" : "SLURM_NNODES";
  if (!all_set({world, nodes, node_count, "SLURM_JOB_ID"})) {
    return {std::nullopt, variables.what_is_missing("Slurm", {"SLURM_PROCID", world, node_count, nodes, "SLURM_JOB_ID"})};
  }
  Membership who = numbers(variables, "SLURM_PROCID", world, "SLURM_LOCALID");
  const auto job = parse_unsigned(Variables::value("SLURM_JOB_ID"));
  if (!job)
    variables.refuse(text("SLURM_JOB_ID='", printable(Variables::value("SLURM_JOB_ID")), "' cannot be: a number was expected"));
  const auto host = first_slurm_node(Variables::value(nodes));
  if (!host) {
    variables.refuse(
        text(nodes, "='", printable(Variables::value(nodes)), "' cannot be: nodes such as node[01-03,7],b2 were expected"));
  }
  who.launcher = "Slurm";
  who.one_host = variables.number(node_count, 1, most_ranks) == 1;
  who.job = text("slurm-", *job, ".", *step);
  if (!who.one_host) who.coordinator = text(*host, ":", port_of_job(*job, *step));
  return {who, ""};
}

// What the launcher left open, and what our own variables say instead.
void complete(Membership& who, const Variables& variables) {
  const bool is_ours = who.launcher == "tutti launch";
  if (Variables::is_set("TUTTI_COORDINATOR")) {
    who.coordinator = variables.address("TUTTI_COORDINATOR", Variables::value("TUTTI_COORDINATOR")).to_string();
  }
  if (Variables::is_set("TUTTI_LOCAL_RANK")) {
    who.local_rank = variables.number("TUTTI_LOCAL_RANK", 0, who.world - 1, text(" (there are ", who.world, " ranks)"));
  }
  if (Variables::is_set("TUTTI_JOB_ID")) who.job = Variables::value("TUTTI_JOB_ID");
  who.secret = Variables::value("TUTTI_JOB_SECRET");
  if (who.world == 1 && !(is_ours && !who.coordinator.empty())) {
    who.coordinator.clear();
    return;
  }
  who.rank_0_starts_coordinator = !is_ours;
  const std::string ranks = text(who.launcher, " started ", who.world, " ranks");
  if (is_ours && who.secret.empty()) {
    variables.refuse(
        "TUTTI_COORDINATOR is set and TUTTI_JOB_SECRET is not; set it to the secret the coordinator was started with");
  }
  if (who.coordinator.empty() && !who.one_host) {
    variables.refuse(text(ranks,
                          " and does not say that all are on one host; set TUTTI_COORDINATOR to host:port, a free port of rank "
                          "0's host, and TUTTI_JOB_SECRET to the same random text for every rank"));
  }
  if (who.secret.empty() && !who.one_host) {
    variables.refuse(
        text(ranks,
             " and does not say that all are on one host, and TUTTI_JOB_SECRET is not set; set it to the same random "
             "text for every rank (openssl rand -hex 16 makes one)"));
  }
  if (who.job.empty() && (who.coordinator.empty() || who.secret.empty())) {
    variables.refuse(text(ranks,
                          ", but which process of this host did cannot be seen in /proc; set TUTTI_JOB_ID to the same text for "
                          "every rank, another for every run"));
  }
}

}  // namespace

Membership membership_from_environment(Site site) {
  const Variables variables(site);
  std::string missing;
  for (const auto& from : {from_ours, from_torchrun, from_dtensor, from_open_mpi, from_mpich, from_slurm}) {
    Said said = from(variables);
    if (said.membership) {
      complete(*said.membership, variables);
      return *said.membership;
    }
    if (missing.empty()) missing = said.missing;
  }
  if (!missing.empty()) variables.refuse(missing);
  if (Variables::is_set("TUTTI_COORDINATOR")) {
    variables.refuse(
        "TUTTI_COORDINATOR is set, and neither TUTTI_RANK and TUTTI_WORLD_SIZE are nor any launcher's variables; set them");
  }
  return {};
}

}  // namespace tutti
