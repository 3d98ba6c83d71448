#include "tutti/ops/einsum_equation.h"

#include <algorithm>
#include <array>
#include <string>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti::detail {

namespace {

// 'A' ... 'Z', 'a' ... 'z' as 0 ... 51: in the order of the alphabet as characters have it.
Label label_of(char c) { return c <= 'Z' ? c - 'A' : c - 'a' + 26; }

class Parser {
 public:
  Parser(std::string_view equation, Site site) : equation_(equation), site_(site) {
    for (const char c : equation) {
      if (c != ' ') text_ += c;
    }
  }

  Equation parse(std::span<const Tensor> tensors) {
    const std::size_t arrow = text_.find("->");
    const std::string_view left = std::string_view(text_).substr(0, arrow);
    std::vector<std::string_view> terms;
    for (std::size_t begin = 0;;) {
      const std::size_t end = left.find(',', begin);
      terms.push_back(left.substr(begin, end - begin));
      if (end == std::string_view::npos) break;
      begin = end + 1;
    }
    if (terms.size() != tensors.size()) refuse(text("it names ", terms.size(), " tensors, and there are ", tensors.size()));
    Equation out;
    for (std::size_t i = 0; i < terms.size(); ++i) out.inputs.push_back(input(terms[i], tensors[i].shape(site_)));
    out.output = arrow == std::string::npos ? implied(out) : stated(std::string_view(text_).substr(arrow + 2), out);
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw InvalidArgument(text("einsum: '", equation_, "': ", why), site_);
  }

  // Calls letter(label) and ellipsis() in the order they stand in.
  template <class Letter, class Ellipsis>
  void scan(std::string_view term, const Letter& letter, const Ellipsis& ellipsis) const {
    bool had_ellipsis = false;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (is_letter(term[i])) {
        letter(label_of(term[i]));
      } else if (term.substr(i, 3) == "..." && !had_ellipsis) {
        had_ellipsis = true;
        ellipsis();
        i += 2;
      } else {
        refuse(text("'", term[i], "' is not expected there"));
      }
    }
  }

  Labels input(std::string_view term, const Shape& shape) {
    std::size_t letters = 0;
    bool has_ellipsis = false;
    scan(
        term, [&](Label) { ++letters; }, [&] { has_ellipsis = true; });
    if (letters > shape.size() || (!has_ellipsis && letters != shape.size())) {
      throw ShapeError(
          text("einsum: '", equation_, "': '", term, "' does not name the axes of a tensor of shape ", tutti::to_string(shape)),
          site_);
    }
    const auto open = static_cast<Label>(shape.size() - letters);
    ellipsis_axes_ = std::max(ellipsis_axes_, open);
    Labels out;
    scan(
        term, [&](Label label) { out.push_back(label); },
        [&] {
          for (Label i = open; i-- > 0;) out.push_back(first_ellipsis_label + i);
        });
    return out;
  }

  Labels all_ellipsis_labels() const {
    Labels out;
    for (Label i = ellipsis_axes_; i-- > 0;) out.push_back(first_ellipsis_label + i);
    return out;
  }

  Labels implied(const Equation& equation) const {
    std::array<int, first_ellipsis_label> times{};
    for (const Labels& labels : equation.inputs) {
      for (const Label label : labels) {
        if (label < first_ellipsis_label) ++times[static_cast<std::size_t>(label)];
      }
    }
    Labels out = all_ellipsis_labels();
    for (Label label = 0; label < first_ellipsis_label; ++label) {
      if (times[static_cast<std::size_t>(label)] == 1) out.push_back(label);
    }
    return out;
  }

  Labels stated(std::string_view term, const Equation& equation) const {
    Labels out;
    bool has_ellipsis = false;
    scan(
        term,
        [&](Label label) {
          if (std::find(out.begin(), out.end(), label) != out.end())
            refuse(text("the output has '", to_string(label), "' twice"));
          const bool is_known = std::any_of(equation.inputs.begin(), equation.inputs.end(), [label](const Labels& labels) {
            return std::find(labels.begin(), labels.end(), label) != labels.end();
          });
          if (!is_known) refuse(text("the output has '", to_string(label), "', which no input has"));
          out.push_back(label);
        },
        [&] {
          has_ellipsis = true;
          for (const Label label : all_ellipsis_labels()) out.push_back(label);
        });
    if (ellipsis_axes_ > 0 && !has_ellipsis) refuse("the inputs have axes in '...' that the output leaves out");
    return out;
  }

  std::string_view equation_;
  std::string text_;
  Site site_;
  Label ellipsis_axes_ = 0;
};

}  // namespace

Equation parse_equation(std::string_view text, std::span<const Tensor> tensors, Site site) {
  return Parser(text, site).parse(tensors);
}

std::string_view to_string(Label label) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  return label >= first_ellipsis_label ? std::string_view("...") : letters.substr(static_cast<std::size_t>(label), 1);
}

}  // namespace tutti::detail
