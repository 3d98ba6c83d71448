#include "tools/merged_output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace tutti::tools {

namespace {

constexpr std::size_t mebibyte = 1U << 20U;

}  // namespace

std::size_t MergedOutput::add_source(std::string prefix) {
  sources_.push_back({std::move(prefix), "", {}, false});
  return sources_.size() - 1;
}

bool MergedOutput::may_speak(std::size_t source, Time now) const {
  return !open_ || *open_ == source || now - sources_[*open_].last >= moment;
}

void MergedOutput::end_open_line() {
  if (open_) queue_ += '\n';
  open_.reset();
}

// One line, or a part of one; the prefix stands before its first part.
void MergedOutput::show(std::size_t source, std::string_view bytes) {
  if (open_ != source) {
    end_open_line();
    queue_ += sources_[source].prefix;
  }
  queue_ += bytes;
  if (bytes.ends_with('\n')) {
    open_.reset();
  } else {
    open_ = source;
  }
}

void MergedOutput::show_lines(std::size_t source, Time now) {
  Source& from = sources_[source];
  if (!may_speak(source, now)) return;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = from.pending.find('\n', begin)) != std::string::npos; begin = end + 1) {
    show(source, std::string_view(from.pending).substr(begin, end + 1 - begin));
  }
  from.pending.erase(0, begin);
  if (!from.pending.empty() && (open_ == source || from.pending.size() >= mebibyte))
    show(source, std::exchange(from.pending, ""));
  if (from.has_ended) {
    if (!from.pending.empty()) show(source, std::exchange(from.pending, ""));
    if (open_ == source) end_open_line();
  }
}

void MergedOutput::take(std::size_t source, std::string_view bytes, Time now) {
  if (is_broken_) return;
  sources_[source].pending += bytes;
  sources_[source].last = now;
  show_lines(source, now);
}

void MergedOutput::end(std::size_t source, Time now) {
  sources_[source].has_ended = true;
  show_lines(source, now);
}

void MergedOutput::say(std::string_view line) {
  if (is_broken_) return;
  end_open_line();
  queue_ += line;
  queue_ += '\n';
}

void MergedOutput::show_due(Time now) {
  if (is_broken_) return;
  if (is_full()) {
    // Nobody is asked for more meanwhile, so nobody is silent either.
    for (Source& source : sources_) source.last = now;
    return;
  }
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].pending.empty() && !(sources_[i].has_ended && open_ == i)) continue;
    show_lines(i, now);
    if (!sources_[i].pending.empty() && now - sources_[i].last >= moment && may_speak(i, now)) {
      show(i, std::exchange(sources_[i].pending, ""));
    }
  }
}

std::optional<MergedOutput::Time> MergedOutput::next() const {
  std::optional<Time> first;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].pending.empty()) continue;
    Time then = sources_[i].last + moment;
    if (open_ && *open_ != i) then = std::max(then, sources_[*open_].last + moment);
    if (!first || then < *first) first = then;
  }
  return first;
}

void MergedOutput::finish() {
  if (is_broken_) return;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    sources_[i].has_ended = true;
    show_lines(i, Time::max());
  }
}

bool MergedOutput::is_full() const noexcept { return queue_.size() - written_ >= 4 * mebibyte; }

bool MergedOutput::is_full(std::size_t source) const noexcept { return is_full() || sources_[source].pending.size() >= mebibyte; }

bool MergedOutput::write_some() {
  const std::size_t size = std::min<std::size_t>(queue_.size() - written_, PIPE_BUF);
  const ssize_t count = ::write(descriptor_, queue_.data() + written_, size);
  if (count < 0) {
    if (errno == EINTR || errno == EAGAIN) return true;
    is_broken_ = true;
    queue_.clear();
    written_ = 0;
    return false;
  }
  written_ += static_cast<std::size_t>(count);
  if (written_ == queue_.size() || written_ >= mebibyte) {
    queue_.erase(0, written_);
    written_ = 0;
  }
  return true;
}

}  // namespace tutti::tools
