#include "tutti/mesh/control/join.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/messages.h"
#include "tutti/mesh/wire/handshake.h"

namespace tutti::control {

namespace {

constexpr std::chrono::milliseconds between_attempts{50};

// The connection broke or stayed silent: another attempt may do better.
struct TryAgain {
  std::string why;
};

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown host";
  return std::string(name.data()).substr(0, longest_name);
}

// A conversation in which each side waits for the other.
class Dialogue {
 public:
  Dialogue(Descriptor socket, Clock::time_point deadline) : socket_(std::move(socket)), deadline_(deadline) {}

  // From now on frames are sealed, both ways.
  void seal(const wire::Seals& seals) { seals_ = seals; }

  void say(std::string_view plain) {
    std::string sealed;
    if (seals_) seals_->outgoing.close_onto(sealed, plain);
    std::string_view frames = seals_ ? sealed : plain;
    while (!frames.empty()) {
      const ssize_t sent = send(socket_.get(), frames.data(), frames.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        frames.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno != EAGAIN && errno != EINTR) {
        // It may have said why before it hung up.
        return;
      } else if (!wait_until(socket_.get(), false, deadline_)) {
        throw TryAgain{"it does not read"};
      }
    }
  }

  std::string hear() {
    for (;;) {
      if (const auto message = in_.next()) return opened(*message);
      if (in_.broken()) return {};
      if (!wait_until(socket_.get(), true, deadline_)) throw TryAgain{"it does not answer"};
      std::array<char, 4096> buffer;
      const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (got == 0) throw TryAgain{"it closed the connection"};
      if (got < 0 && errno != EAGAIN && errno != EINTR) throw TryAgain{std::strerror(errno)};
      if (got > 0) in_.append({buffer.data(), static_cast<std::size_t>(got)});
    }
  }

  wire::FrameReader& in() noexcept { return in_; }
  [[nodiscard]] const wire::Seals& seals() const { return seals_.value(); }
  Descriptor& socket() noexcept { return socket_; }

 private:
  // Nothing in it: not from the other end.
  std::string opened(std::string_view message) {
    return std::string(seals_ ? seals_->incoming.open(message).value_or(std::string_view()) : message);
  }

  Descriptor socket_;
  Clock::time_point deadline_;
  std::optional<wire::Seals> seals_;
  wire::FrameReader in_{wire::largest_answer + wire::seal_size};
};

std::shared_ptr<Link> take_seat(Descriptor socket, const Membership& who, const MemberOptions& options, std::uint64_t incarnation,
                                Clock::time_point deadline, Site site) {
  const auto refuse = [&](const std::string& why) {
    throw JoinRefused(text("the coordinator at ", who.coordinator, " ", why), site);
  };
  Dialogue dialogue(std::move(socket), deadline);
  const auto challenge = wire::Challenge::read(dialogue.hear());
  if (!challenge) refuse("is none of ours: something else answers there");
  if (challenge->version != wire::protocol_version) {
    refuse(text("speaks version ", challenge->version, ", this process ", wire::protocol_version,
                "; use one version of tutti for all"));
  }
  wire::Response response;
  response.nonce = wire::fresh_nonce();
  response.proof = wire::as_text(wire::proof(who.secret, wire::Side::member, challenge->nonce, response.nonce));
  std::string out;
  const std::size_t begin = wire::begin_frame(out);
  response.append_to(out);
  wire::end_frame(out, begin);
  dialogue.say(out);
  const std::string proof = dialogue.hear();
  if (!proof.empty() && static_cast<Answer>(proof.front()) == Answer::refused &&
      proof.size() != std::tuple_size_v<wire::Digest>) {
    refuse("refused this process: the secret is not the job's; is TUTTI_JOB_SECRET the same for all?");
  }
  if (!wire::same_digest(proof,
                         wire::as_text(wire::proof(who.secret, wire::Side::coordinator, challenge->nonce, response.nonce)))) {
    refuse("does not know the job's secret: something else answers there");
  }
  dialogue.seal(wire::seals_of(who.secret, wire::Side::member, challenge->nonce, response.nonce));
  Hello hello;
  hello.job = who.job;
  hello.world = static_cast<std::uint32_t>(who.world);
  hello.rank = static_cast<std::uint32_t>(who.rank);
  hello.incarnation = incarnation;
  hello.host = host_name();
  hello.pid = static_cast<std::uint32_t>(getpid());
  hello.comes_back = options.comes_back;
  dialogue.say(message(Request::hello, [&](wire::FieldWriter& fields) { hello.append_to(fields); }));
  const std::string answer = dialogue.hear();
  wire::FieldReader in(answer);
  const auto kind = static_cast<Answer>(in.u8());
  if (kind == Answer::refused) refuse(text("refused this process: ", in.text(longest_why)));
  const std::chrono::milliseconds its_dead_after(in.i64());
  const std::int64_t its_time = in.i64();
  if (kind != Answer::welcome || !in.done() || its_dead_after.count() < 1) refuse("is none of ours: it answers in another way");
  LinkOptions link;
  link.address = who.coordinator;
  link.dead_after = options.dead_after;
  link.its_time = its_time;
  // Often enough for both to know that the other lives.
  link.heartbeat =
      std::max(std::chrono::milliseconds(1), std::min({options.heartbeat, its_dead_after / 4, options.dead_after / 4}));
  link.doing = options.doing;
  return std::make_shared<Link>(std::move(dialogue.socket()), std::move(dialogue.in()), dialogue.seals(), std::move(link));
}

}  // namespace

std::shared_ptr<Link> join(const Membership& who, const MemberOptions& options, Site site) {
  if (who.world < 1 || who.world > largest_world || who.rank < 0 || who.rank >= who.world) {
    throw InvalidArgument(text("rank ", who.rank, " is not in a world of ", who.world), site);
  }
  if (who.secret.empty()) throw InvalidArgument("joining a job needs its secret; set TUTTI_JOB_SECRET", site);
  if (who.job.size() > longest_name) throw InvalidArgument(text("a job's name has at most ", longest_name, " bytes"), site);
  if (options.dead_after.count() < 1 || options.heartbeat.count() < 1 || options.log_every.count() < 1) {
    throw InvalidArgument("heartbeat, dead_after and log_every must be at least 1 ms", site);
  }
  const Address address = Address::parse(who.coordinator, site);
  const std::uint64_t incarnation = wire::fresh_number();
  const auto deadline = Clock::now() + std::min<std::chrono::milliseconds>(options.connect_timeout, longest_timeout);
  auto next_line = Clock::now() + options.log_every;
  for (;;) {
    std::string why;
    try {
      Descriptor socket = connect_once(address, deadline, why);
      if (socket.valid()) return take_seat(std::move(socket), who, options, incarnation, deadline, site);
    } catch (const TryAgain& again) {
      why = again.why;
    } catch (const std::system_error& error) {
      throw InvalidState(text("the connection to the coordinator cannot be made: ", error.what()), site);
    } catch (const std::bad_alloc&) {
      throw OutOfMemory("the connection to the coordinator cannot be made: no memory is left", site);
    }
    // It may not have started yet.
    const auto pause = std::min(Clock::now() + between_attempts, deadline);
    if (Clock::now() >= deadline) {
      throw DeadlineExceeded(text("cannot join the job at ", who.coordinator, ": ", why, "; does its coordinator run there?"),
                             site);
    }
    if (Clock::now() >= next_line) {
      next_line += options.log_every;
      log(LogLevel::warning, text("rank ", who.rank, " still tries to reach the coordinator at ", who.coordinator, ": ", why));
    }
    poll(nullptr, 0, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(pause - Clock::now()).count()));
  }
}

}  // namespace tutti::control
