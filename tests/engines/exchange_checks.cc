#include "engines/exchange_checks.h"

#include <array>
#include <limits>
#include <random>

#include <tutti/tensor/dtype_visit.h>
#include "engines/processes.h"
#include "engines/serial.h"
#include "tutti/base/text.h"

namespace tutti::testing_engines {

namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::uint8_t>;

constexpr std::array<std::size_t, 6> counts{1, 2, 3, 7, 1000, 65537};
constexpr std::array all_reductions{Reduction::sum, Reduction::mean, Reduction::min, Reduction::max, Reduction::prod};

bool is_defined(DType dtype, Reduction reduction) {
  if (reduction == Reduction::min || reduction == Reduction::max) return true;
  return dtype != DType::boolean && (reduction != Reduction::mean || is_floating(dtype));
}

// Few of the largest where it is slow: they differ from the others in their chunks only.
bool is_wanted(std::size_t count, Reduction reduction, DType dtype) {
  return count < 65537 || reduction == Reduction::sum || (dtype == DType::f32 && !is_sanitized());
}

template <class T>
Bytes bytes_of(std::initializer_list<T> values) {
  Bytes out(values.size() * sizeof(T));
  std::memcpy(out.data(), values.begin(), out.size());
  return out;
}

}  // namespace

void check_reductions(Exchange& exchange) {
  const int size = exchange.size();
  for (std::size_t d = 0; d < dtype_count; ++d) {
    const auto dtype = static_cast<DType>(d);
    visit_dtype(dtype, [&](auto of) {
      using T = decltype(of);
      for (const Reduction reduction : all_reductions) {
        for (const std::size_t count : counts) {
          if (!is_defined(dtype, reduction) || !is_wanted(count, reduction, dtype)) continue;
          const std::string what =
              text(to_string(dtype), ", reduction ", static_cast<int>(reduction), ", ", count, " elements, ", size, " members");
          Bytes in = elements<T>(exchange.index(), count);
          const Bytes expected = all_reduced<T>(size, count, reduction);
          Bytes out(in.size());
          exchange.all_reduce(in.data(), out.data(), count, dtype, reduction, testing_engines::in(60s));
          require(out == expected, "all_reduce of " + what);
          exchange.all_reduce(in.data(), in.data(), count, dtype, reduction, testing_engines::in(60s));
          require(in == expected, "all_reduce in place of " + what);

          if (count == 65537 && size > 2) continue;
          Bytes whole = elements<T>(exchange.index(), count * static_cast<std::size_t>(size));
          const Bytes share = all_reduced<T>(size, count, reduction, count * static_cast<std::size_t>(exchange.index()));
          exchange.reduce_scatter(whole.data(), out.data(), count, dtype, reduction, testing_engines::in(60s));
          require(out == share, "reduce_scatter of " + what);
          exchange.reduce_scatter(whole.data(), whole.data(), count, dtype, reduction, testing_engines::in(60s));
          whole.resize(out.size());
          require(whole == share, "reduce_scatter in place of " + what);
        }
      }
    });
  }
}

void check_movements(Exchange& exchange) {
  const auto size = static_cast<std::size_t>(exchange.size());
  const auto self = static_cast<std::size_t>(exchange.index());
  for (const std::size_t bytes : counts) {
    const std::string what = text(" of ", bytes, " bytes, ", size, " members");
    for (int root = 0; root < exchange.size(); ++root) {
      Bytes data = elements<std::uint8_t>(exchange.index(), bytes);
      Bytes told(bytes);
      exchange.broadcast(data.data(), told.data(), bytes, root, in(60s));
      require(told == elements<std::uint8_t>(root, bytes), text("broadcast from ", root, what));
      exchange.broadcast(data.data(), data.data(), bytes, root, in(60s));
      require(data == told, text("broadcast in place from ", root, what));
    }
    const Bytes mine = elements<std::uint8_t>(exchange.index(), bytes);
    Bytes out(bytes * size);
    exchange.all_gather(mine.data(), out.data(), bytes, in(60s));
    Bytes expected;
    for (std::size_t member = 0; member < size; ++member) {
      const Bytes part = elements<std::uint8_t>(static_cast<int>(member), bytes);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    require(out == expected, "all_gather" + what);
    Bytes both = mine;
    both.resize(bytes * size);
    exchange.all_gather(both.data(), both.data(), bytes, in(60s));
    require(both == expected, "all_gather in place" + what);

    Bytes whole = elements<std::uint8_t>(exchange.index(), bytes * size);
    expected.clear();
    for (std::size_t member = 0; member < size; ++member) {
      const Bytes part = elements<std::uint8_t>(static_cast<int>(member), bytes, bytes * self);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    exchange.all_to_all(whole.data(), out.data(), bytes, in(60s));
    require(out == expected, "all_to_all" + what);
    exchange.all_to_all(whole.data(), whole.data(), bytes, in(60s));
    require(whole == expected, "all_to_all in place" + what);
  }
}

// One after the other without a pause: what one leaves behind must not be in the way of the next.
void check_sequence(Exchange& exchange, int rounds, unsigned seed) {
  std::mt19937 random(seed);  // the same on all
  const auto size = static_cast<std::size_t>(exchange.size());
  for (int round = 0; round < rounds; ++round) {
    const std::size_t count = random() % (round % 8 == 0 ? 20'000 : 300);
    const auto kind = random() % 5;
    const auto root = static_cast<int>(random() % size);
    const std::string what = text("round ", round, ", kind ", kind, ", ", count, " elements, ", size, " members");
    Bytes in = elements<float>(exchange.index(), count * size);
    Bytes out(in.size());
    const auto deadline = testing_engines::in(60s);
    if (kind == 0) {
      exchange.all_reduce(in.data(), out.data(), count, DType::f32, Reduction::sum, deadline);
      out.resize(count * sizeof(float));
      require(out == all_reduced<float>(exchange.size(), count, Reduction::sum), "all_reduce, " + what);
    } else if (kind == 1) {
      exchange.reduce_scatter(in.data(), out.data(), count, DType::f32, Reduction::sum, deadline);
      out.resize(count * sizeof(float));
      require(
          out == all_reduced<float>(exchange.size(), count, Reduction::sum, count * static_cast<std::size_t>(exchange.index())),
          "reduce_scatter, " + what);
    } else if (kind == 2) {
      exchange.broadcast(in.data(), in.data(), in.size(), root, deadline);
      require(in == elements<float>(root, count * size), "broadcast, " + what);
    } else if (kind == 3) {
      exchange.all_gather(in.data(), out.data(), count * sizeof(float), deadline);
      for (std::size_t member = 0; member < size; ++member) {
        const Bytes part = elements<float>(static_cast<int>(member), count);
        require(std::equal(part.begin(), part.end(), out.begin() + static_cast<std::ptrdiff_t>(member * part.size())),
                "all_gather, " + what);
      }
    } else {
      exchange.all_to_all(in.data(), out.data(), count * sizeof(float), deadline);
      for (std::size_t member = 0; member < size; ++member) {
        const Bytes part = elements<float>(static_cast<int>(member), count, count * static_cast<std::size_t>(exchange.index()));
        require(std::equal(part.begin(), part.end(), out.begin() + static_cast<std::ptrdiff_t>(member * part.size())),
                "all_to_all, " + what);
      }
    }
  }
}

void check_nans_and_zeros(Exchange& exchange) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // Member 0 has the NaN in the first place, the last member in the second.
  const bool is_first = exchange.index() == 0;
  const bool is_last = exchange.index() == exchange.size() - 1;
  const Bytes in = bytes_of<float>({is_first ? nan : 1, is_last ? nan : 1, is_first ? 0.F : -0.F});
  for (const Reduction reduction : {Reduction::min, Reduction::max}) {
    std::array<float, 3> out{};
    exchange.all_reduce(in.data(), out.data(), 3, DType::f32, reduction, testing_engines::in(30s));
    require(std::isnan(out[0]) && std::isnan(out[1]), "a NaN was lost");
    require(out[2] == 0 && !std::signbit(out[2]), "not the first of equal zeros");
  }
}

void check_refusals(Exchange& exchange) {
  const auto is_refused = [&](DType dtype, Reduction reduction) {
    std::int64_t in = 1;
    std::int64_t out = 0;
    try {
      exchange.all_reduce(&in, &out, 1, dtype, reduction, testing_engines::in(30s));
    } catch (const DTypeError&) {
      return true;
    }
    return false;
  };
  require(is_refused(DType::boolean, Reduction::sum), "a sum of bool");
  require(is_refused(DType::boolean, Reduction::prod), "a product of bool");
  require(is_refused(DType::i32, Reduction::mean), "a mean of integers");
  require(!is_refused(DType::i32, Reduction::sum), "goes on afterwards");
}

}  // namespace tutti::testing_engines
