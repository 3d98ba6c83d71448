// A call of every function, with operands that are random in shape, view and value and follow from a seed: the same call can be
// made again with every element moved a little, and so be differentiated by hand.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::conformance {

class Draw {
 public:
  // `values` chooses the elements, and nothing else. `by`: how far each goes along a random direction of its own. What is drawn
  // is watched by the tapes.
  Draw(std::uint64_t seed, std::uint64_t values, double by = 0, std::vector<Tape*> tapes = {})
      : random_(seed), values_(values), by_(by), tapes_(std::move(tapes)) {}

  // Operands drawn from now on go this far along their directions, too: a tensor of one element.
  void move_by(const Tensor& along) { along_ = along; }

  std::int64_t between(std::int64_t low, std::int64_t high);
  bool coin() { return between(0, 1) == 1; }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[between(0, static_cast<std::int64_t>(from.size()) - 1)];
  }
  Shape shape(std::size_t fewest_axes = 0, std::size_t most_axes = 3, std::int64_t smallest = 1);
  // That is broadcast to this one.
  Shape narrower(const Shape& shape);
  std::int64_t axis(const Shape& shape);
  Dims some_axes(const Shape& shape);
  Dims order(std::size_t rank);

  // f64, seen through a view: as it was made, transposed, sliced, backwards or broadcast.
  Tensor positive(const Shape& shape) { return within(shape, 0.1, 0.9); }
  Tensor within(const Shape& shape, double low, double high);
  // Of either sign, away from 0.
  Tensor any(const Shape& shape);
  // A matrix, or a batch of them, that can be inverted.
  Tensor invertible(const Shape& batch, std::int64_t size);

  Tensor whole(const Shape& shape, std::int64_t low, std::int64_t high);  // int64, high not among them
  Tensor mask(const Shape& shape);
  Tensor places(std::int64_t count, std::int64_t below);  // distinct

  struct Leaf {
    Tensor value;
    Tensor direction;
  };
  [[nodiscard]] const std::vector<Leaf>& leaves() const noexcept { return leaves_; }

 private:
  std::uint64_t key() { return values_ * 1000 + ++drawn_; }
  Tensor leaf(const Shape& shape, double low, double high, bool of_either_sign);
  Tensor viewed(const Shape& shape, double low, double high, bool of_either_sign);

  std::mt19937_64 random_;
  std::uint64_t values_;
  std::uint64_t drawn_ = 0;
  double by_;
  Tensor along_;
  std::vector<Tape*> tapes_;
  std::vector<Leaf> leaves_;
};

struct RandomCall {
  std::string_view function;  // as the catalogue has it
  std::function<std::vector<Tensor>(Draw&)> call;
};

// The meshes among them are of the two devices of this type.
const std::vector<RandomCall>& random_calls_on(const std::string& type);

}  // namespace tutti::conformance
