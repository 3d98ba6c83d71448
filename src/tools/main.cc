// The tutti command: reads the command line and hands over to one subcommand.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "tools/demo.h"
#include "tools/devices.h"
#include "tools/ops.h"
#include "tools/run.h"
#include "tools/suggestion.h"
#include "tutti/base/text.h"
#include "tutti/base/version.h"

namespace {

constexpr int failed = 1;
constexpr int misused = 2;

int refuse(const std::string& what, const std::string& meant, const std::string& help) {
  std::cerr << "tutti: error: " << what;
  if (!meant.empty()) std::cerr << "; did you mean '" << meant << "'?";
  std::cerr << "\nTry '" << help << "'.\n";
  return misused;
}

// An option that does not exist gets the nearest one that does; everything else is said as the parser says it.
int explain(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  const auto chosen = app.get_subcommands();
  const CLI::App& at = chosen.empty() ? app : *chosen.front();
  const std::string help = chosen.empty() ? "tutti --help" : "tutti " + at.get_name() + " --help";
  std::vector<std::string> known;
  for (const CLI::Option* option : at.get_options()) known.push_back(option->get_name());
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("-") || std::find(known.begin(), known.end(), name) != known.end() || name == "-h") continue;
    return refuse("unknown option '" + tutti::printable(name) + "'", tutti::tools::nearest(name, known), help);
  }
  return refuse(tutti::printable(error.what()), "", help);
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

  tutti::tools::DemoOptions options;
  CLI::App* demo = app.add_subcommand("demo", "The guide \"Use a GPU\", step by step");
  demo->add_option("--trace", options.trace, "File for the timeline")->type_name("FILE")->capture_default_str();
  const auto number = [&](const char* name, unsigned& value, unsigned most, const char* text) {
    demo->add_option(name, value, text)->type_name("N")->check(CLI::Range(1U, most).description(""))->capture_default_str();
  };
  number("--gpus", options.gpus, 64, "GPUs to simulate where there is none");
  number("--steps", options.steps, 1'000'000, "Steps of the timed loops");
  demo->callback([&] { tutti::tools::run_demo(options); });

  std::string function;
  CLI::App* ops = app.add_subcommand("ops", "List the functions on tensors, or tell about one");
  ops->add_option("NAME", function, "A function (add) or an op (AddV2)");
  ops->add_flag("--json", as_json, "As JSON, for programs");

  tutti::tools::RunOptions running;
  CLI::App* run = app.add_subcommand("run", "Run a program and report its syncs when it exits");
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

  std::vector<std::string> words(argv + 1, argv + argc);
  const std::vector<std::string> commands{"devices", "demo", "ops", "run"};
  // What follows "--" is the program's own.
  std::vector<std::string> own;
  if (!words.empty() && words[0] == "run") {
    const auto mark = std::find(words.begin(), words.end(), "--");
    if (mark != words.end()) own.assign(mark + 1, words.end());
    words.erase(mark, words.end());
  }
  try {
    if (!words.empty() && !words[0].starts_with("-") && std::find(commands.begin(), commands.end(), words[0]) == commands.end()) {
      return refuse("unknown command '" + tutti::printable(words[0]) + "'", tutti::tools::nearest(words[0], commands),
                    "tutti --help");
    }
    app.parse(static_cast<int>(words.size()) + 1, argv);
    if (ops->parsed() && !tutti::tools::print_ops(function, as_json)) {
      return refuse("no function or op is named '" + tutti::printable(function) + "'",
                    tutti::tools::nearest(function, tutti::tools::function_names()), "tutti ops");
    }
    if (run->parsed()) {
      running.command.insert(running.command.end(), own.begin(), own.end());
      if (running.command.empty()) {
        std::cerr << "tutti: error: no program to run was given\n" << run->help("tutti");
        return misused;
      }
      return tutti::tools::run_program(running);
    }
    if (words.empty()) std::cout << app.help();
    std::cout.flush();
    if (!std::cout) throw std::runtime_error("the output could not be written");
    return 0;
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return explain(app, error, words);
  } catch (const std::exception& error) {
    std::cerr << "tutti: error: " << error.what() << '\n';
    return failed;
  }
}
