#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/base/text.h"
#include "tutti/graph/explain.h"
#include "tutti/graph/graph_cache.h"

namespace tutti::graph {

namespace {

// The colours of the sync report's page (diag/page/style.css).
constexpr std::string_view head = R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Captured function</title>
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; --ground: #ffffff; --panel: #f5f6f8; --line: #d9dce1; --ink: #1b1e24; --faint: #5d6470;
  --run: #3b82c4; --fused: #2f8f6b; --value: #b9a8dc; --naive: #d5dae2; --on-bar: #ffffff; --on-pale: #1b1e24; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171c; --panel: #1d2128; --line: #363c47; --ink: #e8eaee;
  --faint: #a0a8b5; --run: #4b8fd0; --fused: #4db08b; --value: #6f5d9c; --naive: #3d4552; --on-bar: #0c0e11; --on-pale: #f2f3f5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 14px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
header { padding: 10px 20px; border-bottom: 1px solid var(--line); }
h1 { font-size: 18px; margin: 0; } h1 span { color: var(--faint); font-weight: normal; }
h2 { font-size: 15px; margin: 0 0 4px; } h3 { font-size: 14px; margin: 14px 0 4px; }
main { padding: 14px 20px 40px; } section { margin-bottom: 28px; } p { margin: 2px 0; color: var(--faint); }
.picture { overflow-x: auto; border: 1px solid var(--line); background: var(--panel); }
svg { display: block; } svg text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: var(--ink); }
.run { fill: var(--run); } .fused { fill: var(--fused); } .value { fill: var(--value); } .naive { fill: var(--naive); }
.on-bar { fill: var(--on-bar); } .on-pale { fill: var(--on-pale); } .faint { fill: var(--faint); }
.box { stroke: var(--panel); stroke-width: 1; }
.pass { fill: none; stroke: var(--fused); stroke-width: 1.5; } .edge { stroke: var(--faint); fill: none; }
table { border-collapse: collapse; } th { text-align: left; color: var(--faint); font-weight: normal; }
th, td { padding: 2px 14px 2px 0; border-bottom: 1px solid var(--line); }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 13px; } pre { margin: 4px 0; }
</style>
</head>
<body>
)html";

constexpr std::size_t names = 150;  // pixels, beside the lanes
constexpr std::size_t lane = 40;
constexpr std::size_t box = 30;  // the height of a launch in its lane
constexpr std::size_t memory_height = 160;

std::string escaped(std::string_view plain) {
  std::string out;
  for (const char c : plain) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// One graph. Launches stand side by side in the order in which they were recorded, above the values they make and use.
class Pictures {
 public:
  explicit Pictures(const Graph& graph)
      : graph_(graph),
        record_(graph.record()),
        plan_(graph.plan()),
        column_(std::clamp<std::size_t>(1000 / std::max<std::size_t>(1, graph.record().launches.size()), 4, 90)),
        width_(names + column_ * std::max<std::size_t>(1, graph.record().launches.size()) + 20) {}

  [[nodiscard]] std::string launches() const {
    std::vector<const DeviceStream*> streams;
    std::string labels;
    for (const Segment& segment : plan_.segments) {
      if (std::find(streams.begin(), streams.end(), segment.stream) != streams.end()) continue;
      const std::string& device = segment.on->name();
      label(labels, 8, 28 + lane * streams.size(),
            text("stream ", index_of(segment.stream->id()), ", ", device.substr(device.rfind("device:") + 7)), "ink");
      streams.push_back(segment.stream);
    }
    const auto top_of = [&](const Segment& segment) {
      return 8 + lane * static_cast<std::size_t>(std::find(streams.begin(), streams.end(), segment.stream) - streams.begin());
    };
    std::string out = begin(lane * std::max<std::size_t>(1, streams.size()) + 16, "Kernels by stream") + labels;
    for (const Segment& segment : plan_.segments) {
      const std::size_t top = top_of(segment);
      // Between the lanes, so that it crosses no kernel.
      for (const std::size_t other : segment.after) {
        const std::size_t from = top_of(plan_.segments[other]);
        const bool is_below = from < top;
        out += text("<path class=\"edge\" d=\"M", x_of(plan_.segments[other].launches.back() + 1) - 1, " ",
                    is_below ? from + box : from, is_below ? " v5 H" : " v-5 H", x_of(segment.launches.front()) + 1, " V",
                    is_below ? top : top + box, "\"/>");
      }
      for (const std::size_t number : segment.launches) draw_launch(out, number, top);
    }
    return out + "</svg></div>\n";
  }

  [[nodiscard]] std::string memory() const {
    const std::size_t planned = planned_bytes(plan_);
    std::string out = text("<p>", human_bytes(planned), " planned, where each value in memory of its own would take ",
                           human_bytes(plan_.value_bytes), ". Results and arguments are not part of it.</p>\n");
    if (plan_.value_bytes == 0) return out;
    const std::size_t wide = 600;
    out += begin(56, "Planned bytes beside those of each value in memory of its own");
    out += text("<rect class=\"naive\" x=\"", names, "\" y=\"32\" width=\"", wide, "\" height=\"16\"/><rect class=\"value\" x=\"",
                names, "\" y=\"8\" width=\"", planned * wide / plan_.value_bytes, "\" height=\"16\"/>");
    label(out, 8, 20, "planned", "ink");
    label(out, 8, 44, "each by itself", "ink");
    out += "</svg></div>\n";
    for (std::size_t i = 0; i < plan_.arenas.size(); ++i) out += arena(i);
    return out;
  }

  [[nodiscard]] std::string table() const {
    std::string out = "<table><tr><th>#<th>kernel<th>result<th>submission<th>line</tr>\n";
    for (std::size_t i = 0; i < plan_.segments.size(); ++i) {
      for (const std::size_t number : plan_.segments[i].launches) {
        const RecordedLaunch& launch = record_.launches[number];
        const bool is_later = is_fused(graph_, number) && plan_.group_of[number] != number;
        out += text("<tr><td>", number + 1, "<td>", is_later ? "+ " : "", escaped(launch.op->name), "<td><code>",
                    escaped(result_of(launch)), "</code><td>", i + 1, "<td><code>", escaped(launch.site.to_string()),
                    "</code></tr>\n");
        if (const std::string body = body_at(graph_, number); !body.empty())
          out +=
              text("<tr><td><td colspan=\"4\"><details><summary>source</summary><pre>", escaped(body), "</pre></details></tr>\n");
      }
    }
    return out + "</table>\n";
  }

 private:
  [[nodiscard]] std::size_t x_of(std::size_t launch) const { return names + launch * column_; }
  [[nodiscard]] std::string begin(std::size_t height, std::string_view what) const {
    return text("<div class=\"picture\"><svg role=\"img\" aria-label=\"", what, "\" width=\"", std::max<std::size_t>(width_, 780),
                "\" height=\"", height, "\">");
  }
  static void label(std::string& out, std::size_t x, std::size_t y, std::string_view what, std::string_view style) {
    out += text("<text class=\"", style, "\" x=\"", x, "\" y=\"", y, "\">", escaped(what), "</text>");
  }
  // As much of it as there is room for.
  static std::string cut(std::string_view what, std::size_t pixels) {
    const std::size_t fits = pixels / 7;
    return what.size() <= fits ? std::string(what) : fits < 3 ? "" : std::string(what.substr(0, fits));
  }

  void draw_launch(std::string& out, std::size_t number, std::size_t top) const {
    const RecordedLaunch& launch = record_.launches[number];
    const bool is_part = is_fused(graph_, number);
    out += text("<g><title>", number + 1, ": ", escaped(launch.op->name), " ", escaped(result_of(launch)), " at ",
                escaped(launch.site.to_string()), "</title><rect class=\"box ", is_part ? "fused" : "run", "\" x=\"",
                x_of(number), "\" y=\"", top, "\" width=\"", column_, "\" height=\"", box, "\"/>");
    label(out, x_of(number) + 4, top + 19, cut(launch.op->name, column_ - 4), "on-bar");
    out += "</g>";
    if (!is_part || plan_.group_of[number] != number) return;
    const auto members = static_cast<std::size_t>(std::count(plan_.group_of.begin(), plan_.group_of.end(), number));
    out += text("<rect class=\"pass\" x=\"", x_of(number) - 1, "\" y=\"", top - 3, "\" width=\"", members * column_ + 2,
                "\" height=\"", box + 6, "\" rx=\"4\"/>");
  }

  // Each value from the launch that makes it to the last that uses it, where it lies.
  [[nodiscard]] std::string arena(std::size_t number) const {
    const Arena& arena = plan_.arenas[number];
    std::string out = begin(memory_height + 16, "Where values lie, from the first to the last kernel that uses them");
    label(out, 8, 24, text("stream ", index_of(arena.stream->id())), "ink");
    label(out, 8, 42, human_bytes(arena.bytes), "faint");
    for (std::size_t slot = 0; slot < record_.slots.size(); ++slot) {
      if (plan_.arena_of[slot] != number) continue;
      std::size_t first = nowhere;
      std::size_t last = 0;
      for (std::size_t i = 0; i < record_.launches.size(); ++i) {
        if (!record_.launches[i].uses_slot(slot, false) && !record_.launches[i].uses_slot(slot, true)) continue;
        first = std::min(first, i);
        last = i;
      }
      const std::size_t bytes = record_.slots[slot].bytes;
      const std::size_t high = std::max<std::size_t>(1, bytes * memory_height / arena.bytes);
      const std::size_t top = 8 + plan_.offset_of[slot] * memory_height / arena.bytes;
      const std::size_t wide = (last - first + 1) * column_;
      out += text("<g><title>", human_bytes(bytes), ", kernels ", first + 1, " to ", last + 1,
                  "</title><rect class=\"box value\" x=\"", x_of(first), "\" y=\"", top, "\" width=\"", wide, "\" height=\"",
                  high, "\"/>");
      if (high >= 14) label(out, x_of(first) + 4, top + high / 2 + 4, cut(human_bytes(bytes), wide - 4), "on-pale");
      out += "</g>";
    }
    return out + "</svg></div>\n";
  }

  const Graph& graph_;
  const Record& record_;
  const Plan& plan_;
  const std::size_t column_;  // pixels for each launch
  const std::size_t width_;
};

}  // namespace

std::string explain_html(const GraphCache& graphs) {
  const auto entries = graphs.entries();
  std::string out = text(head, "<header><h1>Captured function <span>at ", escaped(graphs.site().to_string()), ", ",
                         entries.size(), entries.size() == 1 ? " graph" : " graphs", "</span></h1></header>\n<main>\n");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Pictures pictures(*entries[i]->graph);
    out += text("<section><h2>Graph ", i + 1, "</h2><p>", summary_of(*entries[i]->graph),
                ". Kernels in a frame are one pass over memory, or one kernel.</p>\n<h3>Kernels</h3>\n", pictures.launches(),
                "<h3>Memory</h3>\n", pictures.memory(), "<h3>In their order</h3>\n", pictures.table(), "</section>\n");
  }
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace tutti::graph
