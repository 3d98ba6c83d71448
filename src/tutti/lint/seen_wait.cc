#include "tutti/lint/seen_wait.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tutti/base/text.h"
#include "tutti/lint/analyser.h"

namespace tutti::lint {

namespace {

struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::string_view trimmed(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == std::string_view::npos ? "" : line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

std::vector<Range> line_ranges(std::string_view source) {
  std::vector<Range> out;
  for (std::size_t at = 0; at <= source.size();) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    out.push_back({at, end});
    at = end + 1;
  }
  return out;
}

// Whether the lines from this one on read as the code does, which is kept in one.
bool reads(std::string_view source, const std::vector<Range>& lines, std::size_t first, std::string_view code) {
  std::size_t matched = 0;
  for (std::size_t i = first; i < lines.size() && matched < code.size(); ++i) {
    const std::string_view part = trimmed(source.substr(lines[i].begin, lines[i].end - lines[i].begin));
    if (part.empty()) {
      if (i == first) return false;
      continue;
    }
    if (matched != 0 && code[matched++] != ' ') return false;
    if (!code.substr(matched).starts_with(part)) return false;
    matched += part.size();
  }
  return matched == code.size() && matched != 0;
}

bool goes_to_device(RuleId rule) {
  switch (rule) {
    case RuleId::create_from_host:
    case RuleId::blocking_copy:
    case RuleId::unpinned_loader:
    case RuleId::host_index:
    case RuleId::scalar_assign: return true;
    default: return false;
  }
}

bool fits(const Finding& finding, Transfer transfer) {
  if (finding.rule == RuleId::host_lengths) return transfer != Transfer::none;
  const std::string_view category = rule(finding.rule).category;
  switch (transfer) {
    case Transfer::unknown: return true;
    case Transfer::none: return !goes_to_device(finding.rule) && category != "reads" && category != "branches";
    case Transfer::to_host: return !goes_to_device(finding.rule);
    case Transfer::to_device: return goes_to_device(finding.rule);
  }
  return true;
}

// Reported at the value, while Python is in what is made of it: print(x), f"{x}", x[i] = 3.
bool is_reported_inside(RuleId rule) {
  switch (rule) {
    case RuleId::print:
    case RuleId::format:
    case RuleId::log_value:
    case RuleId::branch:
    case RuleId::assertion:
    case RuleId::min_max:
    case RuleId::boolean_assign:
    case RuleId::host_index:
    case RuleId::scalar_assign:
    case RuleId::tensor_bounds:
    case RuleId::create_from_host:
    case RuleId::jax_read:
    case RuleId::jax_branch: return true;
    default: return false;
  }
}

// Bytes of the expression in its line; of the line where it is not known.
Range range_of(std::string_view source, std::uint32_t line, std::string_view expression) {
  const Range whole = line_ranges(source)[line - 1];
  if (expression.empty()) return whole;
  const std::size_t at = source.substr(whole.begin, whole.end - whole.begin).find(expression);
  if (at == std::string_view::npos) return whole;
  return {whole.begin + at, whole.begin + at + expression.size()};
}

}  // namespace

std::uint32_t line_of(std::string_view source, const SeenWait& wait) {
  const std::vector<Range> lines = line_ranges(source);
  if (wait.line == 0) return 0;
  if (wait.code.empty()) return wait.line <= lines.size() ? wait.line : 0;
  const auto at = static_cast<std::int64_t>(wait.line) - 1;
  const auto count = static_cast<std::int64_t>(lines.size());
  for (std::int64_t far = 0; far <= std::max(at, count - at); ++far) {
    for (const std::int64_t line : {at - far, at + far}) {
      if (line >= 0 && line < count && reads(source, lines, static_cast<std::size_t>(line), wait.code))
        return static_cast<std::uint32_t>(line + 1);
    }
  }
  return 0;
}

const Finding* finding_of(std::string_view source, const std::vector<Finding>& findings, const SeenWait& wait) {
  const std::uint32_t line = line_of(source, wait);
  if (line == 0) return nullptr;
  const Range range = range_of(source, line, wait.expression);
  const Finding* best = nullptr;
  std::size_t best_distance = 0;
  for (const Finding& finding : findings) {
    if (finding.line > line || finding.end_line < line || !fits(finding, wait.transfer)) continue;
    const bool is_inside = range.begin <= finding.begin && finding.end <= range.end;
    const bool is_same = range.begin == finding.begin && finding.end == range.end;
    if (!wait.expression.empty() && !is_same && !(is_inside && is_reported_inside(finding.rule))) continue;
    const std::size_t distance = is_inside ? (range.end - range.begin) - (finding.end - finding.begin) : range.end;
    if (best == nullptr || distance < best_distance) {
      best = &finding;
      best_distance = distance;
    }
  }
  return best;
}

SeenSource::SeenSource(std::string source) : source_(std::move(source)) { read(); }

SeenSource::SeenSource(const SeenWait& wait) : is_whole_(false) {
  const std::string before = wait.code.starts_with("elif ") ? "import torch\nif 0:\n    pass\n" : "import torch\n";
  offset_ = static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n'));
  // With the body that some statements want, or without.
  for (const char* const body : {"\n    pass\n", "\n"}) {
    source_ = text(before, wait.code, body);
    read();
    if (tree_ != nullptr && !(*tree_)[tree_->root()].is_broken) return;
  }
}

void SeenSource::read() {
  auto parsed = SyntaxTree::parse(source_);
  if (!parsed) return;
  tree_ = std::make_unique<const SyntaxTree>(std::move(*parsed));
  findings_ = Analyser(*tree_).run();
  const std::vector<Finding> more = Analyser(*tree_, tensor(Place::unknown, Confidence::possible)).run();
  findings_.insert(findings_.end(), more.begin(), more.end());
}

SeenWait SeenSource::placed(const SeenWait& wait) const {
  SeenWait out = wait;
  if (!is_whole_) out.line = offset_ + 1;
  return out;
}

const Finding* SeenSource::finding_of(const SeenWait& wait) const { return lint::finding_of(source_, findings_, placed(wait)); }

ValueUse SeenSource::use_of(const SeenWait& wait) const {
  const std::uint32_t line = tree_ == nullptr ? 0 : line_of(source_, placed(wait));
  if (line == 0) return {};
  Range range = range_of(source_, line, wait.expression);
  if (const Finding* const finding = finding_of(wait); finding != nullptr) range = {finding->begin, finding->end};
  NodeId found = no_node;  // the innermost that is just that
  for (NodeId id = 0; id < tree_->size(); ++id) {
    const Node& node = (*tree_)[id];
    if (node.begin == range.begin && node.end == range.end && node.kind != Syntax::operator_ && !node.is_broken) found = id;
  }
  if (found == no_node) return {};
  ValueUse out = lint::use_of(*tree_, found);
  if (!is_whole_) out.line = wait.line;
  return out;
}

}  // namespace tutti::lint
