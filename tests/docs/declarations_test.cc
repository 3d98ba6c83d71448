// What the command reads from the headers: functions, members, operators, fields, and the comments that go with them.
#include "tools/declarations.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti::tools {
namespace {

constexpr std::string_view header = R"header(// What this header is for, in
// two lines.
#pragma once
#include <vector>

namespace tutti {

struct AOptions {
  bool keep = false;          // as it is,
                              // in two lines
  std::optional<int> size = {};
  std::chrono::milliseconds wait{60'000};  // a { in a comment
  std::function<void(int)> done = {};
  std::string name = "(a);";
  AOptions() = default;
  explicit AOptions(int value) : keep(value != 0), size{value} {}
  AOptions& operator=(const AOptions&) = delete;
};
// Does a. And more.
[[nodiscard]] Tensor a(const Tensor& x, const Dims& axes = {}, const AOptions& options = {.keep = true},
                       Site site = {});
Tensor a_too(std::int64_t n);

inline constexpr int number = 3;
template <Element T>
  requires(!std::same_as<T, bool>)
std::vector<T> b(const Tensor& x, Site site = {}) { if (x) { return {}; } return b<T>(x); }
inline Tensor operator-(TensorArg l, TensorArg r) { return a(l, r); }

// A class.
class [[nodiscard]] C {
  Tensor hidden(int);
 public:
  explicit C(int);
  ~C();
  Tensor shown(std::function<void()> done = {}, Site site = {}) const;  // not about what follows
  Tensor operator()(const Tensor& x, Site site = {}) const;
  static C made();
  friend bool operator==(const C&, const C&) = default;
  struct Inner {
    std::size_t count = 0;
  };
 private:
  Tensor hidden_too();
  int field_;
};
namespace detail { Tensor d(int); }
enum class E : std::uint8_t {
  f,  // the first
  g,
};
enum class Short { h, i };

#define TUTTI_OPERATOR(sign, function)                      \
  inline Tensor operator sign(TensorArg a, TensorArg b) {   \
    return function(std::move(a), std::move(b));            \
  }
TUTTI_OPERATOR(<=, a)
#undef TUTTI_OPERATOR
#define TUTTI_SHARDED(function) inline ShardedTensor function(const ShardedTensor& x, Site site = {}) { return elementwise(#function, x); }
TUTTI_SHARDED(j)
TUTTI_SHARDED(k)
inline ShardedTensor operator~(ShardedArg x) { return elementwise("k", x); }

using H = Tensor (*)(int);
Tensor l(int);
}  // namespace tutti
)header";

const DeclaredFunction& function(const Declarations& all, std::string_view name) {
  const auto found =
      std::find_if(all.functions.begin(), all.functions.end(), [&](const auto& each) { return each.name == name; });
  if (found == all.functions.end()) throw std::runtime_error("not found: " + std::string(name));
  return *found;
}

const DeclaredType& type(const Declarations& all, std::string_view name) {
  const auto found = std::find_if(all.types.begin(), all.types.end(), [&](const auto& each) { return each.name == name; });
  if (found == all.types.end()) throw std::runtime_error("not found: " + std::string(name));
  return *found;
}

TEST(Declarations, AreFunctionsTemplatesOperatorsAndPublicMembersInOrder) {
  std::vector<std::string> names;
  for (const DeclaredFunction& each : parse_declarations(header).functions) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a_too", "b", "operator-", "C::shown", "C::operator()", "C::made",
                                             "operator<=", "j", "k", "operator~", "l"}));
}

TEST(Declarations, AreToldOnOneLineWithoutTheCallersSite) {
  const Declarations all = parse_declarations(header);
  EXPECT_EQ(function(all, "a").text,
            "Tensor a(const Tensor& x, const Dims& axes = {}, const AOptions& options = {.keep = true})");
  EXPECT_EQ(function(all, "a_too").text, "Tensor a_too(int64_t n)");
  EXPECT_EQ(function(all, "b").text, "std::vector<T> b<T>(const Tensor& x)");
  EXPECT_EQ(function(all, "C::shown").text, "Tensor shown(std::function<void()> done = {})");
  EXPECT_EQ(function(all, "C::operator()").text, "Tensor operator()(const Tensor& x)");
  EXPECT_EQ(function(all, "j").text, "ShardedTensor j(const ShardedTensor& x)");
}

TEST(Declarations, HaveTheCommentAboveThemOrAboveThoseTheyFollow) {
  const Declarations all = parse_declarations(header);
  EXPECT_EQ(all.comment, "What this header is for, in two lines.");
  EXPECT_EQ(function(all, "a").comment, "Does a. And more.");
  EXPECT_EQ(function(all, "a_too").comment, "Does a. And more.");
  EXPECT_EQ(function(all, "b").comment, "") << "an empty line ends it";
  EXPECT_EQ(function(all, "C::made").comment, "") << "one behind a declaration is not about the next";
  EXPECT_EQ(type(all, "C").comment, "A class.");
}

TEST(Declarations, OfOperatorsNameTheFunctionTheyStandFor) {
  const Declarations all = parse_declarations(header);
  EXPECT_EQ(function(all, "operator-").stands_for, "a");
  EXPECT_EQ(function(all, "operator<=").stands_for, "a");
  EXPECT_EQ(function(all, "operator~").stands_for, "k");
}

TEST(Declarations, OfTypesSayHowTheyAreMade) {
  const Declarations all = parse_declarations(header);
  EXPECT_EQ(type(all, "C").constructors, (std::vector<std::string>{"C(int)"}));
  EXPECT_EQ(type(all, "AOptions").constructors, (std::vector<std::string>{"AOptions(int value)"}));
  EXPECT_TRUE(type(all, "Inner").constructors.empty());
}

TEST(Declarations, OfTypesHaveTheirPublicFieldsAndValues) {
  const Declarations all = parse_declarations(header);
  std::vector<std::string> fields;
  for (const DeclaredField& each : type(all, "AOptions").fields) fields.push_back(each.text + " | " + each.comment);
  EXPECT_EQ(fields, (std::vector<std::string>{"bool keep = false | as it is, in two lines", "std::optional<int> size = {} | ",
                                              "std::chrono::milliseconds wait{60'000} | a { in a comment",
                                              "std::function<void(int)> done = {} | ", "std::string name = \"(a);\" | "}));
  EXPECT_TRUE(type(all, "C").fields.empty());
  EXPECT_EQ(type(all, "Inner").fields.at(0).text, "size_t count = 0");
  EXPECT_TRUE(type(all, "E").is_enum);
  EXPECT_EQ(type(all, "E").fields.at(0).comment, "the first");
  EXPECT_EQ(type(all, "E").fields.at(1).text, "g");
  EXPECT_EQ(type(all, "Short").fields.size(), 2U);
}

}  // namespace
}  // namespace tutti::tools
