// What tells one graph of a captured function from another: arguments but for the tensors' values, and what the thread has set.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "tutti/base/inline_vector.h"
#include "tutti/exec/generator.h"
#include "tutti/exec/stream.h"
#include "tutti/ops/flatten.h"
#include "tutti/ops/variable.h"

namespace tutti::graph {

class CallKey {
 public:
  using Words = InlineVector<std::uint64_t, 96>;

  void add(const Tensor& x);
  void add(const Variable& x);
  void add(std::string_view text);
  template <class Number>
    requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
  void add(Number value) {
    if constexpr (std::same_as<Number, long double>) {  // which has more bytes than count
      const auto most = static_cast<double>(value);
      add(most);
      add(static_cast<double>(value - most));
    } else {
      static_assert(sizeof value <= sizeof(std::uint64_t));
      std::uint64_t word = 0;
      std::memcpy(&word, &value, sizeof value);
      words_.push_back(word);
    }
  }
  void add(const Stream& stream);
  void add(const Generator& generator);
  // Of types that are told by their addresses.
  void add_identity(const void* what) { words_.push_back(reinterpret_cast<std::uintptr_t>(what)); }
  // Device scope, streams, settings.
  void add_place();

  [[nodiscard]] const Words& words() const noexcept { return words_; }
  // The defined tensors among the arguments.
  [[nodiscard]] std::span<const Tensor* const> tensors() const noexcept { return tensors_.view(); }

 private:
  Words words_;
  InlineVector<const Tensor*, 16> tensors_;
};

// Adds an argument, with how it is nested.
struct AddToKey {
  template <class T>
  void operator()(const std::string&, const T& value) const {
    key.add(value);
  }
  void several(std::size_t count) const { key.add(count); }
  void key_of(std::string_view text) const { key.add(text); }
  template <class Pointer>
  void behind(const Pointer& pointer) const {
    key.add(static_cast<bool>(pointer));
  }
  // What it cannot see, a std::function say, tells no graphs apart.
  template <class T>
  void other(const T& value) const {
    if constexpr (std::same_as<T, Stream> || std::same_as<T, Generator>) {
      key.add(value);
    } else if constexpr (requires { std::visit([](const auto&) {}, value); }) {  // whose other bytes may be anything
      key.add(value.index());
      std::visit([&](const auto& held) { each_value(std::string(), held, *this); }, value);
    } else if constexpr (std::is_trivially_copyable_v<T> && !std::is_empty_v<T>) {
      key.add(std::string_view(reinterpret_cast<const char*>(&value), sizeof value));
    }
  }
  CallKey& key;
};

}  // namespace tutti::graph
