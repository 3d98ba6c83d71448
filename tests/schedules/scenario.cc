#include "schedules/scenario.h"

#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "tutti/backends/strand/driver.h"
#include "tutti/exec/order.h"
#include "tutti/tutti.h"

namespace tutti::schedules {

namespace {

std::vector<Edge>& seen() {
  static std::vector<Edge> edges;
  return edges;
}
std::optional<Edge> to_drop;

bool keep_edge(TimelinePoint producer, TimelinePoint consumer) noexcept {
  const Edge edge{index_of(producer.stream), producer.value, index_of(consumer.stream), consumer.value};
  seen().push_back(edge);
  return edge != to_drop;
}

template <class T>
void send(int fd, const T* data, std::size_t count) {
  const char* from = reinterpret_cast<const char*>(data);
  for (std::size_t left = count * sizeof(T); left > 0;) {
    const ssize_t sent = ::write(fd, from, left);
    if (sent <= 0) ::_exit(3);
    from += sent;
    left -= static_cast<std::size_t>(sent);
  }
}

[[noreturn]] void run_child(const Program& program, std::uint64_t seed, const std::optional<Edge>& dropped, unsigned gpus,
                            int fd) {
  std::string complaint;
  try {
    simulate_gpus(gpus, {.memory_bytes = MiB(64), .driver = SimulationDriver::stepped, .seed = seed});
    to_drop = dropped;
    set_edge_filter(&keep_edge);
    complaint = program();
  } catch (const std::exception& e) {
    complaint = e.what();
  }
  std::uint64_t hash = 1469598103934665603ULL;
  for (const ScheduleStep& step : stepped_schedule())
    hash = (hash ^ (step.stream * 0x9E3779B97F4A7C15ULL + step.value)) * 1099511628211ULL;
  const std::uint64_t head[3] = {hash, seen().size(), complaint.size()};
  send(fd, head, 3);
  send(fd, seen().data(), seen().size());
  send(fd, complaint.data(), complaint.size());
  ::_exit(0);
}

template <class T>
void receive(int fd, T* data, std::size_t count) {
  char* to = reinterpret_cast<char*>(data);
  for (std::size_t left = count * sizeof(T); left > 0;) {
    const ssize_t got = ::read(fd, to, left);
    if (got <= 0) throw std::runtime_error("the child process died");
    to += got;
    left -= static_cast<std::size_t>(got);
  }
}

}  // namespace

std::string to_string(const Edge& e) {
  return std::to_string(e.producer_stream) + "@" + std::to_string(e.producer_value) + " -> " + std::to_string(e.consumer_stream) +
         "@" + std::to_string(e.consumer_value);
}

Outcome run(const Program& program, std::uint64_t seed, const std::optional<Edge>& dropped, unsigned gpus) {
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    ::close(ends[0]);
    run_child(program, seed, dropped, gpus, ends[1]);
  }
  ::close(ends[1]);
  Outcome out;
  try {
    std::uint64_t head[3];
    receive(ends[0], head, 3);
    out.schedule = head[0];
    out.edges.resize(head[1]);
    receive(ends[0], out.edges.data(), out.edges.size());
    out.complaint.resize(head[2]);
    receive(ends[0], out.complaint.data(), out.complaint.size());
    out.is_right = out.complaint.empty();
  } catch (const std::exception& e) {
    out.complaint = e.what();
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return out;
}

}  // namespace tutti::schedules
