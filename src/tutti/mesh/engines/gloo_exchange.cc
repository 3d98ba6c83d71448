#include "tutti/mesh/engines/gloo_exchange.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/engines/fold.h"
#include "tutti/mesh/engines/gloo_channel.h"

namespace tutti {

namespace {

// Up to so much to each member, everyone combines everything for himself: that saves a round.
constexpr std::size_t direct_bytes = std::size_t{4} << 10U;

// Everyone sends to everyone: each member combines its share of a chunk and sends what came out to all. gloo's own algorithms
// move as many bytes in more rounds, round halves at each step and combine in another order.
class GlooExchange final : public Exchange {
 public:
  GlooExchange(Rendezvous& rendezvous, const std::string& key, int size, int index, Deadline deadline,
               const GlooExchangeOptions& options)
      : channel_(rendezvous, key, size, index, options.address, room_for(size, options.chunk), deadline, options.stop),
        members_(static_cast<std::size_t>(size)),
        self_(static_cast<std::size_t>(index)),
        sends_(members_),
        receives_(members_),
        parts_(members_) {}

  [[nodiscard]] int size() const noexcept override { return channel_.size(); }
  [[nodiscard]] int index() const noexcept override { return channel_.index(); }
  void fail(const char* why) noexcept override { channel_.fail(why); }

  void all_reduce(const void* in, void* out, std::size_t count, DType dtype, Reduction reduction, Deadline deadline) override;
  void reduce_scatter(const void* in, void* out, std::size_t count_each, DType dtype, Reduction reduction,
                      Deadline deadline) override;
  void broadcast(const void* in, void* out, std::size_t bytes, int root, Deadline deadline) override;
  void all_gather(const void* in, void* out, std::size_t bytes_each, Deadline deadline) override;
  void all_to_all(const void* in, void* out, std::size_t bytes_each, Deadline deadline) override;

 private:
  // A multiple of every element's size.
  static std::size_t room_for(int size, std::size_t chunk) {
    return std::max(chunk / static_cast<std::size_t>(std::max(size, 1)) / 64 * 64, std::size_t{2} * direct_bytes);
  }
  [[nodiscard]] std::string describe(const char* name, std::size_t bytes) const {
    return text(name, " of ", human_bytes(bytes), " between ", members_, " processes");
  }
  // One message to each of the others and one from each: `what_of(member)` is sent, of so many bytes; so many come.
  template <class WhatOf, class SentTo, class FromEach>
  void round(const std::string& what, Deadline deadline, WhatOf&& what_of, SentTo&& sent_to, FromEach&& from_each) {
    for (std::size_t member = 0; member < members_; ++member) {
      const bool is_other = member != self_;
      sends_[member] = is_other ? sent_to(member) : 0;
      receives_[member] = is_other ? from_each(member) : 0;
      if (sends_[member] != 0) copy_bytes(channel_.outgoing(static_cast<int>(member)), what_of(member), sends_[member]);
    }
    channel_.round(what, sends_, receives_, deadline);
  }
  // A part to each member, so many bytes after the one before, and one from each.
  void spread(const char* name, const void* in, std::size_t stride, void* out, std::size_t bytes_each, Deadline deadline);
  [[nodiscard]] const std::byte* from(std::size_t member) const noexcept { return channel_.incoming(static_cast<int>(member)); }
  // Combines what came with this member's own part.
  void fold_in(const std::byte* own, std::byte* out, std::size_t count, DType dtype, Reduction reduction) {
    for (std::size_t member = 0; member < members_; ++member) parts_[member] = member == self_ ? own : from(member);
    fold(parts_, out, count, dtype, reduction);
  }

  GlooChannel channel_;
  std::size_t members_;
  std::size_t self_;
  std::vector<std::size_t> sends_;
  std::vector<std::size_t> receives_;
  std::vector<const void*> parts_;
};

void GlooExchange::spread(const char* name, const void* in, std::size_t stride, void* out, std::size_t bytes_each,
                          Deadline deadline) {
  const std::string what = describe(name, bytes_each);
  channel_.check(what);
  const auto* const source = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(out);
  for (std::size_t done = 0; done < bytes_each; done += channel_.room()) {
    const std::size_t length = std::min(channel_.room(), bytes_each - done);
    const auto part_for = [&](std::size_t member) { return source + member * stride + done; };
    const auto all = [&](std::size_t) { return length; };
    round(what, deadline, part_for, all, all);
    copy_bytes(to + self_ * bytes_each + done, part_for(self_), length);  // first: the others' may take its place
    for (std::size_t member = 0; member < members_; ++member) {
      if (member != self_) copy_bytes(to + member * bytes_each + done, from(member), length);
    }
  }
}

void GlooExchange::all_gather(const void* in, void* out, std::size_t bytes_each, Deadline deadline) {
  spread("all_gather", in, 0, out, bytes_each, deadline);
}

void GlooExchange::all_to_all(const void* in, void* out, std::size_t bytes_each, Deadline deadline) {
  spread("all_to_all", in, bytes_each, out, bytes_each, deadline);
}

void GlooExchange::broadcast(const void* in, void* out, std::size_t bytes, int root, Deadline deadline) {
  const std::string what = describe("broadcast", bytes);
  if (root < 0 || root >= size()) throw InvalidArgument(text(what, " from member ", root, "."), Site());
  channel_.check(what);
  const auto* const given = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(out);
  const auto source = static_cast<std::size_t>(root);
  for (std::size_t done = 0; done < bytes; done += channel_.room()) {
    const std::size_t length = std::min(channel_.room(), bytes - done);
    round(
        what, deadline, [&](std::size_t) { return given + done; },
        [&](std::size_t) { return self_ == source ? length : std::size_t{0}; },
        [&](std::size_t member) { return member == source ? length : std::size_t{0}; });
    copy_bytes(to + done, self_ == source ? given + done : from(source), length);
  }
}

void GlooExchange::reduce_scatter(const void* in, void* out, std::size_t count_each, DType dtype, Reduction reduction,
                                  Deadline deadline) {
  check_reduction(dtype, reduction);
  const std::size_t size = size_of(dtype);
  const std::string what = describe("reduce_scatter", count_each * size);
  channel_.check(what);
  const auto* const source = static_cast<const std::byte*>(in);
  const std::size_t most = channel_.room() / size;
  for (std::size_t done = 0; done < count_each; done += most) {
    const std::size_t length = std::min(most, count_each - done);
    const auto block_of = [&](std::size_t member) { return source + (member * count_each + done) * size; };
    const auto all = [&](std::size_t) { return length * size; };
    round(what, deadline, block_of, all, all);
    fold_in(block_of(self_), static_cast<std::byte*>(out) + done * size, length, dtype, reduction);
  }
}

void GlooExchange::all_reduce(const void* in, void* out, std::size_t count, DType dtype, Reduction reduction, Deadline deadline) {
  check_reduction(dtype, reduction);
  const std::size_t size = size_of(dtype);
  const std::string what = describe("all_reduce", count * size);
  channel_.check(what);
  const auto* const source = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(out);
  if (members_ == 1 || count * size <= direct_bytes) {
    const auto all = [&](std::size_t) { return count * size; };
    if (count != 0)
      round(
          what, deadline, [&](std::size_t) { return source; }, all, all);
    if (count != 0) fold_in(source, to, count, dtype, reduction);
    return;
  }
  // Chunks of one length, so that every member has a share of each and is missed where it is missing.
  const std::size_t most = channel_.room() / size * members_;
  const std::size_t chunks = (count + most - 1) / most;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t begin = count * chunk / chunks;
    const std::size_t length = count * (chunk + 1) / chunks - begin;
    const auto share = [&](std::size_t member) { return begin + length * member / members_; };
    const auto bytes_of = [&](std::size_t member) { return (share(member + 1) - share(member)) * size; };
    const auto mine = [&](std::size_t) { return bytes_of(self_); };
    round(
        what, deadline, [&](std::size_t member) { return source + share(member) * size; }, bytes_of, mine);
    std::byte* const combined = to + share(self_) * size;
    fold_in(source + share(self_) * size, combined, share(self_ + 1) - share(self_), dtype, reduction);
    round(
        what, deadline, [&](std::size_t) { return combined; }, mine, bytes_of);
    for (std::size_t member = 0; member < members_; ++member) {
      if (member != self_) copy_bytes(to + share(member) * size, from(member), bytes_of(member));
    }
  }
}

}  // namespace

bool has_gloo() noexcept { return true; }

std::unique_ptr<Exchange> open_gloo_exchange(Rendezvous& rendezvous, const std::string& key, int size, int index,
                                             Deadline deadline, const GlooExchangeOptions& options) {
  if (size < 1 || index < 0 || index >= size) {
    throw InvalidArgument(text("There is no member ", index, " of ", size, "."), Site());
  }
  return std::make_unique<GlooExchange>(rendezvous, key, size, index, deadline, options);
}

}  // namespace tutti
