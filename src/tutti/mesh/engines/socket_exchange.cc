#include "tutti/mesh/engines/socket_exchange.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/engines/fold.h"
#include "tutti/mesh/engines/socket_channel.h"

namespace tutti {

namespace {

// Up to so much to each member, everyone combines everything for himself: that saves a round.
constexpr std::size_t direct_bytes = std::size_t{4} << 10U;

// Everyone sends to everyone: each member combines its share of a chunk, in the order of the members, and sends what came out to
// all.
class SocketExchange final : public Exchange {
 public:
  SocketExchange(Rendezvous& rendezvous, const std::string& key, int size, int index, Deadline deadline,
                 const SocketExchangeOptions& options)
      : channel_(rendezvous,
                 {.key = key,
                  .size = size,
                  .index = index,
                  .address = options.address,
                  .secret = options.secret,
                  .secrecy = options.encrypts ? wire::Secrecy::encrypted : wire::Secrecy::readable,
                  .stop = options.stop,
                  .ranks = options.ranks},
                 options.silent_after, deadline),
        members_(static_cast<std::size_t>(size)),
        self_(static_cast<std::size_t>(index)),
        room_(room_for(size, options.chunk)),
        incoming_(size == 1 ? 0 : members_ * room_),
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
    return std::max(chunk / static_cast<std::size_t>(size) / 64 * 64, std::size_t{2} * direct_bytes);
  }
  [[nodiscard]] std::string describe(const char* name, std::size_t bytes) const {
    return text(name, " of ", human_bytes(bytes), " between ", members_, " processes");
  }
  // One message to each of the others and one from each, where `sent_to` and `from_each` say.
  template <class SentTo, class FromEach>
  void round(const std::string& what, Deadline deadline, SentTo&& sent_to, FromEach&& from_each) {
    for (std::size_t member = 0; member < members_; ++member) {
      const bool is_other = member != self_;
      sends_[member] = is_other ? sent_to(member) : SocketChannel::Send{};
      receives_[member] = is_other ? from_each(member) : SocketChannel::Receive{};
    }
    channel_.round(what, sends_, receives_, deadline);
  }
  // What came from a member and is not yet where it belongs; at most `room_` bytes.
  [[nodiscard]] std::byte* from(std::size_t member) noexcept { return incoming_.data() + member * room_; }
  // Combines what came with this member's own part.
  void fold_in(const std::byte* own, std::byte* out, std::size_t count, DType dtype, Reduction reduction) {
    for (std::size_t member = 0; member < members_; ++member) parts_[member] = member == self_ ? own : from(member);
    fold(parts_, out, count, dtype, reduction);
  }

  SocketChannel channel_;
  std::size_t members_;
  std::size_t self_;
  std::size_t room_;
  std::vector<std::byte> incoming_;
  std::vector<SocketChannel::Send> sends_;
  std::vector<SocketChannel::Receive> receives_;
  std::vector<const void*> parts_;
};

void SocketExchange::all_gather(const void* in, void* out, std::size_t bytes_each, Deadline deadline) {
  const std::string what = describe("all_gather", bytes_each);
  channel_.check(what);
  auto* const to = static_cast<std::byte*>(out);
  std::byte* const own = to + self_ * bytes_each;
  copy_bytes(own, in, bytes_each);  // first: what comes may take its place
  round(
      what, deadline,
      [&](std::size_t) {
        return SocketChannel::Send{own, bytes_each};
      },
      [&](std::size_t member) {
        return SocketChannel::Receive{to + member * bytes_each, bytes_each};
      });
}

void SocketExchange::all_to_all(const void* in, void* out, std::size_t bytes_each, Deadline deadline) {
  const std::string what = describe("all_to_all", bytes_each);
  channel_.check(what);
  const auto* const source = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(out);
  for (std::size_t done = 0; done < bytes_each; done += room_) {
    const std::size_t length = std::min(room_, bytes_each - done);
    // What comes takes the place of what goes, where it is done in place.
    round(
        what, deadline,
        [&](std::size_t member) {
          return SocketChannel::Send{source + member * bytes_each + done, length};
        },
        [&](std::size_t member) {
          return SocketChannel::Receive{from(member), length};
        });
    for (std::size_t member = 0; member < members_; ++member) {
      const std::size_t at = member * bytes_each + done;
      copy_bytes(to + at, member == self_ ? source + at : from(member), length);
    }
  }
}

void SocketExchange::broadcast(const void* in, void* out, std::size_t bytes, int root, Deadline deadline) {
  const std::string what = describe("broadcast", bytes);
  if (root < 0 || root >= size()) throw InvalidArgument(text(what, " from member ", root, "."), Site());
  channel_.check(what);
  const auto source = static_cast<std::size_t>(root);
  const bool is_root = self_ == source;
  round(
      what, deadline,
      [&](std::size_t) {
        return is_root ? SocketChannel::Send{static_cast<const std::byte*>(in), bytes} : SocketChannel::Send{};
      },
      [&](std::size_t member) {
        return member == source ? SocketChannel::Receive{static_cast<std::byte*>(out), bytes} : SocketChannel::Receive{};
      });
  if (is_root) copy_bytes(out, in, bytes);
}

void SocketExchange::reduce_scatter(const void* in, void* out, std::size_t count_each, DType dtype, Reduction reduction,
                                    Deadline deadline) {
  check_reduction(dtype, reduction);
  const std::size_t size = size_of(dtype);
  const std::string what = describe("reduce_scatter", count_each * size);
  channel_.check(what);
  const auto* const source = static_cast<const std::byte*>(in);
  const std::size_t most = room_ / size;
  for (std::size_t done = 0; done < count_each; done += most) {
    const std::size_t length = std::min(most, count_each - done);
    const auto block_of = [&](std::size_t member) { return source + (member * count_each + done) * size; };
    round(
        what, deadline,
        [&](std::size_t member) {
          return SocketChannel::Send{block_of(member), length * size};
        },
        [&](std::size_t member) {
          return SocketChannel::Receive{from(member), length * size};
        });
    fold_in(block_of(self_), static_cast<std::byte*>(out) + done * size, length, dtype, reduction);
  }
}

void SocketExchange::all_reduce(const void* in, void* out, std::size_t count, DType dtype, Reduction reduction,
                                Deadline deadline) {
  check_reduction(dtype, reduction);
  const std::size_t size = size_of(dtype);
  const std::string what = describe("all_reduce", count * size);
  channel_.check(what);
  const auto* const source = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(out);
  if (count == 0) return;
  if (members_ == 1 || count * size <= direct_bytes) {
    round(
        what, deadline,
        [&](std::size_t) {
          return SocketChannel::Send{source, count * size};
        },
        [&](std::size_t member) {
          return SocketChannel::Receive{from(member), count * size};
        });
    return fold_in(source, to, count, dtype, reduction);
  }
  // Chunks of one length, so that every member has a share of each and is missed where it is missing.
  const std::size_t most = room_ / size * members_;
  const std::size_t chunks = (count + most - 1) / most;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t begin = count * chunk / chunks;
    const std::size_t length = count * (chunk + 1) / chunks - begin;
    const auto share = [&](std::size_t member) { return begin + length * member / members_; };
    const auto bytes_of = [&](std::size_t member) { return (share(member + 1) - share(member)) * size; };
    round(
        what, deadline,
        [&](std::size_t member) {
          return SocketChannel::Send{source + share(member) * size, bytes_of(member)};
        },
        [&](std::size_t member) {
          return SocketChannel::Receive{from(member), bytes_of(self_)};
        });
    std::byte* const combined = to + share(self_) * size;
    fold_in(source + share(self_) * size, combined, share(self_ + 1) - share(self_), dtype, reduction);
    round(
        what, deadline,
        [&](std::size_t) {
          return SocketChannel::Send{combined, bytes_of(self_)};
        },
        [&](std::size_t member) {
          return SocketChannel::Receive{to + share(member) * size, bytes_of(member)};
        });
  }
}

}  // namespace

std::unique_ptr<Exchange> open_socket_exchange(Rendezvous& rendezvous, const std::string& key, int size, int index,
                                               Deadline deadline, const SocketExchangeOptions& options) {
  if (size < 1 || index < 0 || index >= size) {
    throw InvalidArgument(text("There is no member ", index, " of ", size, "."), Site());
  }
  if (options.secret.empty()) {
    throw InvalidArgument("An exchange through sockets needs the job's secret; set SocketExchangeOptions::secret.", Site());
  }
  return std::make_unique<SocketExchange>(rendezvous, key, size, index, deadline, options);
}

}  // namespace tutti
