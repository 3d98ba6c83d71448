#include "tutti/place/device_name.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/place/device_name_repair.h"

namespace tutti {

namespace {

// Locale-free, and defined for every char.
constexpr char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string uppercase(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = upper(c);
  return out;
}

// The types that may stand without "device:" before them.
bool is_well_known(std::string_view type) { return type == "CPU" || type == "GPU" || type == "TPU" || type == "CUDA"; }

// One pass, left to right. Each step returns false after setting the fault.
class Parser {
 public:
  explicit Parser(std::string_view name) : name_(name) {}

  ParsedName parse() {
    if (name_.size() > longest_device_name) {
      fail(text("the name goes on after ", longest_device_name, " characters"), longest_device_name);
    } else {
      parse_parts();
    }
    return std::move(result_);
  }

 private:
  void parse_parts() {
    if (name_.empty() || name_ == "/") return;
    at_ += name_.front() == '/' ? 1 : 0;
    while (parse_part()) {
      if (at_ == name_.size()) return;
      if (name_[at_] != '/') {
        fail("'/' or the end expected", at_);
        return;
      }
      ++at_;
    }
  }

  bool parse_part() {
    const std::size_t begin = at_;
    if (take('*')) return set_device(begin, {});
    const std::string_view word = take_word();
    if (word.empty()) return fail("a part such as 'GPU:0' or 'job:localhost' expected", begin);
    if (word == "job") return expect_colon("job") && parse_job(begin);
    if (word == "replica") return expect_colon("replica") && parse_number("replica", begin, result_.spec.replica, seen_replica_);
    if (word == "task") return expect_colon("task") && parse_number("task", begin, result_.spec.task, seen_task_);
    if (word == "device") return expect_colon("device") && parse_device(begin);
    const std::string type = uppercase(word);
    if (!is_well_known(type)) return fail(text("unknown part '", printable(word, 40), "'"), begin);
    return set_device(begin, type);
  }

  bool parse_job(std::size_t begin) {
    if (std::exchange(seen_job_, true)) return fail("a second job", begin);
    if (take('*')) return true;
    const std::string_view job = take_word();
    if (job.empty()) return fail("job name expected", at_);
    result_.spec.job = job;
    return true;
  }

  bool parse_number(std::string_view what, std::size_t begin, std::optional<unsigned>& field, bool& seen) {
    if (std::exchange(seen, true)) return fail(text("a second ", what), begin);
    return take('*') || take_number(text(what, " number"), field);
  }

  bool parse_device(std::size_t begin) {
    const std::size_t type_at = at_;
    if (take('*')) return set_device(begin, {});
    const std::string_view type = take_word();
    if (type.empty()) return fail("device type expected", type_at);
    return set_device(begin, uppercase(type));
  }

  // The type is read (empty: any); what may follow is the index.
  bool set_device(std::size_t begin, std::string type) {
    if (std::exchange(seen_device_, true)) return fail("a second device", begin);
    const bool any = type.empty();
    if (!any) result_.spec.type = type == "CUDA" ? "GPU" : std::move(type);
    if (!take(':') || take('*')) return true;
    if (any) return fail("an index needs a type, '*' expected", at_);
    return take_number("index", result_.spec.index);
  }

  bool take_number(std::string_view what, std::optional<unsigned>& field) {
    unsigned value = 0;
    const char* const end = name_.data() + name_.size();
    if (at_ == name_.size() || !is_digit(name_[at_])) return fail(text(what, " expected"), at_);
    const auto [stop, error] = std::from_chars(name_.data() + at_, end, value);
    if (error != std::errc{}) return fail(text(what, " too large"), at_);
    at_ = static_cast<std::size_t>(stop - name_.data());
    field = value;
    return true;
  }

  // A letter, then letters, digits and underscores.
  std::string_view take_word() {
    const std::size_t begin = at_;
    if (at_ == name_.size() || !is_letter(name_[at_])) return {};
    while (at_ < name_.size() && (is_letter(name_[at_]) || is_digit(name_[at_]) || name_[at_] == '_')) ++at_;
    return name_.substr(begin, at_ - begin);
  }

  bool take(char c) {
    if (at_ == name_.size() || name_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool expect_colon(std::string_view after) { return take(':') || fail(text("':' expected after '", after, "'"), at_); }

  bool fail(std::string what, std::size_t position) {
    result_ = {.spec = {}, .fault = std::move(what), .position = position};
    return false;
  }

  std::string_view name_;
  std::size_t at_ = 0;
  ParsedName result_;
  bool seen_job_ = false;
  bool seen_replica_ = false;
  bool seen_task_ = false;
  bool seen_device_ = false;
};

}  // namespace

ParsedName try_parse_device_name(std::string_view name) { return Parser(name).parse(); }

DeviceSpec parse_device_name(std::string_view name, Site site) {
  ParsedName parsed = try_parse_device_name(name);
  if (parsed.fault.empty()) return std::move(parsed.spec);
  const std::string meant = nearest_device_name(name);
  const std::string hint = meant.empty() ? "" : text("; did you mean '", meant, "'?");
  throw InvalidDeviceName(text("'", printable(name), "': ", parsed.fault, " at position ", parsed.position, hint), site);
}

std::string to_string(const DeviceSpec& spec) {
  std::string out;
  if (spec.job) out += text("/job:", *spec.job);
  if (spec.replica) out += text("/replica:", *spec.replica);
  if (spec.task) out += text("/task:", *spec.task);
  if (spec.type) out += text("/device:", *spec.type);
  if (spec.type && spec.index) out += text(":", *spec.index);
  return out;
}

DeviceSpec merge(const DeviceSpec& outer, const DeviceSpec& inner) {
  DeviceSpec out = inner;
  if (!out.job) out.job = outer.job;
  if (!out.replica) out.replica = outer.replica;
  if (!out.task) out.task = outer.task;
  if (!out.type) out.type = outer.type;
  if (!out.index && out.type == outer.type) out.index = outer.index;
  return out;
}

std::string canonical_name(std::string_view type, unsigned index) {
  return text("/job:localhost/replica:0/task:0/device:", type, ":", index);
}

}  // namespace tutti
