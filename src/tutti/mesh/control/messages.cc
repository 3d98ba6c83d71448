#include "tutti/mesh/control/messages.h"

#include <algorithm>

namespace tutti::control {

namespace {

constexpr std::size_t longest_of_report = std::size_t{64} << 10U;

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
  out.i64(report.waited.count()).text(report.detail).u64(report.as_of).u32(static_cast<std::uint32_t>(report.missing.size()));
  for (const MissingMember& member : report.missing) {
    out.u32(static_cast<std::uint32_t>(member.rank)).u8(static_cast<std::uint8_t>(member.why)).text(member.host);
    out.u32(static_cast<std::uint32_t>(member.pid)).i64(member.last_heard.count());
    out.text(member.how).text(member.doing).text(member.waiting_at);
  }
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
  const std::uint32_t missing = in.u32();
  for (std::uint32_t i = 0; i < missing && in.ok(); ++i) {
    MissingMember member;
    member.rank = static_cast<int>(in.u32());
    member.why = static_cast<Why>(std::min(in.u8(), static_cast<std::uint8_t>(Why::draining)));
    member.host = in.text(longest_of_report);
    member.pid = static_cast<int>(in.u32());
    member.last_heard = read_time(in);
    member.how = in.text(longest_of_report);
    member.doing = in.text(longest_of_report);
    member.waiting_at = in.text(longest_of_report);
    report.missing.push_back(std::move(member));
  }
  return report;
}

}  // namespace tutti::control
