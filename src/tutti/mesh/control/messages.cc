#include "tutti/mesh/control/messages.h"

#include <algorithm>

namespace tutti::control {

namespace {

constexpr std::size_t longest_of_report = std::size_t{64} << 10U;

// The first of those missing are listed with all that is known of them, the others by their ranks alone: thousands may be told
// of thousands.
enum class Listed : std::uint8_t { end, member, ranks };
constexpr std::size_t most_told = 64;

MeetingReport::Cause read_cause(wire::FieldReader& in) {
  return static_cast<MeetingReport::Cause>(std::min(in.u8(), static_cast<std::uint8_t>(MeetingReport::Cause::aborted)));
}

}  // namespace

std::chrono::milliseconds read_time(wire::FieldReader& in) {
  constexpr std::int64_t year = std::int64_t{365} * 24 * 3600 * 1'000;
  return std::chrono::milliseconds(std::clamp<std::int64_t>(in.i64(), 0, year));
}

void Hello::append_to(wire::FieldWriter& out) const {
  out.text(job).u32(world).u32(rank).u64(incarnation).text(host).u32(pid).u8(comes_back ? 1 : 0);
}

Hello Hello::read(wire::FieldReader& in) {
  Hello hello;
  hello.job = in.text(longest_name);
  hello.world = in.u32();
  hello.rank = in.u32();
  hello.incarnation = in.u64();
  hello.host = in.text(longest_name);
  hello.pid = in.u32();
  hello.comes_back = in.u8() != 0;
  return hello;
}

void Call::append_to(wire::FieldWriter& out) const { out.text(group).ranks(ranks).text(what).text(site); }

Call Call::read(wire::FieldReader& in, int world) {
  Call call;
  call.group = in.text(longest_group);
  call.ranks = in.ranks(world);
  call.what = in.text(longest_what);
  call.site = in.text(longest_site);
  return call;
}

void append_end(wire::FieldWriter& out, const MeetingEnd& end) {
  out.u64(end.attempt).u64(end.generation).u8(static_cast<std::uint8_t>(end.cause)).ranks(end.arrived).ranks(end.draining);
  out.i64(end.waited.count()).text(end.detail);
}

MeetingEnd read_end(wire::FieldReader& in, int world) {
  MeetingEnd end;
  end.attempt = in.u64();
  end.generation = in.u64();
  end.cause = read_cause(in);
  end.arrived = in.ranks(world);
  end.draining = in.ranks(world);
  end.waited = read_time(in);
  end.detail = in.text(longest_detail);
  return end;
}

void append_report(wire::FieldWriter& out, const MeetingReport& report) {
  out.u8(static_cast<std::uint8_t>(report.cause)).text(report.what).text(report.group);
  out.u32(static_cast<std::uint32_t>(report.arrived)).u32(static_cast<std::uint32_t>(report.expected));
  out.i64(report.waited.count()).text(report.detail).u64(report.as_of);
  const std::vector<MissingMember>& all = report.missing;
  std::size_t told = 0;
  const auto is_told = [&](const MissingMember& member) { return member.pid != 0 && told < most_told; };
  for (std::size_t i = 0; i < all.size();) {
    const MissingMember& member = all[i];
    const auto why = static_cast<std::uint8_t>(member.why);
    if (is_told(member)) {
      out.u8(static_cast<std::uint8_t>(Listed::member)).u32(static_cast<std::uint32_t>(member.rank)).u8(why).text(member.host);
      out.u32(static_cast<std::uint32_t>(member.pid)).i64(member.last_heard.count());
      out.text(member.how).text(member.doing).text(member.waiting_at);
      ++told;
      ++i;
      continue;
    }
    std::vector<int> ranks;
    do {
      ranks.push_back(all[i++].rank);
    } while (i < all.size() && all[i].why == member.why && all[i].rank > ranks.back() && !is_told(all[i]));
    out.u8(static_cast<std::uint8_t>(Listed::ranks)).u8(why).ranks(ranks);
  }
  out.u8(static_cast<std::uint8_t>(Listed::end));
}

MeetingReport read_report(wire::FieldReader& in) {
  using Why = MissingMember::Why;
  MeetingReport report;
  report.cause = read_cause(in);
  report.what = in.text(longest_of_report);
  report.group = in.text(longest_of_report);
  report.arrived = static_cast<int>(in.u32());
  report.expected = static_cast<int>(in.u32());
  report.waited = read_time(in);
  report.detail = in.text(longest_of_report);
  report.as_of = in.u64();
  const auto why = [&in] { return static_cast<Why>(std::min(in.u8(), static_cast<std::uint8_t>(Why::draining))); };
  while (in.ok()) {
    const auto listed = static_cast<Listed>(in.u8());
    MissingMember member;
    if (listed == Listed::member) {
      member.rank = static_cast<int>(std::min(in.u32(), static_cast<std::uint32_t>(largest_world - 1)));
      member.why = why();
      member.host = in.text(longest_of_report);
      member.pid = static_cast<int>(in.u32());
      member.last_heard = read_time(in);
      member.how = in.text(longest_of_report);
      member.doing = in.text(longest_of_report);
      member.waiting_at = in.text(longest_of_report);
      report.missing.push_back(std::move(member));
    } else if (listed == Listed::ranks) {
      member.why = why();
      for (const int rank : in.ranks(largest_world)) {
        member.rank = rank;
        report.missing.push_back(member);
      }
    } else {
      break;
    }
    if (report.missing.size() > largest_world) static_cast<void>(in.bytes(std::string_view::npos));  // it is no report
  }
  return report;
}

}  // namespace tutti::control
