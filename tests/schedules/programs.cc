#include "schedules/programs.h"

#include <numeric>
#include <random>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::schedules {

namespace {

constexpr std::int64_t length = 64;

// Distinct values, so that anything read too early or too late is seen.
Tensor counting(std::int64_t from) {
  std::vector<std::int64_t> values(length);
  std::iota(values.begin(), values.end(), from);
  return constant(values, {length});
}

std::vector<std::int64_t> counted(std::int64_t from, std::int64_t step = 1) {
  std::vector<std::int64_t> values(length);
  for (std::int64_t i = 0; i < length; ++i) values[static_cast<std::size_t>(i)] = from + i * step;
  return values;
}

std::string check(const char* what, const Tensor& got, const std::vector<std::int64_t>& expected) {
  const std::vector<std::int64_t> values = read<std::int64_t>(got);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == expected[i]) continue;
    return std::string(what) + "[" + std::to_string(i) + "] is " + std::to_string(values[i]) + ", not " +
           std::to_string(expected[i]);
  }
  return "";
}

std::string first_of(std::initializer_list<std::string> complaints) {
  for (const std::string& complaint : complaints) {
    if (!complaint.empty()) return complaint;
  }
  return "";
}

}  // namespace

std::string values_cross_streams() {
  const DeviceScope on("GPU:0");
  Stream other("GPU:0");
  Stream third("GPU:0");
  const Tensor a = counting(1);
  Tensor b;
  Tensor c;
  Tensor d;
  {
    const StreamScope in(other);
    b = a * 2;
  }
  {
    const StreamScope in(third);
    c = a + b;
  }
  {
    const StreamScope in(other);
    d = c + b;
  }
  const Tensor e = d + c;
  return first_of(
      {check("b", b, counted(2, 2)), check("c", c, counted(3, 3)), check("d", d, counted(5, 5)), check("e", e, counted(8, 8))});
}

std::string values_cross_devices() {
  Tensor a;
  {
    const DeviceScope on("GPU:0");
    a = counting(10) + 1;
  }
  Tensor b;
  {
    const DeviceScope on("GPU:1");
    b = a * 3;
  }
  Tensor c;
  {
    const DeviceScope on("CPU:0");
    c = a + b;
  }
  Tensor d;
  {
    const DeviceScope on("GPU:0");
    d = b + c;
  }
  return first_of({check("b", b, counted(33, 3)), check("c", c, counted(44, 4)), check("d", d, counted(77, 7))});
}

std::string memory_is_reused_across_streams() {
  const DeviceScope on("GPU:0");
  Stream other("GPU:0");
  std::vector<Tensor> kept;
  for (std::int64_t i = 0; i < 4; ++i) {
    Tensor x = counting(100 * i) + 1;  // its memory is free again at the end of the turn, while `other` still reads it
    const StreamScope in(other);
    kept.push_back(x * 2);
  }
  for (std::int64_t i = 0; i < 4; ++i) {
    std::string complaint = check("kept", kept[static_cast<std::size_t>(i)], counted(200 * i + 2, 2));
    if (!complaint.empty()) return complaint;
  }
  return "";
}

std::string given_away_memory_has_readers() {
  const DeviceScope on("GPU:0");
  Stream other("GPU:0");
  Tensor x = counting(5) + 0;
  std::vector<Tensor> seen;
  for (int i = 0; i < 3; ++i) {
    {
      const StreamScope in(other);
      seen.push_back(x * 10);
    }
    x = add(std::move(x), 1);
  }
  return first_of({check("seen 0", seen[0], counted(50, 10)), check("seen 1", seen[1], counted(60, 10)),
                   check("seen 2", seen[2], counted(70, 10)), check("x", x, counted(8))});
}

std::string variables_are_assigned_across_streams() {
  const DeviceScope on("GPU:0");
  Stream other("GPU:0");
  Variable v(counting(1));
  Tensor doubled;
  {
    const StreamScope in(other);
    doubled = v.value() * 2;
    v.assign(doubled);
  }
  v.assign_add(7);
  Tensor tripled;
  {
    const StreamScope in(other);
    tripled = v.value() * 3;
  }
  v.assign(counting(1000));
  return first_of({check("doubled", doubled, counted(2, 2)), check("tripled", tripled, counted(27, 6)),
                   check("v", v.value(), counted(1000))});
}

std::string uploads_reuse_their_staging() {
  const DeviceScope on("GPU:0");
  Stream other("GPU:0");
  std::vector<Tensor> uploaded;
  for (std::int64_t i = 0; i < 6; ++i) {
    if (i % 2 == 0) {
      uploaded.push_back(counting(1000 * i));
    } else {
      const StreamScope in(other);
      uploaded.push_back(counting(1000 * i) + uploaded.back());
    }
  }
  return first_of({check("0", uploaded[0], counted(0)), check("1", uploaded[1], counted(1000, 2)),
                   check("2", uploaded[2], counted(2000)), check("3", uploaded[3], counted(5000, 2)),
                   check("5", uploaded[5], counted(9000, 2))});
}

std::string lent_memory_is_given_back_after_its_last_use() {
  const DeviceScope on("GPU:0");
  std::vector<std::int64_t> lent = counted(1);
  Stream other("GPU:0");
  Tensor copied;
  Tensor again;
  {
    const Tensor wrapped =
        wrap_host_memory(lent.data(), DType::i64, {length}, [&lent] { std::fill(lent.begin(), lent.end(), -1); });
    copied = wrapped + 1;
    const StreamScope in(other);
    again = wrapped * 2;
  }
  std::string complaint = first_of({check("copied", copied, counted(2)), check("again", again, counted(2, 2))});
  if (!complaint.empty()) return complaint;
  sync_devices();
  return lent[0] == -1 ? "" : "the memory was not given back";
}

std::string random_program(std::uint64_t program_seed, const std::string& tolerated) {
  std::mt19937_64 random(program_seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<Stream> streams;
  for (const char* device : {"GPU:0", "GPU:0", "GPU:1"}) streams.emplace_back(device);
  struct Value {
    Tensor tensor;
    std::vector<std::int64_t> expected;
  };
  std::vector<Value> values;
  std::vector<Value> results;
  for (std::int64_t i = 0; i < 3; ++i) values.push_back({counting(1 + 1000 * i), counted(1 + 1000 * i)});
  for (int op = 0; op < 16; ++op) {
    const StreamScope in(streams[below(streams.size())]);
    const DeviceScope on(below(5) == 0 ? "CPU:0" : below(2) == 0 ? "GPU:0" : "GPU:1");
    const std::size_t left = below(values.size());
    const std::size_t right = below(values.size());
    Value made;
    made.expected.resize(static_cast<std::size_t>(length));
    for (std::size_t i = 0; i < made.expected.size(); ++i)
      made.expected[i] = values[left].expected[i] + values[right].expected[i] + op;
    made.tensor = values[left].tensor + values[right].tensor;
    made.tensor = add(std::move(made.tensor), op);
    results.push_back(made);
    if (below(3) == 0) {
      values[left] = std::move(made);  // lets go of a value others may still read
    } else {
      values.push_back(std::move(made));
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::string complaint;
    try {
      complaint = check(("result " + std::to_string(i)).c_str(), results[i].tensor, results[i].expected);
    } catch (const Error& e) {
      const bool is_tolerated = !tolerated.empty() && std::string(e.what()).find(tolerated) != std::string::npos;
      if (!is_tolerated) complaint = std::string("unexpected error: ") + e.what();
    }
    if (!complaint.empty()) return complaint;
  }
  return "";
}

}  // namespace tutti::schedules
