#include "tools/lint_output.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>

#include "tutti/base/human_time.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/base/version.h"

namespace tutti::tools {

namespace {

using lint::Finding;
using lint::Rule;
using lint::Weight;
using nlohmann::ordered_json;

std::string_view line_of(const LintedFile& file, const Finding& finding) {
  const std::string_view source = file.source;
  std::size_t begin = finding.begin == 0 ? std::string_view::npos : source.rfind('\n', finding.begin - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  const std::string_view line = source.substr(begin, std::min(source.find('\n', begin), source.size()) - begin);
  return line.substr(0, line.size() - (line.ends_with('\r') ? 1 : 0));
}

struct Placed {
  const LintedFile* file = nullptr;
  const Finding* finding = nullptr;
  const Measured* measured = nullptr;  // null: nothing was
};

// Those that cost most first where that was measured, else as they stand.
std::vector<Placed> ranked(const LintRun& run) {
  std::vector<Placed> out;
  for (const LintedFile& file : run.files) {
    for (std::size_t i = 0; i < file.report.findings.size(); ++i)
      out.push_back({&file, &file.report.findings[i], file.measured.empty() ? nullptr : &file.measured[i]});
  }
  if (!run.measured) return out;
  std::stable_sort(out.begin(), out.end(), [](const Placed& a, const Placed& b) {
    const auto cost = [](const Placed& each) {
      return std::tuple(each.measured->gain, each.measured->idle, each.measured->time, each.measured->warm_up_time,
                        each.measured->waits + each.measured->warm_up);
    };
    return cost(a) > cost(b);
  });
  return out;
}

std::string time_of(std::uint64_t nanoseconds) { return human_time(static_cast<Nanoseconds>(nanoseconds)); }

// "measured: 26 waits, 1.0 a step, 1.15 ms; left the GPU idle for 75.4 us a step"
std::string cost_told(const MeasuredRun& run, const Finding& finding, const Measured& each) {
  if (!each.was_reached()) {
    return lint::rule(finding.rule).category == "jax" ? "measured: a trace does not show the waits of JAX"
                                                      : "measured: not reached (no wait was seen here)";
  }
  if (each.waits == 0) return text("measured: ", each.warm_up, " in the warm-up only, ", time_of(each.warm_up_time));
  std::string out = text("measured: ", each.waits, each.waits == 1 ? " wait, " : " waits, ");
  const std::uint64_t steps = std::max<std::uint64_t>(run.steps, 1);
  const char* const a_step = run.steps == 0 ? "" : " a step";
  const std::uint64_t tenths = (each.waits * 10 + steps / 2) / steps;
  if (run.steps != 0) out += text(tenths / 10, ".", tenths % 10, a_step, ", ");
  out += time_of(each.time);
  if (!run.knows_idle) return out;
  if (each.idle == 0 && each.gain == 0) return out + "; the GPU had work meanwhile";
  return text(out, "; left the GPU idle for ", time_of(each.idle / steps), a_step, "; without it ", time_of(each.gain / steps),
              " less", a_step, " (predicted)");
}

bool weighs(const Finding& finding) { return finding.weight == Weight::step || finding.weight == Weight::loop; }

std::string cut(const std::string& line, std::size_t most) {
  return line.size() <= most ? line : line.substr(0, most - 3) + "...";
}

std::string counted(std::size_t count, const char* word) { return text(count, " ", word, count == 1 ? "" : "s"); }

// What did not come from us is not in UTF-8 perhaps.
void write(std::ostream& out, const ordered_json& json) {
  out << json.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

constexpr std::size_t most_others = 5;

void print_others(std::ostream& out, const MeasuredRun& measured) {
  std::size_t shown = 0;
  std::size_t unread = 0;
  for (const OtherWait& other : measured.others) {
    if (!other.was_read) {
      ++unread;
    } else if (++shown <= most_others) {
      out << (shown == 1 ? "Of the trace, waits where nothing was found:\n" : "")
          << paragraph(text(printable(other.place, 400), ": ", other.wait, ", ", time_of(other.time)), 2);
    }
  }
  if (shown > most_others) out << "  and " << shown - most_others << " more places\n";
  if (unread > 0)
    out << counted(unread, "place") << " of the trace " << (unread == 1 ? "is" : "are") << " in no file that was read.\n";
}

void print_text(std::ostream& out, const LintRun& run) {
  std::set<lint::RuleId> told_of;
  std::set<const LintedFile*> files;
  std::size_t heavy = 0;
  std::size_t fixable = 0;
  std::size_t allowed = 0;
  std::size_t reached = 0;
  const LintedFile* noted = nullptr;
  const auto note_up_to = [&](const LintedFile* last) {
    for (const LintedFile& file : run.files) {
      if (noted != nullptr && &file <= noted) continue;
      if (last != nullptr && &file > last) break;
      noted = &file;
      allowed += file.report.allowed;
      for (const lint::Note& note : file.report.notes) out << told(file, note) << '\n';
    }
  };
  const std::vector<Placed> all = ranked(run);
  for (const auto& [file, finding, measured] : all) {
    note_up_to(file);
    const Rule& rule = lint::rule(finding->rule);
    files.insert(file);
    heavy += weighs(*finding) ? 1 : 0;
    fixable += finding->fix.empty() ? 0 : 1;
    reached += measured != nullptr && measured->was_reached() ? 1 : 0;
    std::string how(lint::to_string(finding->confidence));
    if (finding->weight != Weight::once) how += text(", ", lint::to_string(finding->weight));
    if (!finding->fix.empty()) how += ", --fix";
    out << printable(file->path, 400) << ':' << finding->line << ':' << finding->column << ": " << rule.name << " (" << how
        << ")\n";
    std::string shown(line_of(*file, *finding));
    const std::size_t indent = std::min(shown.find_first_not_of(" \t"), shown.size());
    out << "    " << cut(printable(shown.substr(indent), shown.size()), 76) << '\n';
    if (measured != nullptr) out << paragraph(cost_told(*run.measured, *finding, *measured), 2);
    if (told_of.insert(finding->rule).second) {
      out << paragraph(text("why: ", rule.why), 2) << paragraph(text("instead: ", rule.instead), 2)
          << paragraph(text("safe: ", rule.safe), 2);
    }
    out << '\n';
  }
  note_up_to(nullptr);
  if (run.measured) print_others(out, *run.measured);
  if (run.fixed > 0) out << "Fixed " << counted(run.fixed, "finding") << ".\n";
  if (run.files_read == 0) {
    out << paragraph(text("No Python source was read", run.why_none.empty() ? "" : ": ", run.why_none, "."));
    return;
  }
  if (all.empty()) {
    out << "No host sync found in " << counted(run.files_read, "file") << ", " << counted(run.lines_read, "line");
  } else {
    out << counted(all.size(), "finding") << " in " << counted(files.size(), "file") << " of " << run.files_read << ", " << heavy
        << " in loops or steps";
    if (run.measured) out << ", " << reached << " reached";
    if (fixable > 0) out << "; --fix rewrites " << fixable;
  }
  if (allowed > 0) out << "; " << allowed << " allowed";
  if (run.unread > 0) out << "; " << run.unread << " not read";
  out << ".\n";
}

ordered_json as_json(const Measured& measured) {
  return {{"waits", measured.waits},           {"time_ns", measured.time},
          {"warm_up_waits", measured.warm_up}, {"warm_up_time_ns", measured.warm_up_time},
          {"idle_ns", measured.idle},          {"gain_ns", measured.gain}};
}

void print_json(std::ostream& out, const LintRun& run) {
  ordered_json findings = ordered_json::array();
  ordered_json notes = ordered_json::array();
  std::size_t allowed = 0;
  for (const LintedFile& file : run.files) {
    allowed += file.report.allowed;
    for (const lint::Note& note : file.report.notes)
      notes.push_back({{"path", file.path}, {"line", note.line}, {"text", note.text}});
  }
  for (const auto& [at, found, measured] : ranked(run)) {
    const LintedFile& file = *at;
    const Finding& finding = *found;
    const Rule& rule = lint::rule(finding.rule);
    ordered_json edits = ordered_json::array();
    for (const lint::Edit& edit : finding.fix) edits.push_back({{"begin", edit.begin}, {"end", edit.end}, {"text", edit.text}});
    findings.push_back({{"rule", rule.name},
                        {"category", rule.category},
                        {"path", file.path},
                        {"line", finding.line},
                        {"column", finding.column},
                        {"end_line", finding.end_line},
                        {"end_column", finding.end_column},
                        {"confidence", lint::to_string(finding.confidence)},
                        {"weight", finding.weight == Weight::sometimes ? "sometimes"
                                   : finding.weight == Weight::step    ? "step"
                                   : finding.weight == Weight::loop    ? "loop"
                                                                       : "once"},
                        {"source", line_of(file, finding)},
                        {"why", rule.why},
                        {"instead", rule.instead},
                        {"safe", rule.safe},
                        {"fix", edits},
                        {"measured", measured == nullptr ? ordered_json() : as_json(*measured)}});
  }
  ordered_json measured;
  if (run.measured) {
    ordered_json others = ordered_json::array();
    for (const OtherWait& other : run.measured->others)
      others.push_back(
          {{"place", other.place}, {"wait", other.wait}, {"time_ns", other.time}, {"file_was_read", other.was_read}});
    measured = {{"steps", run.measured->steps}, {"other_waits", others}};
  }
  write(out, {{"tutti", version()},
              {"files", run.files_read},
              {"lines", run.lines_read},
              {"fixed", run.fixed},
              {"allowed", allowed},
              {"findings", findings},
              {"notes", notes},
              {"measured", measured}});
}

std::string measured_sentence(const LintRun& run, const Finding& finding, const Measured* measured) {
  return measured == nullptr ? "" : text(" ", cost_told(*run.measured, finding, *measured), ".");
}

// A path as a relative reference of a URI.
std::string as_uri(const std::string& path) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out;
  for (const char c : path) {
    const bool is_plain = is_letter(c) || is_digit(c) || std::string_view("-._~/").find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += hex[byte >> 4U];
    out += hex[byte & 15U];
  }
  return out;
}

// What was not understood, as SARIF's notifications of a tool about its run.
ordered_json notifications(const LintRun& run) {
  ordered_json out = ordered_json::array();
  for (const LintedFile& file : run.files) {
    for (const lint::Note& note : file.report.notes) {
      ordered_json place{{"artifactLocation", {{"uri", as_uri(file.path)}}}};
      if (note.line != 0) place["region"] = {{"startLine", note.line}};
      out.push_back(
          {{"level", "warning"}, {"message", {{"text", note.text}}}, {"locations", {{{"physicalLocation", std::move(place)}}}}});
    }
  }
  return out;
}

void print_sarif(std::ostream& out, const LintRun& run) {
  ordered_json rules = ordered_json::array();
  for (const Rule& rule : lint::rules()) {
    rules.push_back({{"id", rule.name},
                     {"shortDescription", {{"text", rule.title}}},
                     {"fullDescription", {{"text", rule.why}}},
                     {"help", {{"text", lint::explanation(rule)}, {"markdown", lint::page(rule)}}},
                     {"properties", {{"tags", {"performance", rule.category}}}}});
  }
  ordered_json results = ordered_json::array();
  for (const auto& [at, found, measured] : ranked(run)) {
    const LintedFile& file = *at;
    const Finding& finding = *found;
    const ordered_json location{{"uri", as_uri(file.path)}};
    const Rule& rule = lint::rule(finding.rule);
    ordered_json result{
        {"ruleId", rule.name},
        {"ruleIndex", static_cast<std::size_t>(rule.id)},
        {"level", weighs(finding) ? "warning" : "note"},
        {"message",
         {{"text", text(rule.title, " (", lint::to_string(finding.confidence), "). ", rule.why, " Instead: ", rule.instead,
                        " Safe: ", rule.safe, measured_sentence(run, finding, measured))}}},
        {"locations",
         {{{"physicalLocation",
            {{"artifactLocation", location},
             {"region",
              {{"startLine", finding.line},
               {"startColumn", finding.column},
               {"endLine", finding.end_line},
               {"endColumn", finding.end_column}}}}}}}},
        {"properties", {{"confidence", lint::to_string(finding.confidence)}, {"weight", lint::to_string(finding.weight)}}}};
    if (!finding.fix.empty()) {
      ordered_json replacements = ordered_json::array();
      for (const lint::Edit& edit : finding.fix) {
        replacements.push_back({{"deletedRegion", {{"byteOffset", edit.begin}, {"byteLength", edit.end - edit.begin}}},
                                {"insertedContent", {{"text", edit.text}}}});
      }
      result["fixes"] = {{{"description", {{"text", rule.instead}}},
                          {"artifactChanges", {{{"artifactLocation", location}, {"replacements", replacements}}}}}};
    }
    if (measured != nullptr) result["properties"]["measured"] = as_json(*measured);
    results.push_back(std::move(result));
  }
  write(out,
        {{"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
         {"version", "2.1.0"},
         {"runs",
          {{{"tool", {{"driver", {{"name", "tutti lint"}, {"semanticVersion", version()}, {"rules", rules}}}}},
            {"invocations", {{{"executionSuccessful", run.unread == 0}, {"toolExecutionNotifications", notifications(run)}}}},
            {"columnKind", "unicodeCodePoints"},
            {"results", results}}}}});
}

// Of a workflow command's text or property.
std::string escaped(std::string_view plain, bool is_property) {
  std::string out;
  for (const char c : plain) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\n') {
      out += "%0A";
    } else if (c == '\r') {
      out += "%0D";
    } else if (is_property && c == ':') {
      out += "%3A";
    } else if (is_property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

void print_github(std::ostream& out, const LintRun& run) {
  for (const auto& [at, found, measured] : ranked(run)) {
    const LintedFile& file = *at;
    const Finding& finding = *found;
    const Rule& rule = lint::rule(finding.rule);
    out << "::" << (weighs(finding) ? "warning" : "notice") << " file=" << escaped(file.path, true) << ",line=" << finding.line
        << ",col=" << finding.column << ",endLine=" << finding.end_line
        << ",title=" << escaped(text("tutti lint: ", rule.name), true) << "::"
        << escaped(text(rule.title, " (", lint::to_string(finding.confidence), "). ", rule.why, "\nInstead: ", rule.instead,
                        "\nSafe: ", rule.safe, measured_sentence(run, finding, measured)),
                   false)
        << '\n';
  }
  for (const LintedFile& file : run.files) {
    for (const lint::Note& note : file.report.notes) {
      out << "::warning file=" << escaped(file.path, true) << ",line=" << std::max(note.line, 1U)
          << ",title=" << escaped("tutti lint: note", true) << "::" << escaped(note.text, false) << '\n';
    }
  }
}

}  // namespace

std::string told(const LintedFile& file, const lint::Note& note) {
  return paragraph(text(printable(file.path, 400), ":", std::max(note.line, 1U), ":1: note: ", note.text));
}

void print_lint(std::ostream& out, const LintRun& run, const std::string& form) {
  if (form == "json") {
    print_json(out, run);
  } else if (form == "sarif") {
    print_sarif(out, run);
  } else if (form == "github") {
    print_github(out, run);
  } else {
    print_text(out, run);
  }
}

}  // namespace tutti::tools
