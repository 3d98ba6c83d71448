// Gradients, layers, losses and optimizers beside libtorch's, from the same random numbers, in f32 and f64. It times nothing: the
// benchmarks are where libtorch is. Ends with 1 where anything differs by more than rounding. --seed repeats a run.
#include <torch/autograd.h>
#include <torch/nn.h>
#include <torch/optim.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/ops/catalogue.h"
#include "tutti/tutti.h"
#include "versus.h"

namespace tt = tutti;
namespace functional = torch::nn::functional;
using tt::DType;
using Ours = std::vector<tt::Tensor>;
using Theirs = std::vector<torch::Tensor>;
using Sizes = std::vector<std::int64_t>;

namespace {

torch::ScalarType dtype_of(DType dtype) { return dtype == DType::f64 ? torch::kDouble : torch::kFloat; }
tt::Shape shape_of(const Sizes& sizes) { return tt::Dims(std::span<const std::int64_t>(sizes)); }

// What a function is called with: numbers between these, the same on both sides.
struct Input {
  Sizes shape;
  double low = -0.9;
  double high = 0.9;
};

class Judge {
 public:
  explicit Judge(std::uint64_t seed) : random_(seed) {}

  void begin(const char* family) {
    family_ = family;
    functions_.clear();
    worst_[0] = worst_[1] = 0;
  }
  void end(bench::Report& report) const {
    std::printf("%-16s %3zu functions, largest difference: float32 %.1e, float64 %.1e\n", family_, functions_.size(), worst_[0],
                worst_[1]);
    report.note(family_, {{"functions", functions_.size()}, {"float32", worst_[0]}, {"float64", worst_[1]}});
  }
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  // Functions with a gradient that were not compared, and are not among these.
  void expect_all_but(const std::set<std::string_view>& others) {
    for (const tt::CatalogueSection& section : tt::catalogue()) {
      if (!section.takes_tensors) continue;
      for (const tt::CatalogueEntry& entry : section.entries) {
        const bool is_judged = judged_.contains(std::string(entry.name));
        const bool is_other = others.contains(entry.name);
        if (tt::gradient_of(entry) != "yes" || is_judged != is_other) continue;
        has_failed_ = true;
        std::printf(is_judged ? "%s: is compared, and there is a reason why not\n"
                              : "%s: has a gradient, and is neither compared here nor is there a reason why not\n",
                    std::string(entry.name).c_str());
      }
    }
  }

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  std::vector<double> numbers(std::size_t count, double low, double high) {
    std::uniform_real_distribution<double> draw(low, high);
    std::vector<double> out(count);
    for (double& value : out) value = draw(random_);
    return out;
  }
  std::pair<tt::Tensor, torch::Tensor> tensors(const Input& input, DType dtype) {
    std::size_t count = 1;
    for (const std::int64_t size : input.shape) count *= static_cast<std::size_t>(size);
    const std::vector<double> values = numbers(count, input.low, input.high);
    return both(values, input.shape, dtype);
  }
  static std::pair<tt::Tensor, torch::Tensor> both(const std::vector<double>& values, const Sizes& shape, DType dtype) {
    return {tt::cast(tt::constant(values, shape_of(shape)), dtype),
            torch::tensor(values, torch::kDouble).reshape(shape).to(dtype_of(dtype))};
  }
  // Whole numbers below n.
  std::pair<tt::Tensor, torch::Tensor> indices(const Sizes& shape, std::int64_t n) {
    std::size_t count = 1;
    for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
    std::vector<std::int64_t> values(count);
    for (std::int64_t& value : values) value = between(0, n - 1);
    return {tt::constant(values, shape_of(shape)), torch::tensor(values, torch::kLong).reshape(shape)};
  }

  // Values and gradients of one function, in both dtypes; and of views, which are every second element with the axes reversed.
  void same(const char* name, const std::vector<Input>& inputs, const std::function<tt::Tensor(const Ours&)>& ours,
            const std::function<torch::Tensor(const Theirs&)>& theirs) {
    same_of(name, inputs, ours, theirs);
    std::vector<Input> whole = inputs;
    for (Input& input : whole) {
      std::reverse(input.shape.begin(), input.shape.end());
      if (!input.shape.empty()) input.shape.front() *= 2;
    }
    const auto axes = [](std::int64_t rank) {
      Sizes out;
      while (rank > 0) out.push_back(--rank);
      return out;
    };
    same_of(
        name, whole,
        [&](const Ours& x) {
          Ours views;
          for (const tt::Tensor& each : x) {
            const bool is_number = each.rank() == 0;
            views.push_back(is_number ? each
                                      : tt::permute_dims(tt::slice(each, 0, {0, {}, 2}),
                                                         shape_of(axes(static_cast<std::int64_t>(each.rank())))));
          }
          return ours(views);
        },
        [&](const Theirs& x) {
          Theirs views;
          for (const torch::Tensor& each : x)
            views.push_back(each.dim() == 0 ? each : each.slice(0, 0, c10::nullopt, 2).permute(axes(each.dim())));
          return theirs(views);
        });
  }
  void same_of(const char* name, const std::vector<Input>& inputs, const std::function<tt::Tensor(const Ours&)>& ours,
               const std::function<torch::Tensor(const Theirs&)>& theirs) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      Ours mine;
      Theirs other;
      for (const Input& input : inputs) {
        auto [a, b] = tensors(input, dtype);
        mine.push_back(a);
        other.push_back(b.set_requires_grad(true));
      }
      compare(name, mine, other, ours, theirs, dtype);
    }
  }
  // At these numbers: where functions have corners.
  void same_at(const char* name, const std::vector<std::vector<double>>& inputs,
               const std::function<tt::Tensor(const Ours&)>& ours, const std::function<torch::Tensor(const Theirs&)>& theirs) {
    Ours mine;
    Theirs other;
    for (const std::vector<double>& input : inputs) {
      auto [a, b] = both(input, {static_cast<std::int64_t>(input.size())}, DType::f64);
      mine.push_back(a);
      other.push_back(b.set_requires_grad(true));
    }
    compare(name, mine, other, ours, theirs, DType::f64);
  }

  void close(const char* name, const char* what, const tt::Tensor& mine, const torch::Tensor& other, DType dtype,
             double most = 0) {
    if (std::find(functions_.begin(), functions_.end(), name) == functions_.end()) functions_.emplace_back(name);
    const std::string_view words = name;
    judged_.emplace(words.substr(0, words.find(' ')));
    const std::vector<double> a = tt::read<double>(tt::cast(mine, DType::f64));
    const torch::Tensor flat = other.detach().to(torch::kDouble).contiguous().reshape({-1});
    const double* b = flat.data_ptr<double>();
    if (a.size() != static_cast<std::size_t>(flat.numel())) return fail(name, what, "sizes", a.size(), flat.numel());
    double scale = 1;
    for (std::size_t i = 0; i < a.size(); ++i) scale = std::max(scale, std::isfinite(b[i]) ? std::abs(b[i]) : 0);
    if (most == 0) most = dtype == DType::f64 ? 1e-10 : 2e-3;  // what normalises a line of nearly equal numbers rounds most
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
      const double difference = std::abs(a[i] - b[i]) / scale;
      if (!(difference <= most)) return fail(name, what, dtype == DType::f64 ? "float64" : "float32", a[i], b[i]);
      worst_[dtype == DType::f64] = std::max(worst_[dtype == DType::f64], difference);
    }
  }

 private:
  void compare(const char* name, const Ours& mine, const Theirs& other, const std::function<tt::Tensor(const Ours&)>& ours,
               const std::function<torch::Tensor(const Theirs&)>& theirs, DType dtype) {
    tt::Tape tape;
    std::vector<tt::Tape::Wanted> wanted;
    for (const tt::Tensor& x : mine) {
      tape.watch(x);
      wanted.push_back({.tensor = &x});
    }
    tt::Tensor y;
    {
      const tt::Tape::Recording on(tape);
      y = ours(mine);
    }
    const torch::Tensor z = theirs(other);
    if (!(y.shape() == shape_of(z.sizes().vec()))) return fail(name, "value", "axes", y.rank(), z.dim());
    close(name, "value", y, z, dtype);
    const auto [weights, their_weights] =
        tensors({.shape = z.sizes().vec(), .low = 0.5, .high = 1.5}, z.scalar_type() == torch::kDouble ? DType::f64 : DType::f32);
    const std::vector<tt::Tensor> gradients = tape.gradients(y, wanted, weights);
    z.backward(their_weights);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const torch::Tensor expected = other[i].grad().defined() ? other[i].grad() : torch::zeros_like(other[i]);
      close(name, ("gradient " + std::to_string(i)).c_str(), gradients[i], expected, dtype);
    }
  }
  template <class A, class B>
  void fail(const char* name, const char* what, const char* where, A mine, B other) {
    has_failed_ = true;
    if (!told_.insert(name).second) return;
    std::printf("%s: %s, %s: ours is %.17g, libtorch's %.17g\n", name, what, where, static_cast<double>(mine),
                static_cast<double>(other));
  }

  std::mt19937_64 random_;
  const char* family_ = "";
  std::vector<std::string> functions_;
  std::set<std::string> judged_;  // the first words of their names
  double worst_[2] = {};
  std::set<std::string> told_;  // once is enough
  bool has_failed_ = false;
};

#define TUTTI_UNARY(name, low, high)                                              \
  judge.same(                                                                     \
      #name, {{{n, m}, low, high}}, [](const Ours& x) { return tt::name(x[0]); }, \
      [](const Theirs& x) { return torch::name(x[0]); })
#define TUTTI_BINARY(name, low, high)                                                                                  \
  for (const auto& [first, second] : {std::pair(Sizes{k, n, m}, Sizes{n, 1}), std::pair(Sizes{n, 1}, Sizes{k, 1, m})}) \
  judge.same(                                                                                                          \
      #name, {{first, low, high}, {second, low, high}}, [](const Ours& x) { return tt::name(x[0], x[1]); },            \
      [](const Theirs& x) { return torch::name(x[0], x[1]); })
#define TUTTI_OURS(...) [=](const Ours& x) { return __VA_ARGS__; }
#define TUTTI_THEIRS(...) [=](const Theirs& x) { return __VA_ARGS__; }

void arithmetic(Judge& judge) {
  const std::int64_t k = judge.between(1, 3);
  const std::int64_t n = judge.between(1, 6);
  const std::int64_t m = judge.between(1, 6);
  TUTTI_BINARY(add, -2, 2);
  TUTTI_BINARY(subtract, -2, 2);
  TUTTI_BINARY(multiply, -2, 2);
  TUTTI_BINARY(divide, 0.5, 2);
  TUTTI_BINARY(remainder, 0.3, 2);
  TUTTI_BINARY(pow, 0.2, 2);
  TUTTI_BINARY(maximum, -2, 2);
  TUTTI_BINARY(minimum, -2, 2);
  TUTTI_BINARY(copysign, -2, 2);
  TUTTI_BINARY(hypot, -2, 2);
  TUTTI_BINARY(atan2, -2, 2);
  TUTTI_BINARY(logaddexp, -2, 2);
  TUTTI_UNARY(abs, -2, 2);
  TUTTI_UNARY(negative, -2, 2);
  TUTTI_UNARY(square, -2, 2);
  TUTTI_UNARY(sqrt, 0.1, 2);
  TUTTI_UNARY(floor, -2, 2);
  TUTTI_UNARY(sign, -2, 2);
  TUTTI_UNARY(positive, -2, 2);
  judge.same("add_n", {{{n, m}}, {{n, m}}, {{n, m}}}, TUTTI_OURS(tt::add_n(x)), TUTTI_THEIRS(x[0] + x[1] + x[2]));
  judge.same("clip", {{{n, m}, -2, 2}}, TUTTI_OURS(tt::clip(x[0], -0.5, 0.7)), TUTTI_THEIRS(torch::clamp(x[0], -0.5, 0.7)));
  judge.same("pow of a number", {{{n, m}, -2, 2}}, TUTTI_OURS(tt::pow(x[0], 3)), TUTTI_THEIRS(torch::pow(x[0], 3)));
  judge.same("where", {{{n, m}}, {{m}}}, TUTTI_OURS(tt::where(tt::less(x[0], 0), x[0], x[1])),
             TUTTI_THEIRS(torch::where(x[0] < 0, x[0], x[1])));
  judge.same("cast", {{{n, m}}}, TUTTI_OURS(tt::square(tt::cast(x[0], x[0].dtype() == DType::f64 ? DType::f32 : DType::f64))),
             TUTTI_THEIRS(torch::square(x[0].to(x[0].scalar_type() == torch::kDouble ? torch::kFloat : torch::kDouble))));
}

void functions(Judge& judge) {
  const std::int64_t n = judge.between(1, 6);
  const std::int64_t m = judge.between(1, 6);
  TUTTI_UNARY(exp, -2, 2);
  TUTTI_UNARY(expm1, -2, 2);
  TUTTI_UNARY(log, 0.1, 3);
  TUTTI_UNARY(log1p, -0.8, 3);
  TUTTI_UNARY(log2, 0.1, 3);
  TUTTI_UNARY(log10, 0.1, 3);
  TUTTI_UNARY(sin, -4, 4);
  TUTTI_UNARY(cos, -4, 4);
  TUTTI_UNARY(tan, -1.2, 1.2);
  TUTTI_UNARY(asin, -0.9, 0.9);
  TUTTI_UNARY(acos, -0.9, 0.9);
  TUTTI_UNARY(atan, -4, 4);
  TUTTI_UNARY(sinh, -2, 2);
  TUTTI_UNARY(cosh, -2, 2);
  TUTTI_UNARY(tanh, -3, 3);
  TUTTI_UNARY(asinh, -3, 3);
  TUTTI_UNARY(acosh, 1.2, 4);
  TUTTI_UNARY(atanh, -0.9, 0.9);
  TUTTI_UNARY(erf, -2, 2);
  TUTTI_UNARY(relu, -2, 2);
  TUTTI_UNARY(sigmoid, -6, 6);
  TUTTI_UNARY(silu, -6, 6);
  judge.same("gelu", {{{n, m}, -4, 4}}, TUTTI_OURS(tt::gelu(x[0])), TUTTI_THEIRS(torch::gelu(x[0])));
  judge.same("gelu by tanh", {{{n, m}, -4, 4}}, TUTTI_OURS(tt::gelu(x[0], {.form = tt::GeluForm::by_tanh})),
             TUTTI_THEIRS(torch::gelu(x[0], "tanh")));
}

void reductions(Judge& judge) {
  const std::int64_t n = judge.between(2, 5);
  const std::int64_t m = judge.between(2, 5);
  const std::int64_t k = judge.between(2, 5);
  const std::vector<Input> one{{{n, m, k}, -2, 2}};
  const std::int64_t axis = judge.between(0, 2);
  const bool keep = judge.between(0, 1) == 1;
  judge.same("sum", one, TUTTI_OURS(tt::sum(x[0], axis, {.keepdims = keep})), TUTTI_THEIRS(torch::sum(x[0], axis, keep)));
  judge.same("mean", one, TUTTI_OURS(tt::mean(x[0], {0, 2})), TUTTI_THEIRS(torch::mean(x[0], at::IntArrayRef({0, 2}))));
  judge.same("prod", one, TUTTI_OURS(tt::prod(x[0], axis)), TUTTI_THEIRS(torch::prod(x[0], axis)));
  judge.same("max", one, TUTTI_OURS(tt::max(x[0], axis, {.keepdims = keep})), TUTTI_THEIRS(torch::amax(x[0], axis, keep)));
  judge.same("min", one, TUTTI_OURS(tt::min(x[0], {0, 1})), TUTTI_THEIRS(torch::amin(x[0], {0, 1})));
  judge.same("var", one, TUTTI_OURS(tt::var(x[0], axis, {.correction = 1})),
             TUTTI_THEIRS(torch::var(x[0], c10::IntArrayRef(axis), true)));
  judge.same("std", one, TUTTI_OURS(tt::std(x[0], axis)), TUTTI_THEIRS(torch::std(x[0], c10::IntArrayRef(axis), false)));
  judge.same("logsumexp", one, TUTTI_OURS(tt::logsumexp(x[0], axis)), TUTTI_THEIRS(torch::logsumexp(x[0], axis)));
  for (const double order : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    judge.same("vector_norm", one, TUTTI_OURS(tt::vector_norm(x[0], axis, {.ord = order})),
               TUTTI_THEIRS(torch::linalg_vector_norm(x[0], order, axis)));
  }
  judge.same("cumsum", one, TUTTI_OURS(tt::cumsum(x[0], axis)), TUTTI_THEIRS(torch::cumsum(x[0], axis)));
  judge.same("cumulative_sum", one, TUTTI_OURS(tt::cumulative_sum(x[0], axis, {.include_initial = true})),
             TUTTI_THEIRS(torch::cat({torch::zeros_like(x[0].narrow(axis, 0, 1)), torch::cumsum(x[0], axis)}, axis)));
  judge.same("cumprod", one, TUTTI_OURS(tt::cumprod(x[0], axis)), TUTTI_THEIRS(torch::cumprod(x[0], axis)));
  judge.same("softmax", one, TUTTI_OURS(tt::softmax(x[0], axis)), TUTTI_THEIRS(torch::softmax(x[0], axis)));
  judge.same("log_softmax", one, TUTTI_OURS(tt::log_softmax(x[0], axis)), TUTTI_THEIRS(torch::log_softmax(x[0], axis)));
}

void matrices(Judge& judge) {
  const std::int64_t b = judge.between(1, 3);
  const std::int64_t n = judge.between(1, 5);
  const std::int64_t m = judge.between(1, 5);
  const std::int64_t k = judge.between(1, 5);
  judge.same("matmul", {{{b, n, m}}, {{m, k}}}, TUTTI_OURS(tt::matmul(x[0], x[1])), TUTTI_THEIRS(torch::matmul(x[0], x[1])));
  judge.same("matmul", {{{m}}, {{b, m, k}}}, TUTTI_OURS(tt::matmul(x[0], x[1])), TUTTI_THEIRS(torch::matmul(x[0], x[1])));
  judge.same("tensordot", {{{b, n, m}}, {{n, m, k}}}, TUTTI_OURS(tt::tensordot(x[0], x[1], 2)),
             TUTTI_THEIRS(torch::tensordot(x[0], x[1], {1, 2}, {0, 1})));
  judge.same("vecdot", {{{n, m}}, {{n, m}}}, TUTTI_OURS(tt::vecdot(x[0], x[1])), TUTTI_THEIRS((x[0] * x[1]).sum(-1)));
  judge.same("outer", {{{n}}, {{m}}}, TUTTI_OURS(tt::outer(x[0], x[1])), TUTTI_THEIRS(torch::outer(x[0], x[1])));
  judge.same("trace", {{{n, m}}}, TUTTI_OURS(tt::trace(x[0])), TUTTI_THEIRS(torch::diagonal(x[0]).sum()));
  judge.same("einsum", {{{b, n, m}}, {{m, k}}}, TUTTI_OURS(tt::einsum("bnm,mk->kb", x[0], x[1])),
             TUTTI_THEIRS(torch::einsum("bnm,mk->kb", {x[0], x[1]})));
  const auto regular = [n](const auto& x, const auto& eye) { return x + eye * static_cast<double>(n + 1); };
  const auto our_square = [=](const tt::Tensor& x) { return regular(x, tt::eye(n, {.dtype = x.dtype()})); };
  const auto their_square = [=](const torch::Tensor& x) { return regular(x, torch::eye(n, x.options())); };
  const std::vector<Input> square{{{b, n, n}}};
  judge.same("inv", square, TUTTI_OURS(tt::inv(our_square(x[0]))), TUTTI_THEIRS(torch::inverse(their_square(x[0]))));
  judge.same("det", square, TUTTI_OURS(tt::det(our_square(x[0]))), TUTTI_THEIRS(torch::det(their_square(x[0]))));
  judge.same("slogdet", square, TUTTI_OURS(tt::slogdet(our_square(x[0])).log_abs),
             TUTTI_THEIRS(std::get<1>(torch::slogdet(their_square(x[0])))));
  judge.same("solve", {{{b, n, n}}, {{b, n, k}}}, TUTTI_OURS(tt::solve(our_square(x[0]), x[1])),
             TUTTI_THEIRS(torch::linalg_solve(their_square(x[0]), x[1])));
  judge.same("cholesky", square, TUTTI_OURS(tt::cholesky(our_square(tt::matmul(x[0], tt::matrix_transpose(x[0]))))),
             TUTTI_THEIRS(torch::linalg_cholesky(their_square(torch::matmul(x[0], x[0].mT())))));
  judge.same("cholesky_ex", square, TUTTI_OURS(tt::cholesky_ex(our_square(tt::matmul(x[0], tt::matrix_transpose(x[0])))).factor),
             TUTTI_THEIRS(torch::linalg_cholesky(their_square(torch::matmul(x[0], x[0].mT())))));
  judge.same("matrix_transpose", square, TUTTI_OURS(tt::square(tt::matrix_transpose(x[0]))),
             TUTTI_THEIRS(torch::square(x[0].mT())));
  // The signs of q's columns are a matter of choice: what does not depend on them is compared.
  judge.same("qr", square, TUTTI_OURS(tt::square(tt::qr(our_square(x[0])).r)),
             TUTTI_THEIRS(torch::square(std::get<1>(torch::linalg_qr(their_square(x[0]))))));
}

void neural(Judge& judge) {
  const std::int64_t n = judge.between(1, 4);
  const std::int64_t c = judge.between(2, 5);
  const auto [labels, their_labels] = judge.indices({n, 3}, c);
  const std::vector<Input> logits{{{n, c, 3}, -2, 2}};
  judge.same("cross_entropy", logits, TUTTI_OURS(tt::cross_entropy(x[0], labels)),
             TUTTI_THEIRS(functional::cross_entropy(x[0], their_labels)));
  judge.same(
      "cross_entropy", logits, TUTTI_OURS(tt::cross_entropy(x[0], labels, {.reduction = tt::LossReduction::none})),
      TUTTI_THEIRS(functional::cross_entropy(x[0], their_labels, functional::CrossEntropyFuncOptions().reduction(torch::kNone))));
  const tt::Tensor some = tt::at(labels, {0, 0}).set(1);
  const torch::Tensor their_some = torch::where(torch::arange(3 * n).reshape({n, 3}) == 0, 1, their_labels);
  judge.same("cross_entropy", logits, TUTTI_OURS(tt::cross_entropy(x[0], some, {.ignore_index = 0})),
             TUTTI_THEIRS(functional::cross_entropy(x[0], their_some, functional::CrossEntropyFuncOptions().ignore_index(0))));
  judge.same("embedding", {{{c, 3}}}, TUTTI_OURS(tt::embedding(x[0], labels)),
             TUTTI_THEIRS(torch::embedding(x[0], their_labels)));
  judge.same("layer_norm", {{{n, c, 3}}, {{c, 3}}, {{c, 3}}}, TUTTI_OURS(tt::layer_norm(x[0], x[1], x[2], {.axes = 2})),
             TUTTI_THEIRS(torch::layer_norm(x[0], {c, 3}, x[1], x[2])));
  judge.same("linear", {{{n, c, 3}}, {{3, 4}}, {{4}}}, TUTTI_OURS(tt::linear(x[0], x[1], x[2])),
             TUTTI_THEIRS(functional::linear(x[0], x[1].t(), x[2])));
  judge.same("channels_last", {{{n, c, 3, 2}}}, TUTTI_OURS(tt::square(tt::channels_last(x[0]))),
             TUTTI_THEIRS(torch::square(x[0])));
  const std::int64_t stride = judge.between(1, 2);
  const std::int64_t padding = judge.between(0, 1);
  const std::int64_t dilation = judge.between(1, 2);
  judge.same("conv2d", {{{n, 4, 7, 6}}, {{6, 2, 3, 2}}, {{6}}},
             TUTTI_OURS(tt::conv2d(x[0], x[1], x[2], {.stride = stride, .padding = padding, .dilation = dilation, .groups = 2})),
             TUTTI_THEIRS(torch::conv2d(x[0], x[1], x[2], stride, padding, dilation, 2)));
  const bool ceil_mode = judge.between(0, 1) == 1;
  judge.same("max_pool2d", {{{n, c, 7, 6}}},
             TUTTI_OURS(tt::max_pool2d(x[0], {3, 2}, {.stride = stride, .padding = padding, .ceil_mode = ceil_mode})),
             TUTTI_THEIRS(torch::max_pool2d(x[0], {3, 2}, stride, padding, 1, ceil_mode)));
  judge.same("avg_pool2d", {{{n, c, 7, 6}}},
             TUTTI_OURS(tt::avg_pool2d(x[0], {3, 2}, {.stride = stride, .padding = padding, .ceil_mode = ceil_mode})),
             TUTTI_THEIRS(torch::avg_pool2d(x[0], {3, 2}, stride, padding, ceil_mode)));
  // What ours drops is dropped there too.
  const std::vector<double> kept = tt::read<double>(tt::dropout(tt::ones({n, 8}, DType::f64), 0.25, {.key = 5}));
  judge.same("dropout", {{{n, 8}}}, TUTTI_OURS(tt::dropout(x[0], 0.25, {.key = 5})),
             TUTTI_THEIRS(x[0] * torch::tensor(kept, torch::kDouble).reshape({n, 8}).to(x[0].scalar_type())));
}

void movement(Judge& judge) {
  const std::int64_t n = judge.between(2, 5);
  const std::int64_t m = judge.between(2, 5);
  const std::vector<Input> one{{{n, m}}};
  const std::vector<Input> two{{{n, m}}, {{n, m}}};
  const auto [rows, their_rows] = judge.indices({4}, n);
  const auto [places, their_places] = judge.indices({n, 3}, m);
  judge.same("take", one, TUTTI_OURS(tt::take(x[0], rows, 0)), TUTTI_THEIRS(torch::index_select(x[0], 0, their_rows)));
  judge.same("index", one, TUTTI_OURS(tt::index(x[0], {rows, tt::Range{1, {}}})),
             TUTTI_THEIRS(x[0].index({their_rows, torch::indexing::Slice(1)})));
  judge.same("gather", one, TUTTI_OURS(tt::gather(x[0], 1, places)), TUTTI_THEIRS(torch::gather(x[0], 1, their_places)));
  judge.same("scatter add", {{{n, m}}, {{n, 3}}}, TUTTI_OURS(tt::scatter(x[0], 1, places, x[1], {.mode = tt::ScatterMode::add})),
             TUTTI_THEIRS(torch::scatter_add(x[0], 1, their_places, x[1])));
  judge.same("scatter", {{{n, m}}, {{n, 1}}}, TUTTI_OURS(tt::scatter(x[0], 1, tt::slice(places, 1, {0, 1}), x[1])),
             TUTTI_THEIRS(torch::scatter(x[0], 1, their_places.slice(1, 0, 1), x[1])));
  judge.same("At::add", {{{n, m}}, {{4, m}}}, TUTTI_OURS(tt::at(x[0], {rows}).add(x[1])),
             TUTTI_THEIRS(torch::index_add(x[0], 0, their_rows, x[1])));
  judge.same("sort", one, TUTTI_OURS(tt::sort(x[0], 0, {.descending = true})),
             TUTTI_THEIRS(std::get<0>(torch::sort(x[0], 0, true))));
  judge.same("topk", one, TUTTI_OURS(tt::topk(x[0], 2).values), TUTTI_THEIRS(std::get<0>(torch::topk(x[0], 2))));
  judge.same("masked_scatter", two, TUTTI_OURS(tt::masked_scatter(x[0], tt::less(x[0], 0), x[1])),
             TUTTI_THEIRS(torch::masked_scatter(x[0], x[0] < 0, x[1])));
  // libtorch's takes the gradients of a transposed tensor in another order than its values.
  judge.same("masked_select", one, TUTTI_OURS(tt::masked_select(x[0], tt::less(x[0], 5), {.size = n * m}).values),
             TUTTI_THEIRS(torch::masked_select(x[0].contiguous(), x[0].contiguous() < 5)));
  judge.same("repeat_interleave", one, TUTTI_OURS(tt::repeat_interleave(x[0], 3, 1)),
             TUTTI_THEIRS(torch::repeat_interleave(x[0], 3, 1)));
  judge.same("tril", one, TUTTI_OURS(tt::tril(x[0], 1)), TUTTI_THEIRS(torch::tril(x[0], 1)));
  judge.same("triu", one, TUTTI_OURS(tt::triu(x[0], -1)), TUTTI_THEIRS(torch::triu(x[0], -1)));
  judge.same("diagonal", one, TUTTI_OURS(tt::diagonal(x[0], {.offset = 1})), TUTTI_THEIRS(torch::diagonal(x[0], 1)));
  judge.same("flip", one, TUTTI_OURS(tt::flip(x[0], 1)), TUTTI_THEIRS(torch::flip(x[0], 1)));
  judge.same("roll", one, TUTTI_OURS(tt::roll(x[0], 3, 0)), TUTTI_THEIRS(torch::roll(x[0], 3, 0)));
  judge.same("tile", one, TUTTI_OURS(tt::tile(x[0], {2, 3})), TUTTI_THEIRS(torch::tile(x[0], {2, 3})));
  judge.same("pad", one, TUTTI_OURS(tt::pad(x[0], {{1, 0}, {2, 1}}, 3)),
             TUTTI_THEIRS(torch::constant_pad_nd(x[0], {2, 1, 1, 0}, 3)));
  judge.same("concat", two, TUTTI_OURS(tt::concat({x[0], x[1], x[0]}, 1)), TUTTI_THEIRS(torch::cat({x[0], x[1], x[0]}, 1)));
  judge.same("stack", two, TUTTI_OURS(tt::stack({x[0], x[1]}, 1)), TUTTI_THEIRS(torch::stack({x[0], x[1]}, 1)));
  judge.same("slice", one, TUTTI_OURS(tt::slice(x[0], 1, {1, {}, 2})), TUTTI_THEIRS(x[0].slice(1, 1, c10::nullopt, 2)));
  judge.same("transpose", one, TUTTI_OURS(tt::square(tt::transpose(x[0]))), TUTTI_THEIRS(torch::square(x[0].t())));
  judge.same("reshape", one, TUTTI_OURS(tt::reshape(tt::transpose(x[0]), {-1})), TUTTI_THEIRS(x[0].t().reshape(-1)));
  judge.same("broadcast_to", {{{n, 1}}}, TUTTI_OURS(tt::broadcast_to(x[0], {3, n, m})),
             TUTTI_THEIRS(torch::broadcast_to(x[0], {3, n, m})));
}

void more_movement(Judge& judge) {
  const std::int64_t n = judge.between(2, 5);
  const std::int64_t m = judge.between(2, 5);
  const std::vector<Input> one{{{n, m}}};
  const std::vector<Input> three{{{n, 2, m}}};
  const auto [rows, their_rows] = judge.indices({4}, n);
  const auto [places, their_places] = judge.indices({n, 3}, m);
  // Weighted, so that no two elements can change places.
  const auto joined = [](const auto& list) {
    auto out = list[0] * 1.0;
    for (std::size_t i = 1; i < list.size(); ++i) out = out + list[i] * static_cast<double>(i + 1);
    return out;
  };
  judge.same("split", {{{n, 6}}}, TUTTI_OURS(joined(tt::split(x[0], 3, 1))), TUTTI_THEIRS(joined(torch::split(x[0], 2, 1))));
  judge.same("split at places", {{{n, 6}}}, TUTTI_OURS(tt::square(tt::split(x[0], {1, 4}, 1)[1])),
             TUTTI_THEIRS(torch::square(torch::tensor_split(x[0], at::IntArrayRef({1, 4}), 1)[1])));
  judge.same("unstack", three, TUTTI_OURS(joined(tt::unstack(x[0], 1))), TUTTI_THEIRS(joined(torch::unbind(x[0], 1))));
  judge.same("meshgrid", {{{n}}, {{m}}}, TUTTI_OURS(joined(tt::meshgrid(x))), TUTTI_THEIRS(joined(torch::meshgrid(x, "xy"))));
  judge.same("broadcast_arrays", {{{n, 1}}, {{m}}}, TUTTI_OURS(joined(tt::broadcast_arrays(x))),
             TUTTI_THEIRS(joined(torch::broadcast_tensors(x))));
  judge.same("moveaxis", three, TUTTI_OURS(tt::square(tt::moveaxis(x[0], 0, 2))),
             TUTTI_THEIRS(torch::square(torch::moveaxis(x[0], 0, 2))));
  judge.same("permute_dims", three, TUTTI_OURS(tt::square(tt::permute_dims(x[0], {1, 2, 0}))),
             TUTTI_THEIRS(torch::square(x[0].permute({1, 2, 0}))));
  judge.same("expand_dims", one, TUTTI_OURS(tt::square(tt::expand_dims(x[0], 1))),
             TUTTI_THEIRS(torch::square(x[0].unsqueeze(1))));
  judge.same("squeeze", {{{n, 1, m}}}, TUTTI_OURS(tt::square(tt::squeeze(x[0], 1))),
             TUTTI_THEIRS(torch::square(x[0].squeeze(1))));
  judge.same("contiguous", one, TUTTI_OURS(tt::square(tt::contiguous(tt::transpose(x[0])))),
             TUTTI_THEIRS(torch::square(x[0].t().contiguous())));
  judge.same("copy_to", one, TUTTI_OURS(tt::square(tt::copy_to(x[0], "CPU:0"))), TUTTI_THEIRS(torch::square(x[0].clone())));
  judge.same("repeat", one, TUTTI_OURS(tt::repeat(x[0], 3, 1)), TUTTI_THEIRS(torch::repeat_interleave(x[0], 3, 1)));
  judge.same("index_select", one, TUTTI_OURS(tt::index_select(x[0], 0, rows)),
             TUTTI_THEIRS(torch::index_select(x[0], 0, their_rows)));
  judge.same("take_along_axis", one, TUTTI_OURS(tt::take_along_axis(x[0], places, 1)),
             TUTTI_THEIRS(torch::take_along_dim(x[0], their_places, 1)));
  judge.same("full", {{{}}}, TUTTI_OURS(tt::full({2, n}, x[0])), TUTTI_THEIRS(x[0].expand({2, n})));
  judge.same("full_like", {{{}}, {{n, m}}}, TUTTI_OURS(tt::full_like(x[1], x[0]) + x[1]),
             TUTTI_THEIRS(x[0].expand_as(x[1]) + x[1]));
  judge.same("At::get", one, TUTTI_OURS(tt::at(x[0], {rows}).get()), TUTTI_THEIRS(x[0].index({their_rows})));
  judge.same("At::set", {{{n, m}}, {{m}}}, TUTTI_OURS(tt::at(x[0], {1}).set(x[1])),
             TUTTI_THEIRS(torch::index_put(x[0], {torch::tensor(1)}, x[1])));
  judge.same("At::multiply", {{{n, m}}, {{m}}}, TUTTI_OURS(tt::at(x[0], {1}).multiply(x[1])),
             TUTTI_THEIRS(torch::index_put(x[0], {torch::tensor(1)}, x[0][1] * x[1])));
  judge.same("At::min", {{{n, m}}, {{m}}}, TUTTI_OURS(tt::at(x[0], {1}).min(x[1])),
             TUTTI_THEIRS(torch::index_put(x[0], {torch::tensor(1)}, torch::minimum(x[0][1], x[1]))));
  judge.same("At::max", {{{n, m}}, {{m}}}, TUTTI_OURS(tt::at(x[0], {1}).max(x[1])),
             TUTTI_THEIRS(torch::index_put(x[0], {torch::tensor(1)}, torch::maximum(x[0][1], x[1]))));
  judge.same("cond", one,
             TUTTI_OURS(tt::cond(
                 tt::less(tt::sum(x[0]), 0), [&] { return tt::sin(x[0]); }, [&] { return tt::square(x[0]); })),
             TUTTI_THEIRS(x[0].sum().item<double>() < 0 ? torch::sin(x[0]) : torch::square(x[0])));
}

void attention(Judge& judge) {
  const std::int64_t n = judge.between(1, 3);
  const std::int64_t queries = judge.between(1, 5);
  const std::int64_t keys = judge.between(1, 5);
  const std::int64_t features = judge.between(1, 4);
  const std::vector<Input> inputs{{{n, 2, queries, features}}, {{n, 2, keys, features}}, {{n, 2, keys, 3}}};
  const auto [seen, their_seen] = judge.indices({queries, keys}, 2);
  const tt::Tensor mask = tt::logical_or(tt::equal(seen, 1), tt::equal(tt::arange(keys), 0));
  const torch::Tensor their_mask = torch::logical_or(their_seen == 1, torch::arange(keys) == 0);
  for (const bool causal : {false, true}) {
    for (const bool masked : {false, true}) {
      judge.same("scaled_dot_product_attention", inputs,
                 TUTTI_OURS(tt::scaled_dot_product_attention(
                     x[0], x[1], x[2], {.causal = causal, .mask = masked ? mask : tt::Tensor(), .chunk = 2})),
                 [=](const Theirs& x) {
                   torch::Tensor sees = masked ? their_mask : torch::ones({queries, keys}, torch::kBool);
                   if (causal) sees = sees.tril();
                   const torch::Tensor match = torch::matmul(x[0], x[1].mT()) / std::sqrt(static_cast<double>(features));
                   return torch::matmul(torch::softmax(match.masked_fill(~sees, -1e30), -1), x[2]);
                 });
    }
  }
}

// Where a gradient is a matter of choice, ours is libtorch's. But of two equal operands of maximum and minimum the first counts
// here, and at the origin hypot and atan2 have 0 where libtorch 1.13 has NaN; its trace is wrong for tall matrices.
void corners(Judge& judge) {
  const std::vector<double> zeros{0, 0, 0};
  const std::vector<double> some{0, 2, 0, 3};
  judge.same_at("abs", {zeros}, TUTTI_OURS(tt::abs(x[0])), TUTTI_THEIRS(torch::abs(x[0])));
  judge.same_at("relu", {zeros}, TUTTI_OURS(tt::relu(x[0])), TUTTI_THEIRS(torch::relu(x[0])));
  judge.same_at("sqrt", {some}, TUTTI_OURS(tt::sqrt(x[0])), TUTTI_THEIRS(torch::sqrt(x[0])));
  judge.same_at("pow", {zeros, {0, 1, 2}}, TUTTI_OURS(tt::pow(x[0], x[1])), TUTTI_THEIRS(torch::pow(x[0], x[1])));
  judge.same_at("prod", {some}, TUTTI_OURS(tt::prod(x[0])), TUTTI_THEIRS(torch::prod(x[0])));
  judge.same_at("cumprod", {some}, TUTTI_OURS(tt::cumprod(x[0], 0)), TUTTI_THEIRS(torch::cumprod(x[0], 0)));
  judge.same_at("std", {{2, 2, 2}}, TUTTI_OURS(tt::std(x[0])), TUTTI_THEIRS(torch::std(x[0], false)));
  judge.same_at("vector_norm", {zeros}, TUTTI_OURS(tt::vector_norm(x[0])), TUTTI_THEIRS(torch::linalg_vector_norm(x[0], 2)));
  judge.same_at("max", {{1, 3, 3}}, TUTTI_OURS(tt::max(x[0])), TUTTI_THEIRS(torch::amax(x[0])));
  judge.same_at("clip", {{-1, 0, 1}}, TUTTI_OURS(tt::clip(x[0], -1, 1)), TUTTI_THEIRS(torch::clamp(x[0], -1, 1)));
}

void losses(Judge& judge) {
  const std::int64_t n = judge.between(1, 5);
  const std::int64_t c = judge.between(2, 5);
  const std::vector<Input> two{{{n, c}, -2, 2}, {{n, c}, 0.1, 0.9}};
  judge.same("mse_loss", two, TUTTI_OURS(tt::mse_loss(x[0], x[1])), TUTTI_THEIRS(torch::mse_loss(x[0], x[1])));
  judge.same("mae_loss", two, TUTTI_OURS(tt::mae_loss(x[0], x[1])), TUTTI_THEIRS(torch::l1_loss(x[0], x[1])));
  judge.same("dense_cross_entropy", two, TUTTI_OURS(tt::dense_cross_entropy(x[0], x[1])),
             TUTTI_THEIRS(functional::cross_entropy(x[0], x[1])));
  judge.same("binary_cross_entropy", two, TUTTI_OURS(tt::binary_cross_entropy(x[0], x[1])),
             TUTTI_THEIRS(torch::binary_cross_entropy_with_logits(x[0], x[1])));
  const auto [labels, their_labels] = judge.indices({n}, c);
  judge.same(
      "smoothed_cross_entropy", {{{n, c}, -2, 2}}, TUTTI_OURS(tt::smoothed_cross_entropy(x[0], labels, 0.2)),
      TUTTI_THEIRS(functional::cross_entropy(x[0], their_labels, functional::CrossEntropyFuncOptions().label_smoothing(0.2))));
}

// A layer of ours with its variables made to have these values, in the order of its members.
template <class Layer>
tt::Tensor with(const Layer& layer, const Ours& values, std::size_t first, const tt::Tensor& x) {
  for (const auto& [name, variable] : tt::named_variables(layer)) {
    if (variable.is_trainable()) variable.assign(values[first++]);
  }
  return layer(x);
}

void layers(Judge& judge) {
  const std::int64_t n = judge.between(1, 4);
  const std::int64_t f = 2 * judge.between(1, 3);
  const std::int64_t g = judge.between(1, 5);
  judge.same("Dense", {{{n, 3, f}}, {{f, g}}, {{g}}}, TUTTI_OURS(with(tt::Dense(f, g, {.dtype = x[0].dtype()}), x, 1, x[0])),
             TUTTI_THEIRS(functional::linear(x[0], x[1].t(), x[2])));
  judge.same("LayerNorm", {{{n, 3, f}}, {{f}}, {{f}}}, TUTTI_OURS(with(tt::LayerNorm(f, 1e-5, x[0].dtype()), x, 1, x[0])),
             TUTTI_THEIRS(torch::layer_norm(x[0], {f}, x[1], x[2], 1e-5)));
  const auto [indices, their_indices] = judge.indices({n, 3}, g);
  judge.same("Embedding", {{{g, f}}}, TUTTI_OURS(with(tt::Embedding(g, f, {.dtype = x[0].dtype()}), x, 0, indices)),
             TUTTI_THEIRS(torch::embedding(x[0], their_indices)));
  judge.same(
      "Conv2D", {{{n, 2, 6, 5}}, {{4, 1, 3, 2}}, {{4}}},
      TUTTI_OURS(with(tt::Conv2D(2, 4, {3, 2}, {.stride = 2, .padding = 1, .groups = 2, .dtype = x[0].dtype()}), x, 1, x[0])),
      TUTTI_THEIRS(torch::conv2d(x[0], x[1], x[2], 2, 1, 1, 2)));
  const std::vector<double> kept = [&] {
    tt::set_seed(11);
    return tt::read<double>(tt::Dropout{.p = 0.3}(tt::ones({n, 8}, DType::f64)));
  }();
  judge.same(
      "Dropout", {{{n, 8}}},
      [](const Ours& x) {
        tt::set_seed(11);
        return tt::Dropout{.p = 0.3}(x[0]);
      },
      TUTTI_THEIRS(x[0] * torch::tensor(kept, torch::kDouble).reshape({n, 8}).to(x[0].scalar_type())));
  for (const bool causal : {false, true}) {
    const auto mask = torch::full({5, 5}, -std::numeric_limits<double>::infinity()).triu(1);
    judge.same(
        "MultiHeadAttention", {{{n, 5, f}}, {{f, f}}, {{f}}, {{f, f}}, {{f}}, {{f, f}}, {{f}}, {{f, f}}, {{f}}},
        TUTTI_OURS(with(tt::MultiHeadAttention(f, 2, {.causal = causal, .dtype = x[0].dtype()}), x, 1, x[0])),
        [=](const Theirs& x) {
          functional::MultiheadAttentionForwardFuncOptions options(f, 2, torch::cat({x[1].t(), x[3].t(), x[5].t()}),
                                                                   torch::cat({x[2], x[4], x[6]}), {}, {}, false, 0.0, x[7].t(),
                                                                   x[8]);
          if (causal) options.attn_mask(mask.to(x[0].scalar_type()));
          options.need_weights(false);
          const torch::Tensor by_place = x[0].transpose(0, 1);
          return std::get<0>(functional::multi_head_attention_forward(by_place, by_place, by_place, options)).transpose(0, 1);
        });
  }
  // In training, in f32 and f64, and what was kept for evaluation.
  for (const DType dtype : {DType::f32, DType::f64}) {
    const tt::BatchNorm ours(f, {.dtype = dtype});
    torch::nn::BatchNorm2d theirs(f);
    theirs->to(dtype_of(dtype));
    for (int step = 0; step < 3; ++step) {
      const auto [x, their_x] = judge.tensors({{n + 1, f, 3, 2}, -2, 2}, dtype);
      const auto [w, their_w] = judge.tensors({{n + 1, f, 3, 2}}, dtype);
      const auto [value, slopes] = tt::value_and_grad(
          [&, w = w](const tt::BatchNorm& norm, const tt::Tensor& in) { return tt::sum(norm(in) * w); })(ours, x);
      theirs->zero_grad();
      (theirs->forward(their_x) * their_w).sum().backward();
      judge.close("BatchNorm", "gradient of weight", slopes[0], theirs->weight.grad(), dtype);
      judge.close("BatchNorm", "gradient of bias", slopes[1], theirs->bias.grad(), dtype);
    }
    judge.close("BatchNorm", "running mean", ours.running_mean.value(), theirs->running_mean, dtype);
    judge.close("BatchNorm", "running variance", ours.running_var.value(), theirs->running_var, dtype);
    const auto [x, their_x] = judge.tensors({{n, f, 3, 2}, -2, 2}, dtype);
    const tt::Evaluation evaluating;
    theirs->eval();
    judge.close("BatchNorm", "evaluation", ours(x), theirs->forward(their_x), dtype);
  }
}

using MakeOurs = std::function<std::shared_ptr<tt::Optimizer>(std::vector<tt::Variable>)>;
using MakeTheirs = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)>;

// 20 steps of a small network, from the same weights.
void trained(Judge& judge, const char* name, const MakeOurs& make_ours, const MakeTheirs& make_theirs, double clipped = 0) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const auto [w1, their_w1] = judge.tensors({{4, 8}}, dtype);
    const auto [w2, their_w2] = judge.tensors({{8, 3}}, dtype);
    const std::vector<tt::Variable> weights{tt::Variable(w1), tt::Variable(w2)};
    const Theirs their_weights{their_w1.set_requires_grad(true), their_w2.set_requires_grad(true)};
    const auto ours = make_ours(weights);
    const auto theirs = make_theirs(their_weights);
    for (int step = 0; step < 20; ++step) {
      const auto [x, their_x] = judge.tensors({{6, 4}, -2, 2}, dtype);
      const auto [y, their_y] = judge.tensors({{6, 3}, -2, 2}, dtype);
      auto gradients = tt::grad([&, x = x, y = y](const std::vector<tt::Variable>& v) {
        return tt::mse_loss(tt::matmul(tt::tanh(tt::matmul(x, v[0])), v[1]), y);
      })(weights);
      if (clipped > 0) gradients = tt::clip_by_global_norm(gradients, clipped);
      ours->update(gradients);
      theirs->zero_grad();
      torch::mse_loss(torch::matmul(torch::tanh(torch::matmul(their_x, their_weights[0])), their_weights[1]), their_y).backward();
      if (clipped > 0) torch::nn::utils::clip_grad_norm_(their_weights, clipped);
      theirs->step();
    }
    const double most = dtype == DType::f64 ? 1e-5 : 1e-4;  // our learning rate is f32
    judge.close(name, "first weight", weights[0].value(), their_weights[0], dtype, most);
    judge.close(name, "second weight", weights[1].value(), their_weights[1], dtype, most);
  }
}

void optimizers(Judge& judge) {
  namespace optim = torch::optim;
  const auto sgd = [&](const char* name, const tt::SgdOptions& options, double clipped = 0) {
    trained(
        judge, name, [=](auto parameters) { return std::make_shared<tt::Sgd>(std::move(parameters), 0.1, options); },
        [=](auto parameters) {
          return std::make_unique<optim::SGD>(
              parameters,
              optim::SGDOptions(0.1).momentum(options.momentum).nesterov(options.nesterov).weight_decay(options.weight_decay));
        },
        clipped);
  };
  sgd("Sgd", {});
  sgd("Sgd with momentum", {.momentum = 0.9});
  sgd("Sgd by Nesterov", {.momentum = 0.9, .nesterov = true, .weight_decay = 0.01});
  sgd("clip_by_global_norm", {.momentum = 0.5}, 0.3);
  for (const double decay : {0.0, 0.05}) {
    trained(
        judge, decay == 0 ? "Adam" : "Adam with decay",
        [=](auto parameters) {
          return std::make_shared<tt::Adam>(std::move(parameters), 0.01, tt::AdamOptions{.weight_decay = decay});
        },
        [=](auto parameters) { return std::make_unique<optim::Adam>(parameters, optim::AdamOptions(0.01).weight_decay(decay)); });
  }
  trained(
      judge, "AdamW",
      [](auto parameters) { return std::make_shared<tt::Adam>(std::move(parameters), 0.01, tt::adamw({.weight_decay = 0.1})); },
      [](auto parameters) { return std::make_unique<optim::AdamW>(parameters, optim::AdamWOptions(0.01).weight_decay(0.1)); });
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv, {"--seed="});
  const std::uint64_t seed = options.has("--seed") ? std::stoull(options.value("--seed")) : std::random_device{}();
  std::printf("seed %llu, libtorch %s\n", static_cast<unsigned long long>(seed), TORCH_VERSION);
  bench::Report report("gradients");
  Judge judge(seed);
  const std::vector<std::pair<const char*, void (*)(Judge&)>> families{{"arithmetic", arithmetic},
                                                                       {"functions", functions},
                                                                       {"reductions", reductions},
                                                                       {"matrices", matrices},
                                                                       {"neural", neural},
                                                                       {"movement", movement},
                                                                       {"more movement", more_movement},
                                                                       {"attention", attention},
                                                                       {"corners", corners},
                                                                       {"losses", losses},
                                                                       {"layers", layers},
                                                                       {"optimizers", optimizers}};
  for (const auto& [name, family] : families) {
    judge.begin(name);
    for (int round = 0; round < (options.is_quick() ? 2 : 20); ++round) family(judge);
    judge.end(report);
  }
  judge.expect_all_but({
      "at",           // At::get and the like are
      "permutation",  // libtorch draws another
      "pin",          // needs a GPU; it is copy_to
      "Variable::value",
      "Variable::assign",
      "Variable::assign_add",  // libtorch's tensors are their own; Layers and optimizers use these
      // Held against small changes of their inputs by tests/processes/gradients_test.cc and
      // tests/train/sharded_gradients_test.cc.
      "shard",
      "pack",
      "unpack",
      "to_tensor",
      "relayout",
      "all_reduce",
      "broadcast",
      "all_gather",
      "reduce_scatter",
      "all_to_all",
      "elementwise",
  });
  report.write(options.json());
  return judge.has_failed() ? 1 : 0;
}
