#include "tutti/mesh/control/join.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/job_secret.h"
#include "tutti/mesh/control/messages.h"
#include "tutti/mesh/wire/handshake.h"
#include "tutti/mesh/wire/random_bytes.h"
#include "tutti/mesh/wire/socket_transport.h"

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
  Dialogue(Descriptor socket, Clock::time_point deadline) : transport_(std::move(socket)), deadline_(deadline) {}

  // Until both have proven that they know the key. Gives why not, for the user; nothing: they have.
  std::string prove(const wire::Key& key) {
    wire::TlsSession session = wire::begin_handshake(wire::Side::member, transport_, key);
    for (;;) {
      const wire::Progress progress = session.handshake();
      if (progress == wire::Progress::done) break;
      if (progress == wire::Progress::ended) return why_not(session);
      if (!wait_until(transport_.socket.get(), !session.wants_to_send(), deadline_)) throw TryAgain{"it does not answer"};
    }
    seals_ = wire::seals_of(session, wire::Side::member);
    return {};
  }

  void say(std::string_view plain) {
    std::string sealed;
    seals_->outgoing.close_onto(sealed, plain);
    for (std::string_view rest = sealed; !rest.empty();) {
      const std::ptrdiff_t sent = transport_.send(rest.data(), rest.size());
      if (sent < 0) return;  // it may have said why before it hung up
      rest.remove_prefix(static_cast<std::size_t>(sent));
      if (sent == 0 && !wait_until(transport_.socket.get(), false, deadline_)) throw TryAgain{"it does not read"};
    }
  }

  // Nothing in it: not from the other end.
  std::string hear() {
    for (;;) {
      if (const auto message = in_.next()) return std::string(seals_->incoming.open(*message).value_or(std::string_view()));
      if (in_.broken()) return {};
      if (!wait_until(transport_.socket.get(), true, deadline_)) throw TryAgain{"it does not answer"};
      std::array<char, 4096> buffer;
      const std::ptrdiff_t got = transport_.receive(buffer.data(), buffer.size());
      if (got < 0) throw TryAgain{"it closed the connection"};
      in_.append({buffer.data(), static_cast<std::size_t>(got)});
    }
  }

  wire::FrameReader& in() noexcept { return in_; }
  wire::Seals& seals() { return seals_.value(); }
  Descriptor& socket() noexcept { return transport_.socket; }

 private:
  static std::string why_not(const wire::TlsSession& session) {
    if (session.why().empty()) throw TryAgain{"it closed the connection"};
    const auto version = wire::version_of(session);
    if (!version) return "is none of ours: something else answers there";
    if (*version == wire::protocol_version) {
      return "does not know the job's secret: is TUTTI_JOB_SECRET the same for all? If so, something else answers there";
    }
    return text("speaks version ", *version, ", this process ", wire::protocol_version, "; use one version of tutti for all");
  }

  wire::SocketTransport transport_;
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
  if (const std::string why = dialogue.prove(wire::control_key(who.secret)); !why.empty()) refuse(why);
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
  return std::make_shared<Link>(std::move(dialogue.socket()), std::move(dialogue.in()), std::move(dialogue.seals()),
                                std::move(link));
}

}  // namespace

std::shared_ptr<Link> join(const Membership& who, const MemberOptions& options, Site site) {
  if (who.world < 1 || who.world > largest_world || who.rank < 0 || who.rank >= who.world) {
    throw InvalidArgument(text("rank ", who.rank, " is not in a world of ", who.world), site);
  }
  check_job_secret(who.secret, site);
  if (who.job.size() > longest_name) throw InvalidArgument(text("a job's name has at most ", longest_name, " bytes"), site);
  if (options.dead_after.count() < 1 || options.heartbeat.count() < 1 || options.log_every.count() < 1) {
    throw InvalidArgument("heartbeat, dead_after and log_every must be at least 1 ms", site);
  }
  const Address address = Address::parse(who.coordinator, site);
  const std::uint64_t incarnation = wire::random_number();
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
