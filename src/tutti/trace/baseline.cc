#include "tutti/trace/baseline.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/trace/trace_compare.h"

namespace tutti::tracing {

Baseline read_baseline(std::string_view json, const std::string& path) {
  Baseline out;
  const auto refuse = [&](const std::string& found) {
    throw InvalidArgument(text("'", printable(path), "' is no baseline: ", found, "; the report.json of a trace was expected"),
                          Site{});
  };
  if (json.empty()) refuse("it is empty");
  try {
    const nlohmann::json report = nlohmann::json::parse(json);
    const nlohmann::json& all_steps = report.at("steps");
    const double steps = all_steps.is_null() ? 1 : std::max(all_steps.at("count").get<double>() + 1, 1.0);
    for (const nlohmann::json& site : report.at("sites")) {
      const auto word = [&](const char* field) {
        return site.at(field).is_null() ? std::string() : site.at(field).get<std::string>();
      };
      const std::string code = word("expression").empty() ? word("source") : word("expression");
      const double waits = site.contains("per_step") ? site.at("per_step").get<double>() : site.at("waits").get<double>() / steps;
      out.waits[name_across_changes(word("file"), word("function"), code, word("wait"))] += waits;
      out.has_totals = out.has_totals || (all_steps.is_null() && waits > 0);
    }
  } catch (const nlohmann::json::parse_error& error) {
    refuse(text("it is not JSON (from byte ", error.byte, " on)"));
  } catch (const nlohmann::json::exception&) {
    refuse("it is JSON, but it has not the fields of one");
  }
  return out;
}

std::vector<std::string> waits_beyond(const Baseline& allowed, const TraceReport& found) {
  std::map<std::string, double> seen;
  std::map<std::string, std::string> places;
  for (const WaitSite& site : found.sites) {
    const std::string name = name_across_changes(site);
    seen[name] += waits_per_step(found, site);
    places[name] = site.key.place.name();
  }
  std::vector<std::string> out;
  for (const auto& [name, count] : seen) {
    const auto known = allowed.waits.find(name);
    const double expected = known == allowed.waits.end() ? 0 : known->second;
    if (count > expected + half_a_tenth) {
      out.push_back(text(printable(places[name], 400), ": ", in_tenths(count), found.steps ? " waits a step" : " waits",
                         ", in the baseline ", in_tenths(expected)));
    }
  }
  return out;
}

double in_tenths(double waits) { return std::round(waits * 10) / 10; }

}  // namespace tutti::tracing
