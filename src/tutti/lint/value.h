// What the linter knows of a value in a program: a tensor, where it is, and how sure that is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "tutti/lint/finding.h"

namespace tutti::lint {

enum class Kind : std::uint8_t {
  unknown,
  host,  // a number, a string, a shape: nothing on a device; an integer has the element `number`
  tensor,
  array,  // of NumPy
  jax,
  jax_function,
  module,  // of torch.nn
  device,
  dtype,
  loader,
  stream,  // or an event
  scaler,
  optimizer,
  accelerator,  // of Accelerate
  dataset,      // whose items are at `place`
  distribution,
  container,
  function,  // of this file
  type,      // a class of this file
  partial,   // a call with some of its arguments
  instance,  // of a class of this file
  name,      // of another module: torch.nn.functional
};

enum class Place : std::uint8_t { unknown, cpu, cuda };
enum class Element : std::uint8_t { unknown, boolean, number };
enum class Known : std::uint8_t { unknown, no, yes };

struct Value {
  Kind kind = Kind::unknown;
  Place place = Place::unknown;
  Confidence sure = Confidence::certain;  // of the kind and the place
  Element element = Element::unknown;
  Known is_scalar = Known::unknown;   // has no dimension
  std::int8_t rank = -1;              // number of dimensions, where known
  Known pinned = Known::unknown;      // its memory: what it shares with others included
  Known is_quiet = Known::unknown;    // an optimizer that looks at a scaler's flag on the device; a scaler that is off
  std::uint32_t index = 0;            // of a container, a function, a partial, a type or an instance's type
  std::uint32_t loader = 0;           // the loader it came from, from 1
  const std::string* name = nullptr;  // the qualified name, the text of a string, or one of the marks below
};

// Marks of tensors.
inline constexpr std::string_view held_by_module = "held";  // a parameter or a buffer
inline constexpr std::string_view moved_unseen =
    "moved";                                            // something that to() or cuda() was called of: a module, if it is called
inline constexpr std::string_view guessed = "guessed";  // an argument of forward that nothing says more of

inline bool is_marked(const Value& value, std::string_view mark) {
  return value.kind == Kind::tensor && value.name != nullptr && *value.name == mark;
}
inline bool may_be_on_gpu(const Value& value) { return value.kind == Kind::tensor && value.place != Place::cpu; }

inline Value host() { return {.kind = Kind::host}; }
inline Value integer(Confidence sure = Confidence::certain) {
  return {.kind = Kind::host, .sure = sure, .element = Element::number};
}
inline Value tensor(Place place, Confidence sure = Confidence::certain) {
  return {.kind = Kind::tensor, .place = place, .sure = sure};
}
inline Value boolean(Value tensor) {
  tensor.element = Element::boolean;
  return tensor;
}
inline Confidence lower(Confidence a, Confidence b) { return std::min(a, b); }
inline Confidence less_sure(Confidence from) { return from == Confidence::certain ? Confidence::likely : Confidence::possible; }

// Of what was computed from it, which may share its memory.
inline Known pinned_after(Known pinned) { return pinned == Known::no ? Known::no : Known::unknown; }

// That it is on a GPU.
inline Confidence sure_of(const Value& value) { return value.place == Place::cuda ? value.sure : Confidence::possible; }

// "cuda", "cuda:1", "cuda:{rank}", "cpu"; unknown for any other text.
inline Place place_of_name(const std::string* text) {
  if (text == nullptr) return Place::unknown;
  if (*text == "cuda" || text->starts_with("cuda:")) return Place::cuda;
  return *text == "cpu" || text->starts_with("cpu:") ? Place::cpu : Place::unknown;
}

bool is_integer(const Value& value);

// The device that a value names, at an unknown place where that is neither the CPU nor a GPU of CUDA's; of another kind if it
// names none. A number is one of a GPU.
Value named_device(const Value& value);

// Either of the two, as a branch leaves it.
Value joined(const Value& a, const Value& b);

// The same, as assignments in several places leave it: one of what is not known takes nothing from the others, unless they name
// the CPU.
Value either_assigned(const Value& before, const Value& value);
bool names_cpu(const Value& value);

}  // namespace tutti::lint
