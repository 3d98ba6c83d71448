// Every row of *Sync-Free*'s table, and of what is known beyond it, that our functions have: one form that makes exactly the
// syncs it must, one that makes none, and both give the same values.
#include <functional>

#include "conformance/backend.h"
#include "tutti/hal/door.h"

namespace tutti::conformance {

namespace {

using Values = std::vector<double>;

struct Operands {
  Tensor x = constant({3.F, -1.F, 4.F, -1.F, 5.F, -9.F, 2.F, 6.F}) * 1;  // made on the device
  Tensor other = constant({2.F, 7.F, 1.F, 8.F, 2.F, 8.F, 1.F, 8.F}) * 1;
  Tensor mask = x > 0;
  Tensor repeats = constant({1, 0, 2, 0, 1, 0, 0, 3}) * 1;
  Tensor low = constant(std::int64_t{2}) * 1;
  Tensor high = constant(std::int64_t{5}) * 1;
  Tensor definite = constant({{4.F, 2.F}, {2.F, 5.F}}) * 1;
  Tensor matrices = stack({definite, constant({{1.F, 2.F}, {2.F, 1.F}}) * 1});  // the second is not positive definite
};

// A result that is read after the scopes: values to compare, from the host or from a device.
struct Result {
  Values host;
  Tensor device;
  Result(Values values) : host(std::move(values)) {}
  Result(double value) : host{value} {}
  Result(Tensor value) : device(std::move(value)) {}

  [[nodiscard]] Values values() const {
    if (!device.is_defined()) return host;
    return read<double>(cast(reshape(device, {-1}), DType::f64));
  }
};

struct Pair {
  const char* name;
  std::vector<SyncReason> syncs;  // what the first form must make, in order
  std::function<Result(const Operands&)> syncing;
  std::function<Result(const Operands&)> sync_free;
};

template <class T>
Values doubles(const std::vector<T>& from) {
  return Values(from.begin(), from.end());
}

constexpr auto value_read = SyncReason::value_read;
constexpr auto shape_read = SyncReason::data_dependent_shape;
constexpr auto explicit_sync = SyncReason::tensor_sync;

// The elements i of x with low <= i < high, both on the device: a fixed number of places, those outside zero.
Tensor window(const Operands& o) {
  const Tensor at = arange(o.x.size());
  return where(logical_and(at >= o.low, at < o.high), o.x, 0);
}

std::vector<Pair> pairs() {
  return {
      {".cpu()",
       {value_read},
       [](const Operands& o) -> Result { return doubles(read<float>(o.x)); },
       [](const Operands& o) -> Result { return copy_to(o.x, "CPU:0"); }},
      {"a step",
       {value_read},
       [](const Operands& o) -> Result { return double{item<float>(sum(o.x * 2))}; },
       [](const Operands& o) -> Result {
         const auto step = capture([](const Tensor& x) { return sum(x * 2); });
         (void)step(o.x);
         return step(o.x);
       }},
      {".cuda()",
       {},
       [](const Operands& o) -> Result { return copy_to(copy_to(o.x, "CPU:0"), o.x.device()); },
       [](const Operands& o) -> Result { return o.x; }},
      {".type(LongTensor)",
       {value_read},
       [](const Operands& o) -> Result {
         const std::vector<float> host = read<float>(o.x);
         return constant(std::vector<std::int64_t>(host.begin(), host.end()), {8});
       },
       [](const Operands& o) -> Result { return cast(o.x, DType::i64); }},
      {"tensor(list, device)",
       {},
       [](const Operands&) -> Result {
         return constant({1.F, 2.F, 3.F});
       },
       [](const Operands&) -> Result { return arange(1, 4); }},
      {"tensor(0, device)",
       {},
       [](const Operands&) -> Result { return constant(0.F); },
       [](const Operands&) -> Result { return zeros({}); }},
      {"BoolTensor(list)",
       {},
       [](const Operands&) -> Result {
         return constant<bool>({true, false});
       },
       [](const Operands&) -> Result { return equal(arange(2), 0); }},
      {"item() in a condition",
       {value_read},
       [](const Operands& o) -> Result { return item<float>(sum(o.x)) > 5 ? o.x * 2 : o.x + 1; },
       [](const Operands& o) -> Result { return where(sum(o.x) > 5, o.x * 2, o.x + 1); }},
      {"if tensor",
       {value_read},
       [](const Operands& o) -> Result { return item<bool>(any(o.mask)) ? o.x * 2 : o.x + 1; },
       [](const Operands& o) -> Result {
         return cond(
             any(o.mask), [&] { return o.x * 2; }, [&] { return o.x + 1; });
       }},
      {"while tensor",
       {value_read, value_read, value_read},
       [](const Operands& o) -> Result {
         Tensor v = sum(o.x);
         while (item<bool>(v < 30)) v = v * 2;
         return v;
       },
       [](const Operands& o) -> Result {
         return while_loop([](const auto& s) { return s[0] < 30; }, [](const auto& s) { return std::vector{s[0] * 2}; },
                           {sum(o.x)})
             .state[0];
       }},
      {"max(a, b) of the host",
       {value_read, value_read},
       [](const Operands& o) -> Result { return std::max(item<float>(sum(o.x)), item<float>(sum(o.other))); },
       [](const Operands& o) -> Result { return maximum(sum(o.x), sum(o.other)); }},
      {"several reads",
       {value_read, value_read},
       [](const Operands& o) -> Result {
         const double a = item<float>(sum(o.x));
         return Values{a, item<float>(sum(o.other))};
       },
       [](const Operands& o) -> Result {
         return stack(std::vector{sum(o.x), sum(o.other)});
       }},
      {"is_nonzero",
       {value_read},
       [](const Operands& o) -> Result { return item<float>(max(o.x)) != 0 ? 1. : 0.; },
       [](const Operands& o) -> Result { return not_equal(max(o.x), 0); }},
      {"equal() in a condition",
       {value_read},
       [](const Operands& o) -> Result { return item<bool>(all(equal(o.x, o.other))) ? 1. : 0.; },
       [](const Operands& o) -> Result { return all(equal(o.x, o.other)); }},
      {"x[list of the host]",
       {},
       [](const Operands& o) -> Result {
         return index(o.x, {constant({1, 3})});
       },
       [](const Operands& o) -> Result { return index(o.x, {arange(1, 5, 2)}); }},
      {"x[index] = number",
       {},
       [](const Operands& o) -> Result {
         return at(o.x, {constant({1, 3})}).set(0);
       },
       [](const Operands& o) -> Result {
         return at(o.x, {constant({1, 3})}).set(zeros({}));
       }},
      {"x[i:j] with bounds on the device",
       {value_read, value_read},
       [](const Operands& o) -> Result {
         const auto low = item<std::int64_t>(o.low);
         const auto high = item<std::int64_t>(o.high);
         return pad(slice(o.x, 0, {low, high}), {{low, 8 - high}});
       },
       [](const Operands& o) -> Result { return window(o); }},
      {"x[mask]",
       {shape_read},
       [](const Operands& o) -> Result { return index(o.x, {o.mask}); },
       [](const Operands& o) -> Result { return masked_select(o.x, o.mask, {.size = 5}).values; }},
      {"x[mask] = values",
       {value_read},
       [](const Operands& o) -> Result {
         std::vector<float> host = read<float>(o.x);
         for (float& each : host) each = each > 0 ? 1.F : each;
         return constant(host, {8});
       },
       [](const Operands& o) -> Result { return at(o.x, {o.mask}).set(1); }},
      {"x[mask] = tensor",
       {shape_read},
       [](const Operands& o) -> Result {
         const Tensor values = index(o.x, {o.mask}) * 10;
         return at(o.x, {o.mask}).set(values);
       },
       [](const Operands& o) -> Result {
         const Tensor values = masked_select(o.x, o.mask, {.size = 8}).values * 10;
         return masked_scatter(o.x, o.mask, values);
       }},
      {"x[mask] = tensor of as many",
       {shape_read},
       [](const Operands& o) -> Result {
         const Tensor positions = reshape(nonzero(o.mask), {-1});
         return at(o.x, {positions}).set(arange(5));
       },
       [](const Operands& o) -> Result { return at(o.x, {o.mask}).set(arange(5)); }},
      {"nonzero",
       {shape_read},
       [](const Operands& o) -> Result { return nonzero(o.mask); },
       [](const Operands& o) -> Result { return nonzero(o.mask, {.size = 5}).positions; }},
      {"the count of nonzero",
       {shape_read},
       [](const Operands& o) -> Result { return static_cast<double>(nonzero(o.mask).shape()[0]); },
       [](const Operands& o) -> Result { return count_nonzero(o.mask); }},
      {"masked_select",
       {shape_read},
       [](const Operands& o) -> Result { return masked_select(o.x, o.mask); },
       [](const Operands& o) -> Result { return masked_select(o.x, o.mask, {.size = 5}).values; }},
      {"unique",
       {shape_read},
       [](const Operands& o) -> Result { return unique_values(o.x); },
       [](const Operands& o) -> Result { return unique_values(o.x, {.size = 7}).values; }},
      {"repeat_interleave",
       {shape_read},
       [](const Operands& o) -> Result { return repeat_interleave(o.x, o.repeats); },
       [](const Operands& o) -> Result { return repeat_interleave(o.x, o.repeats, {.output_size = 7}).values; }},
      {"print",
       {value_read},
       [](const Operands& o) -> Result {
         (void)to_string(o.x);
         return o.x;
       },
       [](const Operands& o) -> Result {
         const Pending<float> shown_later = read_async<float>(o.x);
         return o.x;
       }},
      {"a sync between ops",
       {SyncReason::tensor_sync, SyncReason::device_sync},
       [](const Operands& o) -> Result {
         const Tensor twice = o.x * 2;
         twice.sync();
         const Tensor more = twice + 1;
         synchronize();
         return more * 3;
       },
       [](const Operands& o) -> Result {
         const Tensor twice = o.x * 2;
         const Tensor more = twice + 1;
         return more * 3;
       }},
      {"one_hot",
       {},
       [](const Operands& o) -> Result { return one_hot(o.repeats, 4); },
       [](const Operands& o) -> Result {
         return cast(equal(reshape(o.repeats, {8, 1}), arange(4)), DType::f32);
       }},
      {"linalg.inv",
       {},
       [](const Operands&) -> Result { return inv(eye(3) * 2); },
       [](const Operands&) -> Result { return eye(3) / 2; }},
      {"linalg.solve",
       {},
       [](const Operands&) -> Result {
         return solve(eye(3) * 2, ones({3, 1}));
       },
       [](const Operands&) -> Result {
         return ones({3, 1}) / 2;
       }},
      {"linalg.cholesky",
       {explicit_sync},
       [](const Operands& o) -> Result {
         const Tensor factor = cholesky(o.definite);
         factor.sync();  // throws where there is none
         return factor;
       },
       [](const Operands& o) -> Result { return cholesky(o.definite); }},
      {"linalg.cholesky_ex",
       {value_read},
       [](const Operands& o) -> Result {
         const auto [factor, info] = cholesky_ex(o.matrices);
         const std::vector<std::int32_t> orders = read<std::int32_t>(info);
         return stack({orders[0] == 0 ? index(factor, {0}) : eye(2), orders[1] == 0 ? index(factor, {1}) : eye(2)});
       },
       [](const Operands& o) -> Result {
         const auto [factor, info] = cholesky_ex(o.matrices);
         return where(equal(reshape(info, {2, 1, 1}), 0), factor, eye(2));
       }},
      {"randperm",
       {value_read},
       [](const Operands& o) -> Result {
         const std::vector<std::int64_t> order = read<std::int64_t>(permutation(8, {.key = 5}));
         return index(o.x, {constant(order, {8})});
       },
       [](const Operands& o) -> Result { return permutation(o.x, {.key = 5}); }},
      {"where(mask, x, 0) for x[mask]",
       {shape_read},
       [](const Operands& o) -> Result { return sum(index(o.x, {o.mask})); },
       [](const Operands& o) -> Result { return sum(where(o.mask, o.x, 0)); }},
      {"sort",
       {},
       [](const Operands& o) -> Result { return sort(o.x); },
       [](const Operands& o) -> Result { return take(o.x, argsort(o.x)); }},
  };
}

class SyncFreePairs : public OnBackend {};
TUTTI_ON_EVERY_BACKEND(SyncFreePairs);

// The reasons of the demand syncs the thread makes, in order.
struct Reasons final : detail::SyncScopeEntry {
  std::vector<SyncReason> made;
  void happened(const SyncRequest& request, bool) noexcept override { made.push_back(request.reason); }
};

std::string in_words(const std::vector<SyncReason>& reasons) {
  std::string out;
  for (const SyncReason each : reasons) out += std::string(out.empty() ? "" : ", ") + to_string(each);
  return out.empty() ? "none" : out;
}

}  // namespace

TEST_P(SyncFreePairs, OneFormMakesTheSyncsItMustTheOtherNoneAndBothGiveTheSame) {
  for (const Pair& pair : pairs()) {
    SCOPED_TRACE(pair.name);
    const Operands operands;
    std::optional<Result> first;
    {
      auto reasons = std::make_unique<Reasons>();
      const std::vector<SyncReason>& made = reasons->made;
      const detail::OpenSyncScope scope("list of reasons", std::move(reasons), Site{});
      first = pair.syncing(operands);
      EXPECT_EQ(in_words(made), in_words(pair.syncs));
    }
    std::optional<Result> second;
    {
      const SyncScope strict(OnSync::error);
      second = pair.sync_free(operands);
    }
    EXPECT_EQ(first->values(), second->values());
  }
}

TEST_P(SyncFreePairs, SmallUploadsNeverSyncHoweverManyThereAre) {
  const SyncScope strict(OnSync::error);
  Tensor total = zeros({4});
  for (int i = 0; i < 300; ++i) total = total + constant({1.F, 2.F, 3.F, static_cast<float>(i)}) * 1.F + i;
  const AllowSync meant("the result");
  EXPECT_EQ(read<float>(total), (std::vector<float>{45150, 45450, 45750, 89700}));
}

TEST_P(SyncFreePairs, AStaticSizeReportsTheTrueCountOnTheDevice) {
  const Operands o;
  std::vector<Tensor> counts;
  {
    const SyncScope strict(OnSync::error);
    counts = {nonzero(o.mask, {.size = 2}).count, masked_select(o.x, o.mask, {.size = 9}).count,
              unique_values(o.x, {.size = 3}).count, repeat_interleave(o.x, o.repeats, {.output_size = 1}).count};
  }
  EXPECT_EQ(read<std::int64_t>(stack(counts)), (std::vector<std::int64_t>{5, 5, 7, 7}));
}

}  // namespace tutti::conformance
