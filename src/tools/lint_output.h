// What `tutti lint` prints: for people, for programs, for code scanning and for GitHub's annotations.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tutti/lint/check.h"

namespace tutti::tools {

// What a trace saw at a finding.
struct Measured {
  std::uint64_t waits = 0;    // after the warm-up
  std::uint64_t warm_up = 0;  // and in it
  std::uint64_t time = 0;     // ns, after the warm-up
  std::uint64_t warm_up_time = 0;
  std::uint64_t idle = 0;  // ns in which the GPU did nothing because of it
  std::uint64_t gain = 0;  // ns by which the steps would be shorter without it

  [[nodiscard]] bool was_reached() const noexcept { return waits + warm_up != 0; }
};

struct LintedFile {
  std::string path;
  std::string source;
  lint::Report report;
  std::vector<Measured> measured;  // as the findings; empty: nothing was measured
};

struct OtherWait {
  std::string place;
  std::string wait;
  std::uint64_t time = 0;
  bool was_read = false;  // the file was: nothing was found there
};

struct MeasuredRun {
  std::uint64_t steps = 0;  // 0: none were recognised
  bool knows_idle = false;
  std::vector<OtherWait> others;  // of the trace, without a finding; those that cost most first
};

struct LintRun {
  std::vector<LintedFile> files;  // those with findings or notes
  std::size_t files_read = 0;
  std::size_t unread = 0;  // files that are not Python, files and folders that cannot be read; they have notes
  std::string why_none;    // was read
  std::size_t lines_read = 0;
  std::size_t fixed = 0;
  std::optional<MeasuredRun> measured;
};

// "train.py:3:1: note: ..."
std::string told(const LintedFile& file, const lint::Note& note);

// The form is text, json, sarif or github.
void print_lint(std::ostream& out, const LintRun& run, const std::string& form);

}  // namespace tutti::tools
