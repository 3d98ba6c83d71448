// A member's connection once it is one: requests with tickets, answers that are waited for, heartbeats both ways.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tutti/base/clock.h"
#include "tutti/base/site.h"
#include "tutti/mesh/control/meeting.h"
#include "tutti/mesh/control/sockets.h"
#include "tutti/mesh/wire/frames.h"
#include "tutti/mesh/wire/seal.h"

namespace tutti::control {

struct LinkOptions {
  std::string address;
  std::chrono::milliseconds heartbeat{1'000};
  std::chrono::milliseconds dead_after{10'000};
  std::int64_t its_time = 0;  // as the coordinator said with its welcome
  std::function<std::string()> doing;
};

// Whoever waits for an answer reads the socket itself, so that an answer wakes one thread and not two; while nobody waits, the
// link's own thread reads.
class Link {
 public:
  // `socket` is past the welcome; `rest` holds what came behind it.
  Link(Descriptor socket, wire::FrameReader rest, wire::Seals seals, LinkOptions options);
  // Takes leave. In a forked child: lets go without a word.
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Says so, and waits a moment for the coordinator to have heard it. Whoever waits for an answer, and whoever comes later, is
  // told.
  void leave() noexcept;

  // A ticket for which an answer will be kept until it is taken or forgotten.
  std::uint64_t open_ticket();
  void close_ticket(std::uint64_t ticket) noexcept;
  // As open_ticket; nobody waits for it, the link's own thread calls with the answer.
  std::uint64_t open_ticket(std::function<void(const std::string& answer)> call);
  // Frames for the coordinator. Throws what ended the link.
  void send(std::string_view frames, Site site);
  // As send, where there is nobody to throw to.
  void send_quietly(std::string_view frames) noexcept;
  // The answer, whose first byte is its kind; nothing: not yet. Throws what ended the link.
  std::optional<std::string> wait(std::uint64_t ticket, Deadline until, Site site);
  // Until the job is aborted, or the deadline.
  void wait_for_abort(Clock::time_point until);

  void on_loss(std::function<void(int rank, const std::string& why, std::uint64_t ended)> call);
  void on_deadlock(std::function<void(const MeetingReport& report)> call);
  // Whether this process still waits where it told that it does, by the number it gave.
  void on_question(std::function<bool(std::uint64_t wait)> call);

  [[nodiscard]] bool forked() const noexcept;
  // Throws what ended the link, if something has.
  void check(Site site);
  [[nodiscard]] std::chrono::milliseconds silence() const;
  // What the coordinator's clock shows then, in ns: as far as its messages tell, and rather less than more.
  [[nodiscard]] std::int64_t coordinator_time(Clock::time_point then) const;
  [[nodiscard]] const std::string& address() const noexcept { return options_.address; }
  // This end's host, as the coordinator sees it.
  [[nodiscard]] std::string local_host() const;

 private:
  struct Question {
    std::uint64_t wait = 0;
    std::uint64_t number = 0;
  };
  struct News {
    int rank = -1;
    std::string why = {};
    std::uint64_t ended = never_back;
    std::optional<MeetingReport> stuck = {};
    std::optional<Question> asked = {};
    std::function<void()> answered = {};
  };

  void run();
  void beat(Clock::time_point now);
  void judge_silence(Clock::time_point now);
  void deliver_news();
  // Within so many milliseconds; -1: whenever it comes.
  [[nodiscard]] bool has_more(int milliseconds) const;
  // One read of the socket, by whoever has the turn to read.
  void read();
  void take_in();
  void dispatch_all();
  void note_time(std::int64_t its_time);
  void dispatch(std::string_view message);
  void throw_if_ended(Site site) const;
  void end(const std::string& why);
  void write(std::string_view frames);
  void write_rest();
  void watch();
  void wake() noexcept;
  void tell_news(News news);

  LinkOptions options_;
  Descriptor socket_;
  Descriptor epoll_;
  Descriptor wake_;
  int owner_ = 0;  // pid
  std::atomic<Clock::rep> heard_;
  std::atomic<std::int64_t> ahead_;  // its clock before ours, in ns
  wire::FrameReader in_;             // of whoever reads, as the next
  wire::Seal opens_;

  mutable std::mutex mutex_;
  std::condition_variable turn_;
  std::unordered_map<std::uint64_t, std::string> answers_;                             // empty: not yet
  std::unordered_map<std::uint64_t, std::function<void(const std::string&)>> called_;  // that nobody waits for
  std::uint64_t next_ticket_ = 1;
  bool reading_ = false;    // a thread waits for the socket, or
  bool taking_in_ = false;  // takes in what was there
  int waiting_ = 0;
  std::uint32_t watched_ = 0;  // what epoll_ watches the socket for
  wire::Seal seals_;
  std::string unsent_;
  std::string ended_;  // why the coordinator is lost; empty: it is not
  std::optional<MeetingReport> aborted_;
  bool leaving_ = false;
  std::vector<News> news_;
  std::function<void(int, const std::string&, std::uint64_t)> on_loss_;
  std::function<void(const MeetingReport&)> on_deadlock_;
  std::function<bool(std::uint64_t)> on_question_;

  Clock::time_point next_beat_;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace tutti::control
