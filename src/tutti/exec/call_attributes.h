// The attributes of one op call as data: they compare, hash and print without anyone knowing their struct.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "tutti/base/fields.h"

namespace tutti {

// What can be asked of attributes without knowing their struct.
struct AttributeType {
  bool (*equal)(const std::byte* a, const std::byte* b);
  std::size_t (*hash)(const std::byte* bytes);
  std::string (*text)(const std::byte* bytes);
};

namespace detail {
[[noreturn]] void raise_attribute_size(std::size_t given, std::size_t wanted);

template <class T>
T read_as(const std::byte* bytes) noexcept {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
inline constexpr AttributeType attribute_type{
    [](const std::byte* a, const std::byte* b) { return have_equal_fields(read_as<T>(a), read_as<T>(b)); },
    [](const std::byte* bytes) { return hash_of_fields(read_as<T>(bytes)); },
    [](const std::byte* bytes) { return text_of_fields(read_as<T>(bytes)); },
};
}  // namespace detail

// Small plain data of one op call: the axes of a sum, the key of a random draw. Each op has a struct of its own, an aggregate.
class Attributes {
 public:
  static constexpr std::size_t most_bytes = 208;

  Attributes() noexcept = default;
  template <class T>
  explicit Attributes(const T& value) noexcept : size_(sizeof(T)), type_(&detail::attribute_type<T>) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= most_bytes && alignof(T) <= 8);
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }
  Attributes(const Attributes& other) noexcept { *this = other; }
  Attributes& operator=(const Attributes& other) noexcept {
    if (this == &other) return *this;
    size_ = other.size_;
    type_ = other.type_;
    std::memcpy(bytes_.data(), other.bytes_.data(), size_);
    return *this;
  }
  ~Attributes() = default;

  // Throws InvalidArgument when the call was given none, or a struct of another size.
  template <class T>
  [[nodiscard]] T as() const {
    if (size_ != sizeof(T)) [[unlikely]]
      detail::raise_attribute_size(size_, sizeof(T));
    return detail::read_as<T>(bytes_.data());
  }
  // As a kernel gets them: without their type.
  static Attributes from_bytes(const std::byte* bytes, std::size_t size) noexcept {
    Attributes out;
    std::memcpy(out.bytes_.data(), bytes, size);
    out.size_ = size;
    return out;
  }
  // The fields that begin at that byte.
  template <class T>
  void overwrite(std::size_t at, const T& value) noexcept {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const std::byte* data() const noexcept { return bytes_.data(); }

  // By their fields, floats by their bits; without a type, by their bytes. Those of different structs differ.
  friend bool operator==(const Attributes& a, const Attributes& b) {
    return a.type_ == b.type_ &&
           (a.type_ != nullptr ? a.type_->equal(a.data(), b.data()) : have_equal_fields(a.bytes(), b.bytes()));
  }
  [[nodiscard]] std::size_t hash() const { return type_ != nullptr ? type_->hash(data()) : hash_of_fields(bytes()); }
  // "(3, 0.5)"; the bytes, without a type; empty: there are none.
  [[nodiscard]] std::string to_string() const {
    return type_ != nullptr ? type_->text(data()) : size_ == 0 ? "" : text_of_fields(bytes());
  }

 private:
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), size_}; }
  alignas(8) std::array<std::byte, most_bytes> bytes_;
  std::size_t size_ = 0;
  const AttributeType* type_ = nullptr;
};

}  // namespace tutti
