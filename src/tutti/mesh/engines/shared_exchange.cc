#include "tutti/mesh/engines/shared_exchange.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/engines/fold.h"
#include "tutti/mesh/engines/patience.h"

namespace tutti {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t text_words = 24;
constexpr std::size_t longest_text = text_words * sizeof(std::uint64_t);
// Up to so much, over all members, everyone combines everything for himself: that saves a step.
constexpr std::size_t most_at_once = std::size_t{32} << 10U;
constexpr std::size_t most_parts = 256;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) noexcept { return (bytes + unit - 1) / unit * unit; }

// What a member may show at a time: its slab, and its part of a chunk that is being reduced.
std::size_t area(int size, std::size_t slab) noexcept {
  return rounded_up(slab + slab / static_cast<std::size_t>(size) + sizeof(double), page);
}

}  // namespace

// What is known of one member, for messages.
struct alignas(64) SharedExchange::Line {
  std::atomic<std::uint64_t> step;  // how many it has come to
  std::atomic<std::uint64_t> length;
  std::array<std::atomic<std::uint64_t>, text_words> text;  // why it gave up
};

struct SharedExchange::Shared {
  // Arrivals so far, doubled; odd once someone gave up. Only grows, so it never has to be put back by somebody who may be dead.
  alignas(64) std::atomic<std::uint64_t> word;
  std::atomic<std::uint32_t> sleepers;
  std::atomic<std::uint32_t> given_up_by;  // plus one
};

SharedExchange::Line& SharedExchange::line(int member) const noexcept {
  auto* const lines = reinterpret_cast<Line*>(reinterpret_cast<std::byte*>(shared_) + sizeof(Shared));
  return lines[member];
}

std::byte* SharedExchange::slab(int member, std::uint64_t step) const noexcept {
  const auto members = static_cast<std::size_t>(size_);
  const std::size_t head = rounded_up(sizeof(Shared) + members * sizeof(Line), page);
  return reinterpret_cast<std::byte*>(shared_) + head + (static_cast<std::size_t>(member) * 2 + step % 2) * area(size_, slab_);
}

std::size_t SharedExchange::bytes_for(int size, const SharedExchangeOptions& options) noexcept {
  const auto members = static_cast<std::size_t>(size);
  return rounded_up(sizeof(Shared) + members * sizeof(Line), page) + members * 2 * area(size, options.slab);
}

std::unique_ptr<SharedExchange> SharedExchange::open(Rendezvous& rendezvous, const std::string& key, int size, int index,
                                                     Deadline deadline, const SharedExchangeOptions& options) {
  const bool fits = size >= 1 && static_cast<std::size_t>(size) <= most_parts && index >= 0 && index < size;
  // Room for one element of each member, of any dtype.
  if (!fits || options.slab < static_cast<std::size_t>(size) * sizeof(double) || options.slab % sizeof(double) != 0) {
    throw InvalidArgument(
        text("An exchange of member ", index, " of ", size, " with slabs of ", options.slab, " bytes cannot be: at most ",
             most_parts, " members, and slabs with a multiple of 8 bytes for each."),
        Site());
  }
  return std::make_unique<SharedExchange>(SharedSegment::meet(rendezvous, key, bytes_for(size, options), index == 0, deadline),
                                          size, index, options);
}

SharedExchange::SharedExchange(SharedSegment segment, int size, int index, const SharedExchangeOptions& options)
    : segment_(std::move(segment)),
      shared_(static_cast<Shared*>(segment_.data())),
      size_(size),
      index_(index),
      slab_(options.slab) {}

std::string SharedExchange::describe(const Asked& asked) const {
  return text(asked.name, " of ", human_bytes(asked.bytes), " between ", size_, " processes of this host");
}

void SharedExchange::give_up(std::string_view why) noexcept {
  if (has_given_up_.exchange(true)) return;
  Line& mine = line(index_);
  const std::size_t length = std::min(why.size(), longest_text);
  for (std::size_t at = 0; at < length; at += sizeof(std::uint64_t)) {
    std::uint64_t part = 0;
    std::memcpy(&part, why.data() + at, std::min(sizeof part, length - at));
    mine.text[at / sizeof part].store(part, std::memory_order_relaxed);
  }
  mine.length.store(length, std::memory_order_relaxed);
  std::uint32_t nobody = 0;
  shared_->given_up_by.compare_exchange_strong(nobody, static_cast<std::uint32_t>(index_) + 1);
  shared_->word.fetch_or(1);
  wake_all(&shared_->word, shared_->sleepers);
}

void SharedExchange::fail(const char* why) noexcept { give_up(why); }

void SharedExchange::throw_failed(const Asked& asked) const {
  const auto who = static_cast<int>(shared_->given_up_by.load()) - 1;
  const Line& said = line(who);
  std::string why(std::min<std::size_t>(said.length.load(std::memory_order_relaxed), longest_text), '\0');
  for (std::size_t at = 0; at < why.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t part = said.text[at / sizeof part].load(std::memory_order_relaxed);
    std::memcpy(why.data() + at, &part, std::min(sizeof part, why.size() - at));
  }
  throw ExchangeFailed(text(describe(asked), " failed; member ", who, who == index_ ? " (this one)" : "",
                            " gave up: ", printable(why, longest_text)),
                       Site());
}

void SharedExchange::throw_late(const Asked& asked) {
  std::string missing;
  for (int member = 0; member < size_; ++member) {
    if (line(member).step.load(std::memory_order_relaxed) >= step_) continue;
    missing += text(missing.empty() ? "" : ", ", member);
  }
  if (missing.empty()) missing = "none, as of now";
  give_up(text("the deadline of its ", asked.name, " passed; members not there: ", missing));
  throw DeadlineExceeded(text(describe(asked), " was given up at its deadline; members not there: ", missing, "."), Site());
}

void SharedExchange::check(const Asked& asked) const {
  if ((shared_->word.load(std::memory_order_relaxed) & 1U) != 0) throw_failed(asked);
}

void SharedExchange::step(const Asked& asked) {
  ++step_;
  const std::uint64_t target = step_ * static_cast<std::uint64_t>(size_);
  line(index_).step.store(step_, std::memory_order_relaxed);
  std::uint64_t seen = shared_->word.fetch_add(2) + 2;
  if (seen >> 1U == target) {
    wake_all(&shared_->word, shared_->sleepers);
    return;
  }
  Patience patience(&shared_->word, shared_->sleepers, asked.deadline);
  while (seen >> 1U < target) {
    if ((seen & 1U) != 0) throw_failed(asked);
    if (!patience.once_more(static_cast<std::uint32_t>(seen))) throw_late(asked);
    seen = shared_->word.load(std::memory_order_acquire);
  }
}

template <class Write, class Read>
void SharedExchange::pass(const Asked& asked, std::size_t total, std::size_t most, Write&& write, Read&& read) {
  check(asked);
  Chunk before;
  for (std::size_t from = 0; from < total || before.length != 0;) {
    const Chunk now{from, std::min(most, total - from)};
    if (now.length != 0) write(slab(index_, step_), now);
    if (before.length != 0) read(before);
    if (now.length != 0) step(asked);
    before = now;
    from += now.length;
  }
}

void SharedExchange::broadcast(const void* in, void* out, std::size_t bytes, int root, Deadline deadline) {
  if (root < 0 || root >= size_) throw InvalidArgument(text("broadcast from member ", root, " of ", size_, "."), Site());
  const auto* const from = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(out);
  pass(
      {"broadcast", bytes, deadline}, bytes, slab_,
      [&](std::byte* shown, Chunk chunk) {
        if (index_ == root) copy_bytes(shown, from + chunk.from, chunk.length);
      },
      [&](Chunk chunk) {
        copy_bytes(to + chunk.from, index_ == root ? from + chunk.from : slab(root, step_ - 1), chunk.length);
      });
}

void SharedExchange::all_gather(const void* in, void* out, std::size_t bytes_each, Deadline deadline) {
  const auto* const from = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(out);
  pass(
      {"all_gather", bytes_each, deadline}, bytes_each, slab_,
      [&](std::byte* shown, Chunk chunk) { copy_bytes(shown, from + chunk.from, chunk.length); },
      [&](Chunk chunk) {
        for (int member = 0; member < size_; ++member) {
          copy_bytes(to + static_cast<std::size_t>(member) * bytes_each + chunk.from, slab(member, step_ - 1), chunk.length);
        }
      });
}

void SharedExchange::all_to_all(const void* in, void* out, std::size_t bytes_each, Deadline deadline) {
  const std::size_t room = slab_ / static_cast<std::size_t>(size_);
  const auto* const from = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(out);
  pass(
      {"all_to_all", bytes_each, deadline}, bytes_each, room,
      [&](std::byte* shown, Chunk chunk) {
        for (int member = 0; member < size_; ++member) {
          const auto place = static_cast<std::size_t>(member);
          copy_bytes(shown + place * room, from + place * bytes_each + chunk.from, chunk.length);
        }
      },
      [&](Chunk chunk) {
        for (int member = 0; member < size_; ++member) {
          copy_bytes(to + static_cast<std::size_t>(member) * bytes_each + chunk.from,
                     slab(member, step_ - 1) + static_cast<std::size_t>(index_) * room, chunk.length);
        }
      });
}

void SharedExchange::reduce_scatter(const void* in, void* out, std::size_t count_each, DType dtype, Reduction reduction,
                                    Deadline deadline) {
  check_reduction(dtype, reduction);
  const std::size_t size = size_of(dtype);
  const std::size_t room = slab_ / static_cast<std::size_t>(size_) / size * size;
  const auto* const from = static_cast<const std::byte*>(in);
  const auto block_of = [&](int member, Chunk chunk) {
    return from + (static_cast<std::size_t>(member) * count_each + chunk.from) * size;
  };
  std::array<const void*, most_parts> parts;
  pass(
      {"reduce_scatter", count_each * size, deadline}, count_each, room / size,
      [&](std::byte* shown, Chunk chunk) {
        for (int member = 0; member < size_; ++member) {
          if (member != index_)
            copy_bytes(shown + static_cast<std::size_t>(member) * room, block_of(member, chunk), chunk.length * size);
        }
      },
      [&](Chunk chunk) {
        for (int member = 0; member < size_; ++member) {
          parts[static_cast<std::size_t>(member)] = slab(member, step_ - 1) + static_cast<std::size_t>(index_) * room;
        }
        parts[static_cast<std::size_t>(index_)] = block_of(index_, chunk);
        fold({parts.data(), static_cast<std::size_t>(size_)}, static_cast<std::byte*>(out) + chunk.from * size, chunk.length,
             dtype, reduction);
      });
}

void SharedExchange::all_reduce(const void* in, void* out, std::size_t count, DType dtype, Reduction reduction,
                                Deadline deadline) {
  check_reduction(dtype, reduction);
  const std::size_t bytes = count * size_of(dtype);
  const Asked asked{"all_reduce", bytes, deadline};
  check(asked);
  if (count == 0) return;
  if (bytes * static_cast<std::size_t>(size_) <= most_at_once && bytes <= slab_) {
    all_reduce_at_once(asked, in, out, count, dtype, reduction);
  } else {
    all_reduce_shared_out(asked, in, out, count, dtype, reduction);
  }
}

void SharedExchange::all_reduce_at_once(const Asked& asked, const void* in, void* out, std::size_t count, DType dtype,
                                        Reduction reduction) {
  copy_bytes(slab(index_, step_), in, asked.bytes);
  step(asked);
  std::array<const void*, most_parts> parts;
  for (int member = 0; member < size_; ++member) parts[static_cast<std::size_t>(member)] = slab(member, step_ - 1);
  fold({parts.data(), static_cast<std::size_t>(size_)}, out, count, dtype, reduction);
}

// Each member combines its share of a chunk and shows the others what came out. In one interval: chunk n is shown, n - 1
// combined, n - 2 taken over.
void SharedExchange::all_reduce_shared_out(const Asked& asked, const void* in, void* out, std::size_t count, DType dtype,
                                           Reduction reduction) {
  const std::size_t size = size_of(dtype);
  const auto members = static_cast<std::size_t>(size_);
  const auto self = static_cast<std::size_t>(index_);
  const std::size_t most = slab_ / size;
  const std::size_t chunks = (count + most - 1) / most;
  const auto* const from = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(out);
  const auto length_of = [&](std::size_t chunk) { return std::min(most, count - chunk * most); };
  const auto share = [&](std::size_t chunk, std::size_t member) { return length_of(chunk) * member / members; };
  std::array<const void*, most_parts> parts;
  for (std::size_t now = 0; now < chunks + 2; ++now) {
    if (now < chunks) {
      std::byte* const shown = slab(index_, step_);
      const std::byte* const mine = from + now * most * size;
      const std::size_t begin = share(now, self) * size;
      const std::size_t end = share(now, self + 1) * size;
      copy_bytes(shown, mine, begin);
      copy_bytes(shown + end, mine + end, length_of(now) * size - end);
    }
    if (now >= 1 && now <= chunks) {
      const std::size_t chunk = now - 1;
      const std::size_t begin = share(chunk, self);
      const std::size_t length = share(chunk, self + 1) - begin;
      for (std::size_t member = 0; member < members; ++member) {
        parts[member] = slab(static_cast<int>(member), step_ - 1) + begin * size;
      }
      const std::size_t place = (chunk * most + begin) * size;
      parts[self] = from + place;
      fold({parts.data(), members}, to + place, length, dtype, reduction);
      copy_bytes(slab(index_, step_) + slab_, to + place, length * size);
    }
    if (now >= 2) {
      const std::size_t chunk = now - 2;
      for (std::size_t member = 0; member < members; ++member) {
        if (member == self) continue;
        const std::size_t begin = share(chunk, member);
        copy_bytes(to + (chunk * most + begin) * size, slab(static_cast<int>(member), step_ - 1) + slab_,
                   (share(chunk, member + 1) - begin) * size);
      }
    }
    if (now <= chunks) step(asked);
  }
}

}  // namespace tutti
