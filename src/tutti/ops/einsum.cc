#include "tutti/ops/einsum.h"

#include <algorithm>
#include <map>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/einsum_equation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/scalar_call.h"

namespace tutti {

namespace {

using detail::Label;
using detail::Labels;

// A tensor with a label for each axis, no label twice.
struct Term {
  Tensor tensor;
  Labels labels;

  [[nodiscard]] bool has(Label label) const { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
  [[nodiscard]] std::int64_t axis(Label label) const { return std::find(labels.begin(), labels.end(), label) - labels.begin(); }
  [[nodiscard]] std::int64_t size(Label label) const { return tensor.shape()[static_cast<std::size_t>(axis(label))]; }
};

bool contains(const Labels& labels, Label label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

Labels joined(const Labels& a, const Labels& b) {
  Labels out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

class Contraction {
 public:
  Contraction(std::vector<Term> terms, Labels output, Site site)
      : terms_(std::move(terms)), output_(std::move(output)), site_(site) {
    for (Term& term : terms_) term = with_diagonals(std::move(term));
    measure();
    for (Term& term : terms_) term = without_single_axes(term);
  }

  // Each step makes one tensor of two: the pair whose product is smallest.
  Tensor run() {
    for (std::size_t i = 0; i < terms_.size(); ++i) terms_[i] = summed(terms_[i], kept_without(i, i));
    while (terms_.size() > 1) {
      const auto [i, j] = cheapest_pair();
      Term product = multiplied(terms_[i], terms_[j], kept_without(i, j));
      terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(j));
      terms_[i] = std::move(product);
    }
    return in_order(terms_[0], output_);
  }

 private:
  // Axes that share a label become one.
  [[nodiscard]] Term with_diagonals(Term term) const {
    for (std::size_t i = 0; i < term.labels.size();) {
      const Label label = term.labels[i];
      const auto again = std::find(term.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, term.labels.end(), label);
      if (again == term.labels.end()) {
        ++i;
        continue;
      }
      const std::int64_t second = again - term.labels.begin();
      const Shape& shape = term.tensor.shape();
      if (shape[i] != shape[static_cast<std::size_t>(second)]) {
        throw ShapeError(text("einsum: '", detail::to_string(label), "' stands for axes of sizes ", shape[i], " and ",
                              shape[static_cast<std::size_t>(second)], " of one tensor"),
                         site_);
      }
      term.tensor = diagonal(term.tensor, {.axis1 = static_cast<std::int64_t>(i), .axis2 = second}, site_);
      term.labels.erase(again);
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(i));
      term.labels.push_back(label);
      i = 0;
    }
    return term;
  }

  void measure() {
    for (const Term& term : terms_) {
      for (const Label label : term.labels) {
        const std::int64_t here = term.size(label);
        const auto [known, is_new] = sizes_.try_emplace(label, here);
        if (is_new || known->second == here || here == 1) continue;
        if (known->second != 1) {
          throw ShapeError(
              text("einsum: '", detail::to_string(label), "' stands for axes of sizes ", known->second, " and ", here), site_);
        }
        known->second = here;
      }
    }
  }

  // An axis of size 1 that broadcasts says nothing: the label is then the others' alone.
  [[nodiscard]] Term without_single_axes(const Term& term) const {
    Labels kept;
    Dims gone;
    for (const Label label : term.labels) {
      if (term.size(label) == 1 && sizes_.at(label) != 1) {
        gone.push_back(term.axis(label));
      } else {
        kept.push_back(label);
      }
    }
    return gone.empty() ? term : Term{squeeze(term.tensor, gone, site_), kept};
  }

  // Labels of the output and of all terms but two: what a step must leave.
  [[nodiscard]] Labels kept_without(std::size_t i, std::size_t j) const {
    Labels out = output_;
    for (std::size_t k = 0; k < terms_.size(); ++k) {
      if (k != i && k != j) out = joined(out, terms_[k].labels);
    }
    return out;
  }

  // Without the labels that nobody else has. Integers stay in their dtype, and wrap.
  [[nodiscard]] Term summed(const Term& term, const Labels& kept) const {
    Dims axes;
    Labels labels;
    for (const Label label : term.labels) {
      if (contains(kept, label)) {
        labels.push_back(label);
      } else {
        axes.push_back(term.axis(label));
      }
    }
    if (axes.empty()) return term;
    return {cast(sum(term.tensor, axes, {}, site_), term.tensor.dtype(), site_), labels};
  }

  [[nodiscard]] std::pair<std::size_t, std::size_t> cheapest_pair() const {
    std::pair<std::size_t, std::size_t> best{0, 1};
    double least = -1;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      for (std::size_t j = i + 1; j < terms_.size(); ++j) {
        const Labels kept = kept_without(i, j);
        double elements = 1;
        for (const auto& [label, size] : sizes_) {
          if (contains(kept, label) && (terms_[i].has(label) || terms_[j].has(label))) elements *= static_cast<double>(size);
        }
        if (least >= 0 && elements >= least) continue;
        least = elements;
        best = {i, j};
      }
    }
    return best;
  }

  [[nodiscard]] Tensor in_order(const Term& term, const Labels& labels) const {
    Dims axes;
    for (const Label label : labels) axes.push_back(term.axis(label));
    return permute_dims(term.tensor, axes, site_);
  }

  [[nodiscard]] Shape shape_of(const Labels& labels) const {
    Shape out;
    for (const Label label : labels) out.push_back(sizes_.at(label), site_);
    return out;
  }
  [[nodiscard]] std::int64_t count_of(const Labels& labels) const {
    std::int64_t out = 1;
    for (const Label label : labels) out *= sizes_.at(label);
    return out;
  }

  [[nodiscard]] Term multiplied(const Term& a, const Term& b, const Labels& kept) const {
    Labels batch;
    Labels left;
    Labels right;
    Labels inner;
    for (const Label label : a.labels) (!b.has(label) ? left : contains(kept, label) ? batch : inner).push_back(label);
    for (const Label label : b.labels) {
      if (!a.has(label)) right.push_back(label);
    }
    const Labels labels = joined(joined(batch, left), right);
    if (inner.empty()) return {side_by_side(a, b, labels), labels};
    const Shape lead = batch.size() + 2 <= most_axes ? shape_of(batch) : Shape{count_of(batch)};
    const auto matrices = [&](const Term& term, const Labels& rows, const Labels& columns) {
      Shape shape = lead;
      shape.push_back(count_of(rows));
      shape.push_back(count_of(columns));
      return reshape(in_order(term, joined(joined(batch, rows), columns)), shape, site_);
    };
    const Tensor product = matmul(matrices(a, left, inner), matrices(b, inner, right), site_);
    return {reshape(product, shape_of(labels), site_), labels};
  }

  // Nothing to sum over: a product with broadcasting.
  [[nodiscard]] Tensor side_by_side(const Term& a, const Term& b, const Labels& labels) const {
    const auto spread = [&](const Term& term) {
      Labels present;
      Shape shape;
      for (const Label label : labels) {
        shape.push_back(term.has(label) ? sizes_.at(label) : 1, site_);
        if (term.has(label)) present.push_back(label);
      }
      return reshape(in_order(term, present), shape, site_);
    };
    Tensor left = spread(a);
    Tensor right = spread(b);
    TensorArg from_left(std::move(left), site_);
    TensorArg from_right(std::move(right), site_);
    return detail::binary<scalar::Multiply>(from_left, from_right, site_, {"einsum"});
  }

  std::vector<Term> terms_;
  Labels output_;
  std::map<Label, std::int64_t> sizes_;
  Site site_;
};

// More than one sum or product is made of the elements.
bool has_steps(const detail::Equation& equation) {
  std::size_t steps = equation.inputs.size() - 1;
  for (std::size_t i = 0; i < equation.inputs.size(); ++i) {
    for (const Label label : equation.inputs[i]) {
      bool is_alone = !contains(equation.output, label);
      for (std::size_t k = 0; is_alone && k < equation.inputs.size(); ++k)
        is_alone = k == i || !contains(equation.inputs[k], label);
      if (is_alone) ++steps;
    }
  }
  return steps > 1;
}

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> tensors, Site site) {
  if (tensors.empty()) throw InvalidArgument("einsum got no tensors", site);
  detail::Equation parsed = detail::parse_equation(equation, tensors, site);
  DType dtype = tensors[0].dtype();
  for (const Tensor& x : tensors) dtype = promote(dtype, x.dtype());
  const DType working = is_half(dtype) && has_steps(parsed) ? DType::f32 : dtype;  // else it would be rounded on the way
  std::vector<Term> terms;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    terms.push_back({cast(tensors[i], working, site), std::move(parsed.inputs[i])});
  return cast(Contraction(std::move(terms), std::move(parsed.output), site).run(), dtype, site);
}

}  // namespace tutti
