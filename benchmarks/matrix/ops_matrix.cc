// Every op beside libtorch's on the CPU: both results are compared, then both are timed in turn. Where they differ, libtorch in
// double precision tells who is right.
// usage: ops_matrix [--json FILE] [--filter TEXT] [--quick] [--seconds N] [--keep-pages]   (exit 1: some of our results are
// wrong)
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <malloc.h>
#include <torch/version.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "matrix.h"
#include "versus.h"

namespace {

using matrix::Cell;
using matrix::Given;
using matrix::Kind;

using Theirs = at::Tensor (*)(const at::Tensor& x, const at::Tensor& y, const at::Tensor& z);

#define PASS(name, dtypes, operands, ours, theirs)                               \
  []([[maybe_unused]] const at::Tensor& x, [[maybe_unused]] const at::Tensor& y, \
     [[maybe_unused]] const at::Tensor& z) -> at::Tensor { return theirs; },
#define WORK PASS
#define DRAW PASS
#define NET PASS
const Theirs all_theirs[] = {
#include "entries.inc"
};

at::ScalarType type_of(tutti::DType dtype) {
  switch (dtype) {
    case tutti::DType::boolean: return at::kBool;
    case tutti::DType::u8: return at::kByte;
    case tutti::DType::i8: return at::kChar;
    case tutti::DType::i16: return at::kShort;
    case tutti::DType::i32: return at::kInt;
    case tutti::DType::i64: return at::kLong;
    case tutti::DType::f16: return at::kHalf;
    case tutti::DType::bf16: return at::kBFloat16;
    case tutti::DType::f32: return at::kFloat;
    case tutti::DType::f64: return at::kDouble;
  }
  return at::kFloat;
}

// The same memory under the other library's type.
at::Tensor twin(const tutti::Tensor& x) {
  if (!x.is_defined()) return {};
  const std::vector<std::int64_t> sizes(x.shape().begin(), x.shape().end());
  const std::vector<std::int64_t> strides(x.strides().begin(), x.strides().end());
  return at::from_blob(x.impl().address(), sizes, strides, at::TensorOptions().dtype(type_of(x.dtype())));
}

at::Tensor in_double(const at::Tensor& x) { return x.defined() && at::isFloatingType(x.scalar_type()) ? x.to(at::kDouble) : x; }

// Empty, or how they differ.
std::string difference(const Cell& cell, const tutti::Tensor& ours, const at::Tensor& theirs) {
  const tutti::Tensor dense = tutti::contiguous(ours);
  at::Tensor mine = twin(dense);
  if (mine.sizes() != theirs.sizes()) return "the shapes differ";
  if (cell.entry->kind == Kind::draw) return {};
  mine = mine.reshape(-1);
  at::Tensor other = theirs.reshape(-1);
  if (mine.numel() > (4 << 20)) {  // a part of it tells as much
    mine = mine.slice(0, 17, mine.numel(), 61);
    other = other.slice(0, 17, other.numel(), 61);
  }
  if (!at::isFloatingType(mine.scalar_type())) {
    return at::equal(mine.to(at::kLong), other.to(at::kLong)) ? "" : "the elements differ";
  }
  // Sums of many terms differ by more; bf16 has 8 bits.
  const double terms = matrix::terms_of(cell, theirs.numel());
  const double relative = mine.scalar_type() == at::kBFloat16 ? 0x1p-6 : 1e-4;
  const at::Tensor close = at::isclose(mine.to(at::kDouble), other.to(at::kDouble), relative, relative * std::sqrt(terms), true);
  if (at::all(close).item<bool>()) return {};
  const auto at = at::argmin(close.to(at::kByte)).item<std::int64_t>();
  return "element " + std::to_string(at) + " is " + std::to_string(mine[at].item<double>()) + " here and " +
         std::to_string(other[at].item<double>()) + " there";
}

// The judge where two results differ. libtorch adds up many terms, and halves, less exactly in places.
bool is_as_in_double(const Cell& cell, const tutti::Tensor& ours, Theirs theirs, const at::Tensor& x, const at::Tensor& y,
                     const at::Tensor& z) {
  try {
    return difference(cell, ours, theirs(in_double(x), in_double(y), in_double(z))).empty();
  } catch (const std::exception&) {
    return false;  // libtorch has no such op for doubles, so nothing speaks for ours
  }
}

struct Times {
  double ours = 0;  // microseconds, medians
  double theirs = 0;
  double ratio = 0;
};

// libtorch's threads spin for many milliseconds after large work; on the cores of ours they would be counted as ours.
void wait_until_other_threads_sleep() {
  for (int tries = 0; tries < 100; ++tries) {
    bool all_sleep = true;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      if (task.path().filename() == std::to_string(::gettid())) continue;
      std::ifstream stat(task.path() / "stat");
      std::string line;
      std::getline(stat, line);
      const std::size_t name_end = line.rfind(')');
      all_sleep = all_sleep && (name_end == std::string::npos || line.compare(name_end + 2, 1, "R") != 0);
    }
    if (all_sleep) return;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

template <class Mine, class Other>
Times once_each(Mine&& mine, Other&& other) {
  const double ours = bench::sample(1, mine) / 1e3;
  const double theirs = bench::sample(1, other) / 1e3;
  return {ours, theirs, theirs / ours};
}

// In a few rounds, each side warm and with the cores to itself before it is timed.
template <class Mine, class Other>
Times in_turn(double seconds, bool is_parallel, Mine&& mine, Other&& other) {
  constexpr int rounds = 4;
  double once = bench::sample(1, mine) + bench::sample(1, other);
  once = std::min(once, bench::sample(1, mine) + bench::sample(1, other));
  const int calls = static_cast<int>(std::clamp(100e3 / once, 1.0, 200.0));
  const int samples = static_cast<int>(std::clamp(seconds * 1e9 / (once * calls * rounds), 1.0, 8.0));
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> ratios;
  const auto take = [&](auto&& side, std::vector<double>& into) {
    if (is_parallel) wait_until_other_threads_sleep();
    const auto warm = bench::Clock::now();  // until the threads of a machine that was idle are awake
    do {
      side();
    } while (is_parallel && bench::nanoseconds_since(warm) < 4e6);
    const std::size_t from = into.size();
    for (int i = 0; i < samples; ++i) into.push_back(bench::sample(calls, side) / 1e3);
    return bench::summarise({into.begin() + static_cast<std::ptrdiff_t>(from), into.end()}).median;
  };
  for (int round = 0; round < rounds; ++round) {
    const double ours = take(mine, a);
    ratios.push_back(take(other, b) / ours);
  }
  return {bench::summarise(a).median, bench::summarise(b).median, bench::summarise(ratios).median};
}

}  // namespace

int main(int argc, char** argv) {
  // Debian's oneDNN 2.6 dies of an illegal instruction in products of bf16 where the processor has tile registers.
  setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", 0);
  const bench::Options options(argc, argv, {"--filter=", "--seconds=", "--keep-pages"});
  const double most_seconds = options.has("--seconds") ? std::atof(options.value("--seconds").c_str()) : 330;
  if (options.has("--keep-pages")) {  // libtorch's best case: large results do not map fresh pages
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
  }
  const c10::InferenceMode inference;
  at::set_num_threads(static_cast<int>(tutti::get_num_threads()));
  const std::uint64_t seed = std::random_device{}();
  const std::string peer = std::string("libtorch ") + TORCH_VERSION;
  std::printf("seed %llu, %s with %d threads\n", static_cast<unsigned long long>(seed), peer.c_str(), at::get_num_threads());

  nlohmann::json absent = nlohmann::json::array();
  for (const matrix::Entry& entry : matrix::entries()) {
    if (entry.ours == nullptr) absent.push_back(entry.name);
  }
  nlohmann::json rows = nlohmann::json::array();
  nlohmann::json refused = nlohmann::json::array();
  nlohmann::json wrong = nlohmann::json::array();
  nlohmann::json inaccurate = nlohmann::json::array();
  std::map<std::tuple<const matrix::Entry*, tutti::DType, matrix::Layout>, double> once;  // microseconds at the size before
  int skipped = 0;
  matrix::Store store(seed);
  const auto start = bench::Clock::now();
  const std::vector<Cell> cells = matrix::cells(options.value("--filter"), options.is_quick() ? 32 : 8192);
  for (const Cell& cell : cells) {
    const std::string name = std::string(cell.entry->name) + ", " + std::string(tutti::to_string(cell.dtype)) + ", " +
                             matrix::to_string(cell.layout) + ", " + std::to_string(cell.side) + " squared";
    const std::tuple key{cell.entry, cell.dtype, cell.layout};
    const bool is_slow = cell.side > 1024 && once.count(key) != 0 && once[key] * 64 * 4 > 1.6e6;
    if (is_slow || bench::nanoseconds_since(start) > most_seconds * 1e9) {
      ++skipped;
      continue;
    }
    try {
      const Given given = store.operands(cell);
      const at::Tensor x = twin(given.x);
      const at::Tensor y = twin(given.y);
      const at::Tensor z = twin(given.z);
      const Theirs theirs = all_theirs[cell.entry - matrix::entries().data()];
      double bytes = 0;
      {
        const tutti::Tensor result = cell.entry->ours(given.x, given.y, given.z);
        const std::string fault = difference(cell, result, theirs(x, y, z));
        if (!fault.empty() && is_as_in_double(cell, result, theirs, x, y, z)) {
          std::printf("note: libtorch is wrong: %s: %s\n", name.c_str(), fault.c_str());
          inaccurate.push_back(name + ": " + fault);
        } else if (!fault.empty()) {
          std::fprintf(stderr, "%s: %s\n", name.c_str(), fault.c_str());
          wrong.push_back(name + ": " + fault);
          continue;
        }
        bytes = matrix::bytes_moved(cell, given, result);
      }
      const auto mine = [&] { (void)cell.entry->ours(given.x, given.y, given.z); };
      const auto other = [&] { (void)theirs(x, y, z); };
      const Times times = options.is_quick() ? once_each(mine, other) : in_turn(0.04, cell.side > 32, mine, other);
      once[key] = times.ours + times.theirs;
      rows.push_back({{"op", cell.entry->name},
                      {"dtype", tutti::to_string(cell.dtype)},
                      {"layout", matrix::to_string(cell.layout)},
                      {"size", cell.side * cell.side},
                      {"is_pass", cell.entry->kind == Kind::pass},
                      {"bytes", bytes},
                      {"ours_us", times.ours},
                      {"theirs_us", times.theirs},
                      {"ratio", times.ratio}});
    } catch (const std::exception& error) {
      const std::string all = error.what();
      refused.push_back(name + ": " + all.substr(0, all.find('\n')));
    }
  }
  std::printf("%zu cells in %.0f s; %zu cannot be measured, %zu of ours are wrong, %zu of theirs, %d skipped for want of time\n",
              rows.size(), bench::nanoseconds_since(start) / 1e9, refused.size(), wrong.size(), inaccurate.size(), skipped);
  const nlohmann::json all{{"benchmark", "ops_matrix"},
                           {"peer", peer},
                           {"device", "CPU"},
                           {"threads", at::get_num_threads()},
                           {"cells", rows},
                           {"absent", absent},
                           {"refused", refused},
                           {"wrong", wrong},
                           {"inaccurate", inaccurate},
                           {"skipped", skipped},
                           {"seed", seed}};
  if (!options.json().empty()) std::ofstream(options.json()) << all.dump(1) << '\n';
  return wrong.empty() ? 0 : 1;
}
