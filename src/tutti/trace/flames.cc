#include "tutti/trace/flames.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tutti/base/text.h"

namespace tutti::tracing {

namespace {

class Tree {
 public:
  explicit Tree(const TraceReport& report) : report_(report) {
    flames_.tree.push_back({.frame = number_of({FlameKind::all, "all waits", "", ""})});
  }

  void add(const HostWait& wait) {
    const auto [known, is_new] = leaves_.try_emplace({wait.process, wait.stack, wait.site}, 0);
    if (is_new) known->second = leaf_of(wait);
    Flame& leaf = flames_.tree[known->second];
    ++(wait.is_warm_up ? leaf.warm_up_waits : leaf.waits);
    (wait.is_warm_up ? leaf.warm_up_time : leaf.time) += wait.time();
    leaf.idle += wait.idle;
  }

  Flames finish() {
    for (std::size_t i = flames_.tree.size() - 1; i > 0; --i) {
      const Flame& flame = flames_.tree[i];
      Flame& parent = flames_.tree[flame.parent];
      parent.waits += flame.waits;
      parent.time += flame.time;
      parent.warm_up_waits += flame.warm_up_waits;
      parent.warm_up_time += flame.warm_up_time;
      parent.idle += flame.idle;
    }
    return std::move(flames_);
  }

 private:
  std::size_t number_of(FlameFrame frame) {
    const auto [known, is_new] = numbers_.try_emplace({frame.kind, frame.function, frame.where}, flames_.frames.size());
    if (is_new) flames_.frames.push_back(std::move(frame));
    return known->second;
  }

  std::size_t inside(std::size_t parent, FlameFrame frame) {
    const std::size_t number = number_of(std::move(frame));
    const auto [known, is_new] = children_.try_emplace({parent, number}, flames_.tree.size());
    if (is_new) flames_.tree.push_back({.frame = number, .parent = parent});
    return known->second;
  }

  std::size_t leaf_of(const HostWait& wait) {
    std::size_t at = 0;
    bool is_elsewhere = false;
    const auto& stacks = report_.stacks[wait.process];
    if (const auto found = stacks.find(wait.stack); found != stacks.end()) {
      const std::vector<StackLine>& lines = found->second.lines;
      is_elsewhere = found->second.is_of_main_thread;
      const bool has_python = std::any_of(lines.begin(), lines.end(), [](const StackLine& line) { return line.is_python; });
      for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
        if (line->is_python == has_python)
          at = inside(at, {line->is_own ? FlameKind::own : FlameKind::library, line->function, line->where, line->source});
      }
    }
    const WaitSite& site = report_.sites[wait.site];
    at = inside(
        at, {is_driver_own(wait.kind) ? FlameKind::flow : FlameKind::demand,
             text(to_string(site.kind, site.direction), ", ", site.key.api, is_elsewhere ? ", on another thread" : ""), "", ""});
    flames_.tree[at].site = static_cast<std::int64_t>(wait.site);
    return at;
  }

  const TraceReport& report_;
  Flames flames_;
  std::map<std::tuple<FlameKind, std::string, std::string>, std::size_t> numbers_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> children_;                // parent and frame
  std::map<std::tuple<std::size_t, std::uint32_t, std::size_t>, std::size_t> leaves_;  // process, stack and site
};

// Keeps those that hold most by any measure. A parent holds no less than what is inside of it, so it stays as well.
void keep_most(Flames& flames, std::size_t most) {
  std::vector<Flame>& tree = flames.tree;
  if (tree.size() <= most) return;
  const Flame all = tree.front();
  const auto weight = [&](std::size_t i) {
    const auto part = [](std::uint64_t value, std::uint64_t of) {
      return of == 0 ? 0.0 : static_cast<double>(value) / static_cast<double>(of);
    };
    return std::max({part(tree[i].time, all.time), part(tree[i].warm_up_time, all.warm_up_time), part(tree[i].idle, all.idle)});
  };
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < tree.size(); ++i) order.emplace_back(-weight(i), i);
  std::sort(order.begin(), order.end());
  flames.left_out = order.size() - most;
  order.resize(most);
  std::vector<std::size_t> kept;
  for (const auto& each : order) kept.push_back(each.second);
  std::sort(kept.begin(), kept.end());
  std::map<std::size_t, std::size_t> place;
  std::vector<Flame> out;
  for (const std::size_t i : kept) {
    place[i] = out.size();
    out.push_back(tree[i]);
    out.back().parent = place[tree[i].parent];
  }
  tree = std::move(out);
}

}  // namespace

Flames flames_of(const TraceReport& report, std::size_t most) {
  Tree tree(report);
  for (const HostWait& wait : report.waits.waits) tree.add(wait);
  Flames out = tree.finish();
  keep_most(out, most);
  return out;
}

}  // namespace tutti::tracing
