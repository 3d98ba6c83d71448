#include "tutti/mesh/control/member.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/join.h"
#include "tutti/mesh/control/link.h"
#include "tutti/mesh/control/messages.h"
#include "tutti/mesh/control/unanswered.h"
#include "tutti/mesh/control/waits.h"

namespace tutti {

namespace {

using control::Answer;
using control::Link;
using control::Request;
using control::Unanswered;
using wire::FieldReader;
using wire::FieldWriter;

void check_length(const char* name, const std::string& value, std::size_t longest, Site site) {
  if (value.size() <= longest) return;
  throw InvalidArgument(text("the ", name, " has ", value.size(), " bytes; at most ", longest, " can be sent"), site);
}

control::Call call_of(const Meeting& meeting, const Membership& who) {
  check_length("name of the group", meeting.group, control::longest_group, meeting.site);
  check_length("name of the meeting", meeting.what, control::longest_what, meeting.site);
  if (!std::is_sorted(meeting.ranks.begin(), meeting.ranks.end(), std::less_equal<>()) ||
      !std::binary_search(meeting.ranks.begin(), meeting.ranks.end(), who.rank) || meeting.ranks.front() < 0 ||
      meeting.ranks.back() >= who.world) {
    throw InvalidArgument(text("the ranks of group '", printable(meeting.group), "' must ascend, be of a world of ", who.world,
                               " and have rank ", who.rank, " among them"),
                          meeting.site);
  }
  // A script's meeting has no place in a source file.
  std::string site = *meeting.site.file() == '\0' ? "" : meeting.site.to_string();
  if (site.size() > control::longest_site) site.erase(0, site.size() - control::longest_site);
  return {meeting.group, meeting.ranks, meeting.what, std::move(site)};
}

[[noreturn]] void throw_no_answer(const Link& link, Site site) {
  throw CoordinatorLost(text("the coordinator at ", link.address(), " did not answer by the deadline, last heard of ",
                             link.silence().count(), " ms ago"),
                        site);
}

[[noreturn]] void throw_declined(FieldReader& in, Site site) {
  throw InvalidState(text("the coordinator declined: ", in.text(control::longest_why)), site);
}

void check_not_declined(const std::string& answer, Site site) {
  FieldReader in(answer);
  const auto kind = static_cast<Answer>(in.u8());
  in.u64();
  if (kind == Answer::declined) throw_declined(in, site);
}

class RemoteArrival final : public Arrival {
 public:
  RemoteArrival(std::shared_ptr<Link> link, std::shared_ptr<Unanswered> unanswered, const Meeting& meeting, const Membership& who,
                std::chrono::milliseconds log_every)
      : link_(std::move(link)),
        unanswered_(std::move(unanswered)),
        group_(meeting.group),
        what_(meeting.what),
        site_(meeting.site),
        deadline_(meeting.deadline),
        drains_(meeting.drains),
        log_every_(log_every) {
    const control::Call call = call_of(meeting, who);
    link_->check(site_);
    is_released_ = has_counted_already();
    if (is_released_) return;
    std::int64_t timeout = -1;
    if (deadline_) timeout = std::max<std::int64_t>(0, std::chrono::nanoseconds(*deadline_ - Clock::now()).count());
    ticket_ = link_->open_ticket();
    try {
      link_->send(control::message(Request::arrive,
                                   [&](FieldWriter& out) {
                                     out.u64(ticket_);
                                     call.append_to(out);
                                     out.u8(drains_ ? 1 : 0).i64(timeout);
                                     const Deadline give_up = gives_up_at();
                                     out.i64(give_up ? link_->coordinator_time(*give_up) : control::never_gives_up);
                                     out.u64(meeting.as_of).u64(meeting.opening);
                                   }),
                  site_);
    } catch (...) {
      link_->close_ticket(ticket_);
      throw;
    }
  }

  ~RemoteArrival() override {
    if (over_ || is_released_ || link_->forked()) return;
    link_->close_ticket(ticket_);
    withdraw();
  }
  RemoteArrival(const RemoteArrival&) = delete;
  RemoteArrival& operator=(const RemoteArrival&) = delete;

  void ready() override {
    if (!drains_) throw InvalidState("ready() is for a meeting that drains; this one said so on arrival", site_);
    if (is_released_) return;
    link_->send(control::message(Request::ready, [&](FieldWriter& out) { out.u64(ticket_); }), site_);
  }

  Released wait() override {
    if (over_) throw InvalidState("this meeting has been waited for already", site_);
    if (is_released_) {
      over_ = true;
      return released_;
    }
    auto log_at = Clock::now() + log_every_;
    const Deadline give_up = gives_up_at();
    for (;;) {
      const auto answer = link_->wait(ticket_, give_up ? std::min(log_at, *give_up) : log_at, site_);
      if (answer) return finish(*answer);
      if (give_up && Clock::now() >= *give_up) {
        over_ = true;
        unanswered_->add(group_, {ticket_, what_});
        withdraw();
        throw_no_answer(*link_, site_);
      }
      if (Clock::now() < log_at) continue;
      log_at += log_every_;
      link_->send(control::message(Request::inquire, [&](FieldWriter& out) { out.u64(ticket_); }), site_);
    }
  }

 private:
  [[nodiscard]] Deadline gives_up_at() const { return deadline_ ? Deadline(*deadline_ + answer_takes_at_most) : std::nullopt; }

  void withdraw() {
    link_->send_quietly(control::message(Request::withdraw, [&](FieldWriter& out) { out.u64(ticket_); }));
  }

  // What was given up before, and is tried again now.
  bool has_counted_already() {
    auto earlier = unanswered_->take(group_);
    if (!earlier) return false;
    const auto answer = link_->wait(earlier->ticket, gives_up_at(), site_);
    if (!answer) {
      unanswered_->add(group_, std::move(*earlier));
      throw_no_answer(*link_, site_);
    }
    FieldReader in(*answer);
    const bool is_released = static_cast<Answer>(in.u8()) == Answer::released && earlier->what == what_;
    in.u64();
    if (is_released) released_ = read_released(in);
    return is_released;
  }

  Released finish(const std::string& answer) {
    over_ = true;
    FieldReader in(answer);
    const auto kind = static_cast<Answer>(in.u8());
    in.u64();
    if (kind == Answer::failed) throw_meeting_failed(control::read_report(in), site_);
    if (kind == Answer::withdrawn) throw_no_answer(*link_, site_);  // it came when it had been given up
    if (kind != Answer::released) throw_declined(in, site_);
    return read_released(in);
  }

  static Released read_released(FieldReader& in) {
    Released released;
    released.generation = in.u64();
    released.opening = in.u64();
    return released;
  }

  std::shared_ptr<Link> link_;
  std::shared_ptr<Unanswered> unanswered_;
  std::string group_;
  std::string what_;
  Site site_;
  Deadline deadline_;
  bool drains_;
  bool is_released_ = false;
  Released released_;  // where it is released
  bool over_ = false;
  std::chrono::milliseconds log_every_;
  std::uint64_t ticket_ = 0;
};

class RemoteMember final : public Member {
 public:
  RemoteMember(Membership who, const MemberOptions& options, std::shared_ptr<Link> link)
      : who_(std::move(who)), log_every_(options.log_every), dead_after_(options.dead_after), link_(std::move(link)) {
    link_->on_question([waits = waits_](std::uint64_t wait) { return waits->still(wait); });
  }

  void leave() noexcept override { link_->leave(); }
  [[nodiscard]] const Membership& who() const noexcept override { return who_; }
  [[nodiscard]] std::string local_host() const override { return link_->local_host(); }
  [[nodiscard]] std::chrono::milliseconds dead_after() const noexcept override { return dead_after_; }

  std::unique_ptr<Arrival> arrive(const Meeting& meeting) override {
    return std::make_unique<RemoteArrival>(link_, unanswered_, meeting, who_, log_every_);
  }

  void put(const std::string& key, const std::string& value, Site site, const std::vector<int>& ranks,
           Deadline deadline) override {
    store(Request::put, key, value, ranks, deadline, site);
  }

  std::string put_if_absent(const std::string& key, const std::string& value, const std::vector<int>& ranks, Deadline deadline,
                            Site site) override {
    return text_in(store(Request::put_if_absent, key, value, ranks, deadline, site));
  }

  std::string get(const std::string& key, Deadline deadline, Site site, const std::vector<int>& needs,
                  std::uint64_t generation) override {
    check_length("key", key, control::longest_key, site);
    const auto answer = ask(
        Request::get, [&](FieldWriter& out) { out.text(key).ranks(needs).u64(generation); }, deadline, site);
    if (!answer) {
      throw DeadlineExceeded(text("nobody has put the key '", printable(key), "' at the coordinator before the deadline"), site);
    }
    if (static_cast<Answer>(answer->front()) == Answer::gone) throw InvalidState(text_in(*answer), site);
    return text_in(*answer);
  }

  void tell(const std::string& key, const std::string& value, const std::vector<int>& ranks, Site site) override {
    check_length("key", key, control::longest_key, site);
    check_length("value", value, control::longest_value, site);
    send_with(
        link_->open_ticket([site](const std::string& answer) { check_not_declined(answer, site); }), Request::put,
        [&](FieldWriter& out) { out.text(key).text(value).ranks(ranks); }, site);
  }

  std::uint64_t when_put(const std::string& key, std::function<void(const std::string&)> call, Site site) override {
    check_length("key", key, control::longest_key, site);
    const std::uint64_t ticket = link_->open_ticket([call = std::move(call), site](const std::string& answer) {
      check_not_declined(answer, site);
      call(text_in(answer));
    });
    send_with(
        ticket, Request::get, [&](FieldWriter& out) { out.text(key).ranks({}).u64(0); }, site);
    return ticket;
  }

  void forget(std::uint64_t number) noexcept override {
    if (link_->forked()) return;
    link_->close_ticket(number);
    link_->send_quietly(control::message(Request::forget, [&](FieldWriter& out) { out.u64(number); }));
  }

  void abort(const std::string& why) override {
    const std::string told = why.substr(0, control::longest_why);
    link_->send(control::message(Request::abort, [&](FieldWriter& out) { out.text(told); }), Site());
    link_->wait_for_abort(Clock::now() + answer_takes_at_most);
  }

  void on_loss(std::function<void(int, const std::string&, std::uint64_t)> call) override { link_->on_loss(std::move(call)); }
  void on_deadlock(std::function<void(const MeetingReport&)> call) override { link_->on_deadlock(std::move(call)); }

  MeetingReport explain(const Meeting& meeting, const MeetingEnd& end, Deadline deadline) override {
    const control::Call call = call_of(meeting, who_);
    check_length("detail", end.detail, control::longest_detail, meeting.site);
    const auto answer = ask(
        Request::explain,
        [&](FieldWriter& out) {
          call.append_to(out);
          control::append_end(out, end);
        },
        deadline, meeting.site);
    if (!answer) throw_no_answer(*link_, meeting.site);
    FieldReader in(*answer);
    in.u8();
    in.u64();
    return control::read_report(in);
  }

  void waits_at(const Meeting& meeting, std::function<bool()> still) override {
    const control::Call call = call_of(meeting, who_);
    const std::uint64_t wait = waits_->add({meeting.group, meeting.what}, std::move(still));
    link_->send(control::message(Request::waits_at, [&](FieldWriter& out) { call.append_to(out.u64(wait)); }), meeting.site);
  }
  void waits_no_more(const Meeting& meeting) noexcept override {
    if (!waits_->remove({meeting.group, meeting.what})) return;
    const control::Call call = call_of(meeting, who_);
    link_->send_quietly(control::message(Request::waits_no_more, [&](FieldWriter& out) { call.append_to(out); }));
  }

 private:
  std::string store(Request request, const std::string& key, const std::string& value, const std::vector<int>& ranks,
                    Deadline deadline, Site site) {
    check_length("key", key, control::longest_key, site);
    check_length("value", value, control::longest_value, site);
    auto answer = ask(
        request, [&](FieldWriter& out) { out.text(key).text(value).ranks(ranks); }, deadline, site);
    if (!answer) throw_no_answer(*link_, site);
    return *std::move(answer);
  }

  static std::string text_in(const std::string& answer) {
    FieldReader in(answer);
    in.u8();
    in.u64();
    return std::string(in.text(control::longest_value));
  }

  template <class Fields>
  void send_with(std::uint64_t ticket, Request request, const Fields& fields, Site site) {
    try {
      link_->send(control::message(request,
                                   [&](FieldWriter& out) {
                                     out.u64(ticket);
                                     fields(out);
                                   }),
                  site);
    } catch (...) {
      link_->close_ticket(ticket);
      throw;
    }
  }

  // Nothing: the deadline passed, and the coordinator was told to forget it.
  template <class Fields>
  std::optional<std::string> ask(Request request, const Fields& fields, Deadline deadline, Site site) {
    link_->check(site);
    const std::uint64_t ticket = link_->open_ticket();
    send_with(ticket, request, fields, site);
    std::optional<std::string> answer;
    try {
      answer = link_->wait(ticket, deadline, site);
    } catch (...) {
      link_->close_ticket(ticket);
      throw;
    }
    if (!answer) {
      forget(ticket);
      return std::nullopt;
    }
    check_not_declined(*answer, site);
    return answer;
  }

  Membership who_;
  std::chrono::milliseconds log_every_;
  std::chrono::milliseconds dead_after_;
  std::shared_ptr<Link> link_;
  std::shared_ptr<Unanswered> unanswered_ = std::make_shared<Unanswered>();
  std::shared_ptr<control::Waits> waits_ = std::make_shared<control::Waits>();  // the link may outlive this
};

}  // namespace

std::shared_ptr<Member> Member::join(const Membership& who, const MemberOptions& options, Site site) {
  return std::make_shared<RemoteMember>(who, options, control::join(who, options, site));
}

}  // namespace tutti
