#include "tutti/mesh/control/assembly.h"

#include <algorithm>

#include "tutti/base/human_time.h"
#include "tutti/base/text.h"

namespace tutti::control {

namespace {

constexpr int most_open_requests = 1024;
constexpr std::size_t most_explanations = 256;

std::int64_t nanoseconds_of(Time time) { return std::chrono::nanoseconds(time.time_since_epoch()).count(); }

}  // namespace

Assembly::Assembly(const AssemblyOptions& options, Outbox& outbox)
    : options_(options), outbox_(outbox), roster_(options.world), meetings_(roster_, outbox), store_(options.store_limit) {}

void Assembly::received(SessionId from, std::string_view message, Time now) {
  wire::FieldReader in(message);
  const auto request = static_cast<Request>(in.u8());
  const auto member = ranks_.find(from);
  if (member == ranks_.end()) {
    if (request == Request::hello) return hello(from, in, now);
    return outbox_.close(from);
  }
  const int rank = member->second;
  roster_.seat(rank).heard = now;
  if (!handle(rank, request, in, now)) drop(rank, "it sent what is no message of ours", now);
}

void Assembly::hello(SessionId from, wire::FieldReader& in, Time now) {
  const Hello hello = Hello::read(in);
  if (!in.done()) return outbox_.close(from);
  std::string objection;
  if (hello.job != options_.job) {
    objection = text("this is job '", printable(options_.job), "', not '", printable(hello.job), "'");
  } else if (objection = roster_.objection(hello); objection.empty() && aborted_) {
    objection = text("the job was aborted: ", aborted_->detail);
  }
  if (!objection.empty()) {
    outbox_.send(from, message(Answer::refused, [&](wire::FieldWriter& out) { out.text(objection); }));
    return outbox_.close(from);
  }
  const auto rank = static_cast<int>(hello.rank);
  if (roster_.seat(rank).state != Seat::State::never_came) forget_groups_of(rank, now);
  // Whoever counted on the one before has not been told of its leave.
  if (roster_.seat(rank).state == Seat::State::left && roster_.seat(rank).gone_for_good()) {
    for (const auto& [session, member] : ranks_) outbox_.send(session, lost_frame(rank));
  }
  roster_.sit_down(hello, from, now);
  ranks_.emplace(from, rank);
  anybody_came_ = true;
  empty_since_.reset();
  const Time silent_at = now + options_.dead_after;
  if (!silence_check_ || silent_at < *silence_check_) silence_check_ = silent_at;
  std::string frames =
      message(Answer::welcome, [&](wire::FieldWriter& out) { out.i64(options_.dead_after.count()).i64(nanoseconds_of(now)); });
  for (int other = 0; other < roster_.world() && roster_.any_gone_for_good(); ++other) {
    if (roster_.seat(other).state != Seat::State::dead) continue;
    frames += lost_frame(other);
  }
  outbox_.send(from, frames);
}

bool Assembly::handle(int rank, Request request, wire::FieldReader& in, Time now) {
  switch (request) {
    case Request::beat: {
      const std::string_view doing = in.text(longest_doing);
      if (!in.done()) return false;
      roster_.seat(rank).doing = doing;
      outbox_.send(roster_.seat(rank).session,
                   message(Answer::beat, [&](wire::FieldWriter& out) { out.i64(nanoseconds_of(now)); }));
      return true;
    }
    case Request::arrive: return arrive(rank, in, now);
    case Request::ready: {
      const std::uint64_t ticket = in.u64();
      if (in.done()) meetings_.ready(rank, ticket, now);
      return in.done();
    }
    case Request::withdraw: {
      const std::uint64_t ticket = in.u64();
      if (!in.done()) return false;
      if (meetings_.withdraw(rank, ticket, now)) {
        outbox_.send(roster_.seat(rank).session, message(Answer::withdrawn, [&](wire::FieldWriter& out) { out.u64(ticket); }));
      }
      return true;
    }
    case Request::inquire: {
      const std::uint64_t ticket = in.u64();
      MeetingReport report;
      if (!in.done() || !meetings_.progress(rank, ticket, now, report)) return in.done();
      outbox_.send(roster_.seat(rank).session, message(Answer::progress, [&](wire::FieldWriter& out) {
                     out.u64(ticket);
                     append_report(out, report);
                   }));
      return true;
    }
    case Request::put:
    case Request::put_if_absent: return put(rank, request == Request::put_if_absent, in, now);
    case Request::get: return get(rank, in);
    case Request::forget: {
      const std::uint64_t ticket = in.u64();
      if (in.done() && store_.forget({.rank = rank, .ticket = ticket})) --roster_.seat(rank).open_requests;
      return in.done();
    }
    case Request::abort: return abort(rank, in);
    case Request::explain: return explain(rank, in, now);
    case Request::waits_at:
    case Request::waits_no_more: {
      const std::uint64_t wait = request == Request::waits_at ? in.u64() : 0;
      Call call = Call::read(in, options_.world);
      if (!in.done() || !std::binary_search(call.ranks.begin(), call.ranks.end(), rank)) return false;
      if (request == Request::waits_no_more) {
        meetings_.waits_no_more(rank, call, now);
      } else if (may_ask_more(rank)) {
        meetings_.waits_at(rank, wait, std::move(call), now);
      }
      return true;
    }
    case Request::still_waits: {
      const std::uint64_t wait = in.u64();
      const std::uint64_t question = in.u64();
      const bool still = in.u8() != 0;
      if (in.done()) meetings_.still_waits(rank, wait, question, still, now);
      return in.done();
    }
    case Request::leave:
      if (in.done()) leave(rank, now);
      return in.done();
    case Request::hello: break;
  }
  return false;
}

bool Assembly::may_ask_more(int rank) const { return roster_.seat(rank).open_requests < most_open_requests; }

void Assembly::answer(int rank, Answer kind, std::uint64_t ticket, std::string_view words) {
  outbox_.send(roster_.seat(rank).session, message(kind, [&](wire::FieldWriter& out) { out.u64(ticket).text(words); }));
}

bool Assembly::arrive(int rank, wire::FieldReader& in, Time now) {
  const std::uint64_t ticket = in.u64();
  Call call = Call::read(in, options_.world);
  const bool drains = in.u8() != 0;
  const std::int64_t timeout = in.i64();
  const std::int64_t gives_up_at = in.i64();
  const std::uint64_t as_of = in.u64();
  const std::uint64_t opening = in.u64();
  if (!in.done() || !std::binary_search(call.ranks.begin(), call.ranks.end(), rank)) return false;
  if (aborted_) return true;  // it has been told
  if (!may_ask_more(rank)) {
    answer(rank, Answer::declined, ticket, text("rank ", rank, " has ", most_open_requests, " requests open already"));
    return true;
  }
  // It was long on its way, and its maker has given it up. It completes a meeting at which it is waited for, but it neither opens
  // one nor disagrees with the others, who may be at the next.
  if (gives_up_at < nanoseconds_of(now) && !meetings_.awaits(rank, call)) {
    outbox_.send(roster_.seat(rank).session, message(Answer::withdrawn, [&](wire::FieldWriter& out) { out.u64(ticket); }));
    return true;
  }
  if (meetings_.tell_of_newcomer(rank, ticket, call, as_of, now)) return true;
  // A year is as good as for ever, and cannot overflow.
  constexpr std::int64_t longest = std::int64_t{365} * 24 * 3600 * 1'000'000'000;
  const Deadline deadline = timeout < 0 ? Deadline() : now + std::chrono::nanoseconds(std::min(timeout, longest));
  if (const std::string why = meetings_.arrive(rank, ticket, std::move(call), drains, deadline, opening, now); !why.empty()) {
    answer(rank, Answer::declined, ticket, why);
  }
  return true;
}

bool Assembly::put(int rank, bool if_absent, wire::FieldReader& in, Time now) {
  const std::uint64_t ticket = in.u64();
  const std::string key(in.text(longest_key));
  const std::string value(in.text(longest_value));
  std::vector<int> ranks = in.ranks(options_.world);
  if (!in.done()) return false;
  if (const std::string* const stands = if_absent ? store_.find(key) : nullptr) {
    answer(rank, Answer::value, ticket, *stands);
    return true;
  }
  const bool is_broken = std::any_of(ranks.begin(), ranks.end(), [this](int r) { return roster_.seat(r).gone_for_good(); });
  std::vector<Store::Asker> waited;
  if (!store_.put(key, value, std::move(ranks), is_broken ? Deadline(now + options_.dead_after) : std::nullopt, waited)) {
    answer(rank, Answer::declined, ticket,
           text("the store is full: it holds ", human_bytes(store_.held()), " of ", human_bytes(store_.limit())));
    return true;
  }
  if (if_absent) {
    answer(rank, Answer::value, ticket, value);
  } else {
    outbox_.send(roster_.seat(rank).session, message(Answer::stored, [&](wire::FieldWriter& out) { out.u64(ticket); }));
  }
  for (const Store::Asker& asker : waited) {
    --roster_.seat(asker.rank).open_requests;
    answer(asker.rank, Answer::value, asker.ticket, value);
  }
  return true;
}

bool Assembly::get(int rank, wire::FieldReader& in) {
  const std::uint64_t ticket = in.u64();
  const std::string key(in.text(longest_key));
  std::vector<int> needs = in.ranks(options_.world);
  const std::uint64_t generation = in.u64();
  if (!in.done()) return false;
  const auto gone = std::find_if(needs.begin(), needs.end(), [&](int r) {
    return roster_.seat(r).gone_for_good() || (generation != 0 && roster_.seat(r).generation > generation);
  });
  if (const std::string* const value = store_.find(key)) {
    answer(rank, Answer::value, ticket, *value);
  } else if (gone != needs.end()) {
    answer(rank, Answer::gone, ticket, roster_.end_of(*gone));
  } else if (!may_ask_more(rank)) {
    answer(rank, Answer::declined, ticket, text("rank ", rank, " has ", most_open_requests, " requests open already"));
  } else {
    store_.wait(key, {rank, ticket, std::move(needs)});
    ++roster_.seat(rank).open_requests;
  }
  return true;
}

bool Assembly::abort(int rank, wire::FieldReader& in) {
  const std::string why(in.text(longest_why));
  if (!in.done()) return false;
  if (aborted_) return true;
  MeetingReport report;
  report.cause = MeetingReport::Cause::aborted;
  report.detail = text(roster_.name(rank), ": ", printable(why, longest_why));
  aborted_ = report;
  const std::string frame = message(Answer::aborted, [&](wire::FieldWriter& out) { append_report(out, report); });
  for (const auto& [session, member] : ranks_) outbox_.send(session, frame);
  meetings_.fail_all(report);
  return true;
}

bool Assembly::explain(int rank, wire::FieldReader& in, Time now) {
  const std::uint64_t ticket = in.u64();
  const Call call = Call::read(in, options_.world);
  const MeetingEnd end = read_end(in, options_.world);
  if (!in.done()) return false;
  // Who asks may have seen the meeting end before it heard why.
  const MeetingReport report = aborted_ ? *aborted_ : explanation(rank, call, end, now);
  roster_.note_told(rank, report);
  outbox_.send(roster_.seat(rank).session, message(Answer::explained, [&](wire::FieldWriter& out) {
                 out.u64(ticket);
                 append_report(out, report);
               }));
  return true;
}

MeetingReport Assembly::explanation(int rank, const Call& call, const MeetingEnd& end, Time now) {
  const auto known = std::find_if(explanations_.begin(), explanations_.end(), [&](const Explanation& e) {
    return e.attempt == end.attempt && e.generation == end.generation && e.group == call.group;
  });
  if (known != explanations_.end()) return known->report;
  // Some were there when it ended, and some come later.
  if (end.cause == MeetingReport::Cause::member_lost) {
    if (auto loss = meetings_.explain_loss(rank, call, now)) return *std::move(loss);
  }
  MeetingReport report = meetings_.explain(call, end, now);
  // Its loss may become known here in a moment.
  if (report.cause == MeetingReport::Cause::member_lost && report.missing.empty()) return report;
  if (explanations_.size() == most_explanations) explanations_.pop_front();
  explanations_.push_back({call.group, call.ranks, end.attempt, end.generation, report});
  return report;
}

std::string Assembly::lost_frame(int rank) const {
  return message(Answer::lost, [&](wire::FieldWriter& out) {
    out.u32(static_cast<std::uint32_t>(rank)).u64(roster_.seat(rank).ended).text(roster_.end_of(rank));
  });
}

void Assembly::forget_groups_of(int rank, Time now) {
  store_.forget_groups_of(rank, now);
  store_.tick(now);
  std::erase_if(explanations_, [rank](const Explanation& e) { return std::binary_search(e.ranks.begin(), e.ranks.end(), rank); });
  meetings_.member_back(rank);
}

void Assembly::leave(int rank, Time now) {
  const SessionId session = roster_.seat(rank).session;
  stand_up(rank, Seat::State::left, {}, now);
  outbox_.close(session);
}

void Assembly::closed(SessionId session, std::string how, Time now) {
  const auto member = ranks_.find(session);
  if (member != ranks_.end()) stand_up(member->second, Seat::State::dead, std::move(how), now);
}

void Assembly::drop(int rank, const std::string& why, Time now) {
  const SessionId session = roster_.seat(rank).session;
  outbox_.send(session, message(Answer::dropped, [&](wire::FieldWriter& out) { out.text(why); }));
  closed(session, why, now);
  outbox_.close(session);
}

void Assembly::stand_up(int rank, Seat::State as, std::string how, Time now) {
  ranks_.erase(roster_.seat(rank).session);
  store_.forget_all(rank);
  roster_.stand_up(rank, as, std::move(how), now);
  if (roster_.here() == 0) empty_since_ = now;
  const std::string why = roster_.end_of(rank);
  if (roster_.seat(rank).gone_for_good()) {
    store_.forget_groups_of(rank, now + options_.dead_after);
    for (const Store::Asker& asker : store_.take_who_need(rank)) {
      --roster_.seat(asker.rank).open_requests;
      answer(asker.rank, Answer::gone, asker.ticket, why);
    }
  }
  meetings_.member_gone(rank, now);
  if (as != Seat::State::dead) return;
  const std::string frame = lost_frame(rank);
  for (const auto& [session, member] : ranks_) outbox_.send(session, frame);
}

void Assembly::tick(Time now) {
  if (!anybody_came_ && !empty_since_) empty_since_ = now;
  meetings_.tick(now);
  store_.tick(now);
  // Who was itself stopped for long has no right to call others silent.
  const bool was_away = last_tick_ != Time() && now - last_tick_ > options_.dead_after / 2;
  last_tick_ = now;
  if (!silence_check_ || now < *silence_check_) return;
  Deadline next;
  for (int rank = 0; rank < roster_.world(); ++rank) {
    Seat& seat = roster_.seat(rank);
    if (seat.state != Seat::State::here) continue;
    if (was_away) seat.heard = std::max(seat.heard, now - options_.dead_after / 2);
    if (now - seat.heard >= options_.dead_after) {
      drop(rank, text("nothing was heard of it for ", human_time(std::chrono::nanoseconds(now - seat.heard).count())), now);
    } else if (!next || seat.heard + options_.dead_after < *next) {
      next = seat.heard + options_.dead_after;
    }
  }
  silence_check_ = next;
}

Deadline Assembly::next_deadline() const {
  Deadline next = meetings_.next_deadline();
  if (const Deadline store = store_.next_deadline(); store && (!next || *store < *next)) next = store;
  if (silence_check_) {
    // Often enough to know that time went by while this process ran.
    const Time check = std::min(*silence_check_, last_tick_ + options_.dead_after / 4);
    if (!next || check < *next) next = check;
  }
  return next;
}

}  // namespace tutti::control
