// Meetings that cannot take place because somebody is gone for good: one report for all the others, however each comes to know.
#include <algorithm>

#include "tutti/mesh/control/meetings.h"

namespace tutti::control {

namespace {

// Some never come to hear of theirs.
constexpr std::size_t most_losses = 256;

}  // namespace

bool Meetings::cannot_fill(const std::vector<int>& ranks) const {
  return roster_.any_gone_for_good() &&
         std::any_of(ranks.begin(), ranks.end(), [this](int rank) { return roster_.seat(rank).gone_for_good(); });
}

MeetingReport Meetings::tell_loss(int rank, const Call& call, Time now) {
  const auto is_next = [&](const Loss& loss) {
    return loss.group == call.group && loss.what == call.what && loss.ranks == call.ranks &&
           std::find(loss.told.begin(), loss.told.end(), rank) == loss.told.end();
  };
  auto loss = std::find_if(losses_.begin(), losses_.end(), is_next);
  if (loss == losses_.end()) {
    if (losses_.size() == most_losses) losses_.pop_front();
    losses_.push_back({call.group, call.what, call.ranks, {}, lost_report(call, {}, now)});
    loss = std::prev(losses_.end());
  }
  loss->told.push_back(rank);
  MeetingReport report = loss->report;
  const bool all_know = std::all_of(loss->ranks.begin(), loss->ranks.end(), [&](int r) {
    return roster_.seat(r).state != Seat::State::here || std::find(loss->told.begin(), loss->told.end(), r) != loss->told.end();
  });
  if (all_know) losses_.erase(loss);
  return report;
}

std::optional<MeetingReport> Meetings::explain_loss(int rank, const Call& call, Time now) {
  const std::string place = key(call, true);
  const bool is_circle = std::any_of(circles_.begin(), circles_.end(), [&](const auto& known) { return known.first == place; });
  return is_circle || !cannot_fill(call.ranks) ? std::nullopt : std::optional(tell_loss(rank, call, now));
}

void Meetings::fail_for_loss(Open& meeting, Time now) {
  const Call call{meeting.group, meeting.ranks, meeting.what, {}};
  for (std::size_t i = 0; i < meeting.ranks.size(); ++i) {
    const Place& place = meeting.places[i];
    if (!place.here) continue;
    if (meeting.elsewhere) {
      send_stuck(meeting.ranks[i], lost_report(call, {}, now));  // it asks for the report when its meeting has ended
    } else {
      send_failed(meeting.ranks[i], place.ticket, tell_loss(meeting.ranks[i], call, now));
    }
  }
  end(meeting);
}

bool Meetings::tell_of_newcomer(int rank, std::uint64_t ticket, const Call& call, std::uint64_t as_of, Time now) {
  if (as_of == 0 || cannot_fill(call.ranks)) return false;
  std::vector<int> newcomers;
  for (const int each : call.ranks) {
    if (roster_.is_news(each, as_of, rank)) newcomers.push_back(each);
  }
  if (newcomers.empty()) return false;
  send_failed(rank, ticket, lost_report(call, newcomers, now));
  return true;
}

void Meetings::member_back(int rank) {
  std::erase_if(losses_, [rank](const Loss& loss) { return std::binary_search(loss.ranks.begin(), loss.ranks.end(), rank); });
}

}  // namespace tutti::control
