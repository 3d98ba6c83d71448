#include "tutti/mesh/control/meeting.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tutti/base/human_time.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/mesh/control/rank_words.h"

namespace tutti {

namespace {

using Why = MissingMember::Why;

// Of one report; further members are told of together.
constexpr std::size_t most_lines = 16;

// "500 ms", "2.50 s": the meeting's own scale, without decimals below a second.
std::string duration(std::chrono::milliseconds time) {
  return time < std::chrono::seconds(1) ? text(time.count(), " ms") : human_time(std::chrono::nanoseconds(time).count());
}

std::string describe(const MissingMember& member) {
  std::string line = text("rank ", member.rank);
  if (member.pid != 0) line += text(" (", printable(member.host), ", pid ", member.pid, ")");
  line += ": ";
  const std::string ago = text(duration(member.last_heard), " ago");
  const std::string how = member.how.empty() ? std::string() : text(" (", printable(member.how, 200), ")");
  switch (member.why) {
    case Why::never_connected: return line + "never connected";
    case Why::died: line += text("died ", ago, how); break;
    case Why::left: return line + text("left ", ago, how);
    case Why::not_arrived:
      line += text("not arrived", how);
      if (member.pid != 0) line += text(", last heard of ", ago);
      break;
    case Why::draining: line += text("its devices still work", how); break;
  }
  if (!member.doing.empty()) line += text("; last doing ", printable(member.doing, 200));
  if (!member.waiting_at.empty()) line += text("; waits at ", printable(member.waiting_at, 400), " instead");
  return line;
}

const char* in_a_word(Why why) {
  switch (why) {
    case Why::never_connected: return "never connected";
    case Why::died: return "died";
    case Why::left: return "left";
    case Why::not_arrived: return "not arrived";
    case Why::draining: break;
  }
  return "devices still work";
}

// One line for each member of whom there is more to say than the reason; one for all others of the same reason.
class MemberLines {
 public:
  explicit MemberLines(std::string& out) : out_(out) {}

  // Members of one reason, one after the other.
  void add(const MissingMember& member) {
    if (!together_.empty() && member.why != why_) end();
    why_ = member.why;
    if (member.pid == 0 || lines_ == most_lines) {
      together_.push_back(member.rank);
      return;
    }
    out_ += paragraph(describe(member), 2);
    ++lines_;
  }
  void end() {
    if (together_.empty()) return;
    std::sort(together_.begin(), together_.end());
    out_ += paragraph(text(control::in_words(together_, most_lines), ": ", in_a_word(why_)), 2);
    together_.clear();
  }

 private:
  std::string& out_;
  std::size_t lines_ = 0;
  std::vector<int> together_;
  Why why_ = Why::died;
};

std::string headline(const MeetingReport& report) {
  using Cause = MeetingReport::Cause;
  const std::string where = text(printable(report.what, 200), " of ", printable(report.group, 200), ": ");
  const std::string came = text(report.arrived, " of ", report.expected, " came");
  switch (report.cause) {
    case Cause::timed_out:
      return text(where, came, report.waited.count() == 0 ? std::string() : text(" within ", duration(report.waited)));
    case Cause::member_lost: return text(where, came, ", and a member is lost");
    case Cause::mismatch: return text(where, "members came for different things");
    case Cause::deadlock: return text(where, "deadlock, each waits for another");
    case Cause::aborted: break;
  }
  return report.what.empty() ? "the job was aborted" : text(where, "the job was aborted");
}

}  // namespace

std::string MeetingReport::to_text() const {
  const bool lists_members = !missing.empty() && cause != Cause::mismatch && cause != Cause::deadlock;
  const auto drains = [](const MissingMember& member) { return member.why == Why::draining; };
  const bool all_came = std::all_of(missing.begin(), missing.end(), drains);
  const char* const list = all_came ? "; not drained:" : "; missing:";
  std::string out = paragraph(text(headline(*this), lists_members ? list : detail.empty() ? "" : ":"));
  if (!detail.empty()) {
    for (std::string_view rest = detail; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      out += paragraph(printable(rest.substr(0, end), 1000), 2);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  }
  if (lists_members) {
    MemberLines lines(out);
    bool draining = all_came;
    for (const MissingMember& member : missing) {
      if (drains(member) && !std::exchange(draining, true)) {
        lines.end();
        out += "came, not drained:\n";
      }
      lines.add(member);
    }
    lines.end();
  }
  out.pop_back();
  return out;
}

MeetingFailed::MeetingFailed(MeetingReport what_failed, Site where, const std::string& also)
    : CarriedError(what_failed.to_text() + also, where), report(std::move(what_failed)) {}

void MeetingFailed::raise(const std::string& also) const { throw_meeting_failed(report, site(), also); }

void CoordinatorLost::raise(const std::string& also) const { throw CoordinatorLost(message() + also, site()); }

void throw_meeting_failed(MeetingReport report, Site site, const std::string& also) {
  switch (report.cause) {
    case MeetingReport::Cause::timed_out: throw BarrierTimeout(std::move(report), site, also);
    case MeetingReport::Cause::member_lost: throw MemberLost(std::move(report), site, also);
    case MeetingReport::Cause::mismatch: throw MeetingMismatch(std::move(report), site, also);
    case MeetingReport::Cause::deadlock: throw MeetingDeadlock(std::move(report), site, also);
    case MeetingReport::Cause::aborted: break;
  }
  throw JobAborted(std::move(report), site, also);
}

}  // namespace tutti
