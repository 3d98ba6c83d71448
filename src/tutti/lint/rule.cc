#include "tutti/lint/rule.h"

#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/lint/finding.h"

namespace tutti::lint {

const Rule& rule(RuleId id) { return rules()[static_cast<std::size_t>(id)]; }

const Rule* find_rule(std::string_view name) {
  for (const Rule& each : rules()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::string page(const Rule& rule) {
  return text("# ", rule.name, "\n\n", rule.title, ". Category: ", rule.category, ".\n\n**Why it waits.** ", rule.why,
              "\n\n**Instead.** ", rule.instead, "\n\n**When that is safe.** ", rule.safe, "\n\nBefore:\n\n```python\n",
              rule.before, "```\n\nAfter:\n\n```python\n", rule.after, "```\n\n",
              rule.has_fix ? "`tutti lint --fix` rewrites it where the result is surely the same.\n\n" : "",
              "Where the wait is meant: `# tutti: allow sync (reason)` on the line.\n");
}

std::string explanation(const Rule& rule) {
  const auto code = [](std::string_view lines) {
    std::string out = "  ";
    for (const char c : lines.substr(0, lines.size() - 1)) out += c == '\n' ? std::string("\n  ") : std::string(1, c);
    return out + "\n";
  };
  return text(rule.name, " (", rule.category, rule.has_fix ? ", --fix" : "", ")\n", paragraph(rule.title, 2), "\nWhy it waits\n",
              paragraph(rule.why, 2), "\nInstead\n", paragraph(rule.instead, 2), "\nWhen that is safe\n", paragraph(rule.safe, 2),
              "\nBefore\n", code(rule.before), "\nAfter\n", code(rule.after));
}

std::string_view to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::possible: return "possible";
    case Confidence::likely: return "likely";
    case Confidence::certain: return "certain";
  }
  return "";
}

std::string_view to_string(Weight weight) {
  switch (weight) {
    case Weight::once: return "once";
    case Weight::sometimes: return "now and then in a loop";
    case Weight::loop: return "in a loop";
    case Weight::step: return "in a step";
  }
  return "";
}

}  // namespace tutti::lint
