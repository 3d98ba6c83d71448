// The tutti command: reads the command line and hands over to one subcommand.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "tools/barrier.h"
#include "tools/coordinator.h"
#include "tools/demo.h"
#include "tools/devices.h"
#include "tools/guide.h"
#include "tools/launch.h"
#include "tools/lint.h"
#include "tools/ops.h"
#include "tools/run.h"
#include "tools/suggestion.h"
#include "tools/trace.h"
#include "tutti/base/duration.h"
#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/rank_files.h"
#include "tutti/base/text.h"
#include "tutti/base/version.h"

namespace {

constexpr int failed = 1;
constexpr int misused = 2;

int refuse(const std::string& what, const std::vector<std::string>& meant, const std::string& help) {
  std::cerr << "tutti: error: " << what;
  for (std::size_t i = 0; i < meant.size(); ++i)
    std::cerr << (i == 0 ? "; did you mean '" : i + 1 == meant.size() ? " or '" : ", '") << meant[i] << "'";
  if (!meant.empty()) std::cerr << '?';
  std::cerr << "\nTry '" << help << "'.\n";
  return misused;
}

// An option that does not exist gets the nearest one that does; everything else is said as the parser says it.
int explain(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  const auto chosen = app.get_subcommands();
  const CLI::App& at = chosen.empty() ? app : *chosen.front();
  const std::string help = chosen.empty() ? "tutti --help" : "tutti " + at.get_name() + " --help";
  std::vector<std::string> known;
  for (const CLI::Option* option : at.get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    for (const std::string& name : option->get_snames()) known.push_back("-" + name);
  }
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    const bool is_number = name.size() > 1 && name[1] >= '0' && name[1] <= '9';  // -1
    if (!name.starts_with("-") || is_number || std::find(known.begin(), known.end(), name) != known.end()) continue;
    // Any two options of one letter are alike.
    const std::vector<std::string> meant = tutti::tools::nearest(name, known, name.size() > 2 ? 1 : 0);
    return refuse("unknown option '" + tutti::printable(name) + "'", meant, help);
  }
  return refuse(tutti::printable(error.what()), {}, help);
}

// "5s", "500ms", "2m"
template <class Duration>
CLI::Option* add_duration(CLI::App& app, const char* name, Duration& value, const char* text) {
  const auto read = [&value, name](const std::string& written) {
    const auto found = tutti::parse_duration(written);
    if (!found) throw CLI::ValidationError(name, "'" + written + "' is no length of time; write 5s, 500ms or 2m");
    value = *found;
  };
  return app.add_option_function<std::string>(name, read, text)->type_name("TIME");
}

CLI::Option* add_count(CLI::App& app, const char* names, int& value, int most, const char* text) {
  const auto read = [&value, most](const std::string& written) {
    const auto found = tutti::parse_unsigned(written, 1, static_cast<unsigned>(most));
    if (!found) {
      throw CLI::ValidationError(
          tutti::text("'", written, "' ranks cannot be: a whole number from 1 to ", most, " was expected"));
    }
    value = static_cast<int>(*found);
  };
  return app.add_option_function<std::string>(names, read, text)->type_name("N");
}

// Takes the program and what it is given off the end of `words`: what follows "--", or begins with the first word that is neither
// an option nor a value of one.
std::vector<std::string> take_program(const CLI::App& command, std::vector<std::string>& words) {
  std::size_t at = 1;
  while (at < words.size() && words[at] != "--" && words[at].starts_with("-")) {
    const CLI::Option* const option = command.get_option_no_throw(words[at]);
    const int most = option == nullptr ? 0 : option->get_items_expected_max();
    const bool is_exact = most > 0 && option->get_items_expected_min() == most;
    at += 1 + static_cast<std::size_t>(is_exact ? most : std::min(most, 1));
  }
  at = std::min(at, words.size());
  const auto end = words.begin() + static_cast<std::ptrdiff_t>(at);
  std::vector<std::string> program(end, words.end());
  words.erase(end, words.end());
  if (!program.empty() && program[0] == "--") program.erase(program.begin());
  return program;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Asynchronous tensor programs on many devices.", "tutti");
  app.set_version_flag("--version", std::string("tutti ") + tutti::version());
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(32);

  bool as_json = false;
  CLI::App* devices = app.add_subcommand("devices", "List physical and logical devices");
  devices->add_flag("--json", as_json, "As JSON, for programs");
  devices->callback([&] { tutti::tools::print_devices(as_json); });

  tutti::tools::DemoOptions demonstrating;
  tutti::tools::GuideOptions guiding;
  bool shows_guide = false;
  CLI::App* demo = app.add_subcommand("demo", "Train a small classifier on every GPU");
  const auto number = [&](const char* name, unsigned& value, unsigned most, const char* text) {
    return demo->add_option(name, value, text)
        ->type_name("N")
        ->check(CLI::Range(1U, most).description(""))
        ->capture_default_str();
  };
  number("--gpus", demonstrating.gpus, 64, "GPUs to simulate where there is none");
  CLI::Option* epochs = number("--epochs", demonstrating.epochs, 10'000, "Epochs of the training, 40 steps each");
  CLI::Option* page = demo->add_option("--page", demonstrating.page, "File for the timeline of the training")
                          ->type_name("FILE")
                          ->capture_default_str();
  CLI::Option* with_syncs =
      demo->add_flag("--with-syncs", demonstrating.with_syncs, "Also the naive way, and what its waits cost");
  CLI::Option* guide = demo->add_flag("--guide", shows_guide, "The guide \"Use a GPU\", step by step, instead");
  number("--steps", guiding.steps, 1'000'000, "Steps of the guide's timed loops")->needs(guide);
  demo->add_option("--trace", guiding.trace, "File for the guide's timeline")
      ->type_name("FILE")
      ->capture_default_str()
      ->needs(guide);
  for (CLI::Option* of_the_training : {epochs, page, with_syncs}) of_the_training->excludes(guide);
  demo->callback([&] {
    guiding.gpus = demonstrating.gpus;
    shows_guide ? tutti::tools::show_guide(guiding) : tutti::tools::run_demo(demonstrating);
  });

  std::string function;
  CLI::App* ops = app.add_subcommand("ops", "List the functions on tensors, or tell about one");
  ops->add_option("NAME", function, "A function (add) or an op (AddV2)");
  ops->add_flag("--json", as_json, "As JSON, for programs");

  tutti::tools::RunOptions running;
  CLI::App* run = app.add_subcommand("run", "Run a program and report its syncs when it ends");
  run->add_option("--sync-report", running.form, "text, json or html")
      ->type_name("FORM")
      ->check(CLI::IsMember({"text", "json", "html"}).description(""))
      ->capture_default_str();
  run->add_option("--output", running.output, "A file for the report")->type_name("FILE");
  run->add_option("--sync", running.sync, "What a demand sync does: warn or error")
      ->type_name("MODE")
      ->check(CLI::IsMember({"warn", "error"}).description(""));
  run->add_option("PROGRAM", running.command, "The program, then what it is given")->type_name("");
  run->footer(tutti::tools::run_example);

  tutti::tools::TraceOptions tracing;
  CLI::App* trace = app.add_subcommand("trace", "Run any CUDA program and report its host's waits");
  trace->add_option("-o,--output", tracing.folder, "A new folder for what is recorded [tutti-trace]")->type_name("FOLDER");
  trace->add_flag("--gpu", tracing.records_work, "Record what the GPU does, too; costs more");
  trace->add_option("--read", tracing.read, "Report on a folder recorded before")->type_name("FOLDER");
  trace->add_option("--compare", tracing.compare, "What has changed from one folder to another")
      ->type_name("BEFORE AFTER")
      ->expected(2);
  trace->add_flag("--json", tracing.as_json, "What --compare found as JSON, for programs");
  trace
      ->add_option_function<std::string>(
          "--budget",
          [&tracing](const std::string& written) {
            const auto found = tutti::parse_unsigned(written, 0, 1'000'000);
            if (!found) throw CLI::ValidationError("--budget", "'" + written + "' is no number of waits a step");
            tracing.budget = static_cast<unsigned>(*found);
          },
          "More waits a step are a failure")
      ->type_name("N");
  trace->add_option("--baseline", tracing.baseline, "Waits that this report.json has not are a failure")->type_name("FILE");
  trace->add_option("PROGRAM", tracing.command, "The program, then what it is given")->type_name("");
  trace->footer(tutti::tools::trace_example);

  tutti::tools::LaunchOptions launching;
  CLI::App* launch = app.add_subcommand("launch", "Run a program as several ranks");
  add_count(*launch, "-n,--ranks", launching.ranks, 4096, "How many")->required();
  launch->add_option("--hosts", launching.hosts, "Where, through ssh (or TUTTI_RSH): a,b")->type_name("LIST")->delimiter(',');
  launch->add_option("--listen", launching.listen, "This host's address for other hosts' ranks")->type_name("HOST");
  launch->add_option("--env", launching.variables, "Variables passed to other hosts: A,B")->type_name("LIST")->delimiter(',');
  add_duration(*launch, "--timeout-grace", launching.grace, "From SIGTERM to SIGKILL [10s]");
  launch->add_flag("--keep-going", launching.keeps_going, "Let the others go on when one fails");
  launch->add_option("PROGRAM", launching.command, "The program, then what it is given")->type_name("");
  launch->footer(tutti::tools::launch_example);

  tutti::tools::BarrierOptions meeting;
  CLI::App* barrier = app.add_subcommand("barrier", "Wait in a script until all ranks have come");
  barrier->add_option("--name", meeting.name, "All ranks must say the same")->type_name("NAME")->capture_default_str();
  add_duration(*barrier, "--timeout", meeting.timeout, "Then report who is missing [none]");
  barrier->footer(tutti::tools::barrier_example);

  tutti::tools::CoordinatorCommand serving;
  CLI::App* coordinator = app.add_subcommand("coordinator", "Where ranks meet; for launchers and scripts");
  coordinator->add_option("--listen", serving.options.listen, "Port 0: any that is free")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  add_count(*coordinator, "--world", serving.options.world, 1 << 20, "How many ranks")->required();
  coordinator->add_option("--job", serving.options.job, "The job's name, the same for every rank")->type_name("ID");
  coordinator->add_option("--job-file", serving.job_file, "A file to remove at the end")->type_name("FILE");
  add_duration(*coordinator, "--dead-after", serving.options.dead_after, "A silent rank is dead [10s]");
  add_duration(*coordinator, "--linger", serving.options.linger, "After the last rank has left [2s]");
  add_duration(*coordinator, "--idle-limit", serving.options.idle_limit, "Nobody ever came [10m]");
  coordinator->footer(tutti::tools::coordinator_example);

  tutti::tools::LintOptions linting;
  CLI::App* lint = app.add_subcommand("lint", "Find hidden host syncs in Python sources");
  lint->add_option("PATH", linting.paths, "Files, folders [this one]; -: standard input")->type_name("");
  lint->add_option("--explain", linting.explain, "Tell about a rule")->type_name("RULE");
  lint->add_option("--page", linting.page, "The same as a page of Markdown")->type_name("RULE");
  lint->add_flag("--rules", linting.lists_rules, "List the rules");
  lint->add_option("--select", linting.select, "Only these rules or categories: a,b")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false);
  lint->add_option("--ignore", linting.ignore, "Not these")->type_name("LIST")->delimiter(',')->allow_extra_args(false);
  lint->add_option("--min-confidence", linting.min_confidence, "possible, likely or certain [likely]")
      ->type_name("HOW")
      ->check(CLI::IsMember({"possible", "likely", "certain"}).description(""));
  lint->add_option("--format", linting.format, "text, json, sarif or github")
      ->type_name("FORM")
      ->check(CLI::IsMember({"text", "json", "sarif", "github"}).description(""))
      ->capture_default_str();
  lint->add_option("--with", linting.trace, "Rank by what this trace measured")->type_name("FOLDER");
  lint->add_flag("--fix", linting.fixes, "Rewrite what is surely the same");
  lint->add_flag("--diff", linting.shows_difference, "Show what --fix would do; write nothing");
  lint->add_flag("--force-exclude", linting.excludes_named, "Exclude named files, too, not only found ones");
  lint->add_flag("--exit-zero", linting.exits_zero, "Exit with 0 also where there are findings");
  lint->footer(tutti::tools::lint_example);

  std::vector<std::string> words(argv + 1, argv + argc);
  const std::vector<std::string> commands{"devices", "demo", "ops", "run", "trace", "launch", "barrier", "coordinator", "lint"};
  if (!words.empty() && words[0] == "run") running.command = take_program(*run, words);
  if (!words.empty() && words[0] == "trace") tracing.command = take_program(*trace, words);
  if (!words.empty() && words[0] == "launch") launching.command = take_program(*launch, words);
  try {
    if (!words.empty() && !words[0].starts_with("-") && std::find(commands.begin(), commands.end(), words[0]) == commands.end()) {
      return refuse("unknown command '" + tutti::printable(words[0]) + "'", tutti::tools::nearest(words[0], commands),
                    "tutti --help");
    }
    app.parse(static_cast<int>(words.size()) + 1, argv);
    // What the environment asks for is asked of the programs that these start or wait for.
    if (run->parsed() || trace->parsed() || launch->parsed() || barrier->parsed() || coordinator->parsed())
      tutti::leave_files_to_others();
    if (ops->parsed() && !tutti::tools::print_ops(function, as_json)) {
      return refuse("no function or op is named '" + tutti::printable(function) + "'",
                    tutti::tools::nearest(function, tutti::tools::function_names(), 3), "tutti ops");
    }
    if (run->parsed()) {
      if (running.command.empty()) {
        std::cerr << "tutti: error: no program to run was given\n" << run->help("tutti");
        return misused;
      }
      return tutti::tools::run_program(running);
    }
    if (trace->parsed()) {
      const bool only_reads = !tracing.compare.empty() || !tracing.read.empty();
      if (only_reads && (!tracing.folder.empty() || tracing.records_work))
        return refuse("-o and --gpu are for a program that is run; --read and --compare run none", {}, "tutti trace --help");
      if (!tracing.compare.empty()) {
        if (!tracing.command.empty() || !tracing.read.empty() || tracing.budget || !tracing.baseline.empty()) {
          return refuse(
              "--compare takes two folders and nothing else; --budget and --baseline judge one: tutti trace --read AFTER", {},
              "tutti trace --help");
        }
        return tutti::tools::compare_traces(tracing);
      }
      if (tracing.as_json)
        return refuse("--json is for --compare; report.json in the folder of a trace is its report", {}, "tutti trace --help");
      if (!tracing.read.empty()) {
        if (!tracing.command.empty())
          return refuse("--read reports on what was recorded, and runs no program", {}, "tutti trace --help");
        return tutti::tools::report_trace(tracing);
      }
      if (tracing.command.empty()) {
        std::cerr << "tutti: error: no program to trace was given\n" << trace->help("tutti");
        return misused;
      }
      return tutti::tools::trace_program(tracing);
    }
    if (launch->parsed()) {
      if (launching.command.empty()) {
        std::cerr << "tutti: error: no program to run was given\n" << launch->help("tutti");
        return misused;
      }
      if (static_cast<int>(launching.hosts.size()) > launching.ranks) {
        return refuse(tutti::text("there are ", launching.hosts.size(), " hosts for ", launching.ranks, " ranks"), {},
                      "tutti launch --help");
      }
      for (const std::string& host : launching.hosts) {
        if (!host.empty() && !host.starts_with("-")) continue;
        return refuse(tutti::text("--hosts: '", tutti::printable(host), "' names no host"), {}, "tutti launch --help");
      }
      return tutti::tools::launch(launching);
    }
    if (barrier->parsed()) return tutti::tools::run_barrier(meeting);
    if (coordinator->parsed()) return tutti::tools::run_coordinator(serving);
    if (lint->parsed()) return tutti::tools::run_lint(linting);
    if (words.empty()) std::cout << app.help();
    std::cout.flush();
    if (!std::cout) throw std::runtime_error("the output could not be written");
    return 0;
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return explain(app, error, words);
  } catch (const tutti::Error& error) {
    // Where in this command it was found says nothing to its user.
    std::cerr << tutti::text("tutti: error: ", error.message(), "\n");  // in one piece: other ranks write there too
    return failed;
  } catch (const std::exception& error) {
    std::cerr << tutti::text("tutti: error: ", error.what(), "\n");
    return failed;
  }
}
