#include "tutti/memory/memory_report.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "tutti/base/human_time.h"
#include "tutti/base/text.h"
#include "tutti/hal/device.h"
#include "tutti/hal/door.h"
#include "tutti/memory/size_class.h"

namespace tutti {

namespace {

constexpr std::size_t width = 80;
constexpr std::size_t most_owners = 5;

std::string padded_left(std::string part, std::size_t columns) {
  if (part.size() < columns) part.insert(0, columns - part.size(), ' ');
  return part;
}

std::string row(std::string_view name, std::uint64_t bytes) {
  std::string out = text("  ", name);
  out.resize(18, ' ');
  return text(out, padded_left(human_bytes(bytes), 12), '\n');
}

// The end of a path says more than its beginning.
std::string place(Site site, std::size_t columns) {
  std::string out = site.to_string();
  if (out.size() > columns) out = text("...", out.substr(out.size() - (columns - 3)));
  return out;
}

// Breaks at spaces; every line but the first begins with `indent`.
std::string wrapped(std::string_view first, std::string_view words, std::string_view indent) {
  std::string out;
  std::string line(first);
  while (!words.empty()) {
    const std::size_t length = std::min(words.find(' '), words.size());
    std::string_view word = words.substr(0, std::min(length, width - indent.size()));
    const bool begins = line.size() <= indent.size();
    if (!begins && line.size() + 1 + word.size() > width) {
      out += text(line, '\n');
      line = indent;
    } else if (!begins) {
      line += ' ';
    }
    line += word;
    words.remove_prefix(std::min(words.size(), word.size() + (word.size() == length ? 1 : 0)));
  }
  return text(out, line, '\n');
}

std::string owner_rows(const std::vector<MemoryOwner>& owners, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < std::min(most, owners.size()); ++i) {
    const std::string line = text("  ", padded_left(human_bytes(owners[i].bytes), 12), padded_left(text(owners[i].buffers), 8),
                                  owners[i].buffers == 1 ? " buffer   " : " buffers  ");
    out += text(line, place(owners[i].site, width - line.size()), '\n');
  }
  if (owners.size() > most) out += text("  and ", owners.size() - most, " more call sites\n");
  return out;
}

std::string what_would_help(const OutOfMemoryFacts& facts) {
  const MemoryInfo& info = facts.info;
  const std::uint64_t need = size_class::bytes_for(facts.request);
  if (facts.request <= info.limit && need > info.limit) {
    return text("the request takes a block of ", human_bytes(need),
                ", which is larger than the limit: raise the limit (set_memory_limit)");
  }
  if (need > info.limit) {
    return "the request alone is larger than the limit: raise the limit (set_memory_limit) or work in smaller pieces";
  }
  if (!facts.stalled.empty()) return "find out why that work does not get done: it holds memory that was let go";
  if (!facts.refusal.empty()) {
    return "the device itself is full: end other programs on it, trim the memory of other logical devices (trim_memory), or "
           "let go of tensors";
  }
  if (need <= info.limit - std::min(info.limit, info.in_use)) {
    return "there is enough free memory, but not in one piece: let go of tensors that lie between, or raise the limit "
           "(set_memory_limit)";
  }
  return text("let go of at least ", human_bytes(need - (info.limit - std::min(info.limit, info.in_use))),
              " held by the call sites above, or raise the limit (set_memory_limit)");
}

}  // namespace

std::string out_of_memory_text(const OutOfMemoryFacts& facts) {
  std::string out = wrapped("out of memory on", facts.device, "  ");
  out += row("request", facts.request);
  out += row("limit", facts.info.limit);
  out += row("in use", facts.info.in_use);
  out += row("reserved", facts.info.reserved);
  out += row("largest hole", facts.info.largest_free_block);
  if (!facts.refusal.empty()) out += wrapped("  device said:", printable(facts.refusal), "    ");
  if (!facts.owners.empty()) out += text("  held by\n", owner_rows(facts.owners, most_owners));
  if (!facts.stalled.empty()) {
    out += text("  waited in vain: nothing was finished for ", human_time(stall_timeout().count()),
                " (TUTTI_STALL_TIMEOUT). Pending:", facts.stalled, '\n');
  }
  out += wrapped("  what would help:", what_would_help(facts), "    ");
  return out + "  the request was made";
}

std::string leak_report(const DeviceMemory& memory) {
  const std::vector<MemoryOwner> owners = memory.owners();
  if (owners.empty()) return {};
  std::uint64_t bytes = 0;
  std::uint64_t buffers = 0;
  for (const MemoryOwner& owner : owners) {
    bytes += owner.bytes;
    buffers += owner.buffers;
  }
  const std::string first = text(human_bytes(bytes), " in ", buffers, buffers == 1 ? " buffer" : " buffers", " still owned on");
  return wrapped(first, memory.device().name(), "  ") + owner_rows(owners, owners.size());
}

}  // namespace tutti
