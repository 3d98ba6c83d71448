// Calls that do not compile, and what the compiler's error begins with. Read by refused_calls.py; not part of a program.
#include "tutti/tutti.h"

namespace tt = tutti;

class Closed {
 public:
  explicit Closed(tt::Tensor weight);
  tt::Tensor operator()(const tt::Tensor& x) const;

 private:
  tt::Tensor weight_;
};

void refused(const tt::Tensor& x, const tt::Tensor& i) {
  tt::zeros(2, 3);                 // write zeros({2, 3})
  tt::ones(2, 3, tt::DType::f64);  // write ones({2, 3})
  tt::empty(2, 3);                 // write empty({2, 3})
  tt::uniform(2, 3);               // write uniform({2, 3})
  tt::normal(2, 3);                // write normal({2, 3})
  tt::full(2, 3, 0.5);             // write full({2, 3}, value)
  tt::randint(0, 10, 3);           // write randint({3}, low, high)
  tt::randint(0, 10, {3, 4});      // write randint({3}, low, high)
  tt::reshape(x, 2, 3);            // write reshape(x, {2, 3}): several sizes
  tt::reshape(x, 2, -1, 3);        // write reshape(x, {2, 3}): several sizes
  tt::broadcast_to(x, 2, 3);       // write broadcast_to(x, {2, 3})
  tt::tile(x, 2, 3);               // write tile(x, {2, 3})
  tt::permute_dims(x, 1, 0);       // write permute_dims(x, {1, 0})
  tt::expand_dims(x, 0, 1);        // write expand_dims(x, {0, 1})
  tt::squeeze(x, 0, 1);            // write squeeze(x, {0, 1})
  tt::flip(x, 0, 1);               // write flip(x, {0, 1})
  tt::transpose(x, 2, 0, 1);       // write transpose(x, {2, 0, 1})
  tt::sum(x, 0, 1);                // write sum(x, {0, 1}) for two axes
  tt::sum(x, 0, true);             // write sum(x, {0, 1}) for two axes, sum(x, 0, {.keepdims = true})
  tt::prod(x, 0, 1);               // write prod(x, {0, 1})
  tt::max(x, 0, true);             // write max(x, {0, 1})
  tt::min(x, 0, true);             // write min(x, {0, 1})
  tt::mean(x, 0, 1);               // write mean(x, {0, 1})
  tt::var(x, 0, 1);                // write var(x, {0, 1})
  tt::std(x, 0, 1);                // write std(x, {0, 1})
  tt::all(x, 0, true);             // write all(x, {0, 1})
  tt::any(x, 0, true);             // write any(x, {0, 1})
  tt::count_nonzero(x, 0, 1);      // write count_nonzero(x, {0, 1})
  tt::logsumexp(x, 0, true);       // write logsumexp(x, {0, 1})
  tt::vector_norm(x, 0, 2.0);      // write vector_norm(x, {0, 1})
  tt::argmax(x, 0, true);          // write argmax(x, 0, {.keepdims = true})
  tt::argmin(x, 0, 1);             // write argmin(x, 0, {.keepdims = true})
  tt::max(x, i);                   // write maximum(a, b)
  tt::min(x, i);                   // write minimum(a, b)
  tt::take(x, 0, i);               // write take(x, indices, axis)
  tt::take_along_axis(x, 0, i);    // write take_along_axis(x, indices, axis)
  tt::index_select(x, i, 0);       // write index_select(x, axis, indices)
  tt::gather(x, i, 0);             // write gather(x, axis, indices)
  tt::slice(x, 0, 1, 3);           // write slice(x, axis, {start, stop})
  tt::concat(x, i);                // write concat({a, b}, axis)
  tt::concat(x, i, 1);             // write concat({a, b}, axis)
  tt::stack(x, i);                 // write stack({a, b}, axis)
  tt::where(x);                    // write nonzero(condition)
  (void)(x == i);                  // write equal(a, b)
  (void)(x != 0);                  // write equal(a, b)
  (void)x[0];                      // write index(x, {0}) for x[0]
  (void)tt::item(x);               // write item<float>(x)
  (void)tt::read(x);               // write read<float>(x)
  (void)tt::read_async(x);         // write read_async<float>(x)
  (void)tt::try_read(x);           // write try_read<float>(x)
  tt::constant({1, 0L});           // write constant({1.0, 2.5}): numbers of one type
  tt::parameters(Closed(x));       // give this class an each_member
  tt::save("a", Closed(x));        // give this class an each_member
}

std::shared_ptr<tt::Tensor> behind_a_pointer(const tt::Tensor& x);
std::pair<tt::Tensor, tt::Event> with_an_event(const tt::Tensor& x);

void refused_results(const tt::Tensor& x) {
  (void)tt::capture(behind_a_pointer)(x);  // a captured function gives its tensors by value
  (void)tt::capture(with_an_event)(x);     // a captured function gives no events
  (void)tt::PerReplica<bool>();            // a PerReplica holds no bools
}

void refused_options(const tt::Tensor& x) {
  tt::var(x, {.correction = 1});                    // write the axis by itself, and all_axes before options
  tt::std(x, {.correction = 1, .keepdims = true});  // write the axis by itself, and all_axes before options
  tt::max(x, {.keepdims = 1U});                     // write the axis by itself, and all_axes before options
  tt::min(x, {.keepdims = true});         // write the axis by itself, and all_axes before options: min(x, 1), min(x, all_axes,
  tt::mean(x, {.keepdims = false});       // write the axis by itself, and all_axes before options: mean(x, 1), mean(x, all_axes,
  tt::sum(x, {.dtype = tt::DType::f32});  // write the axis by itself, and all_axes before options: sum(x, 1), sum(x, all_axes,
  tt::logsumexp(x, {.keepdims = true});   // write the axis by itself, and all_axes before options
  tt::vector_norm(x, {.ord = 1L});        // write the axis by itself, and all_axes before options
  tt::all(x, {.axis = std::int16_t{1}});  // write the axis by itself, and all_axes before options
  tt::count_nonzero(x, {.dim = 1LL});     // write the axis by itself, and all_axes before options
  tt::any(x, {.keepdim = true});          // write the axis by itself, and all_axes before options: any(x, 1), any(x, all_axes,
  tt::prod(x, {.axis = 1, .keepdims = true});  // write the axis by itself, and all_axes before options: prod(x, 1)
  tt::sum(x, {0}, true);                       // write sum(x, {0, 1}, {.keepdims = true})
  tt::max(x, tt::all_axes, true);              // write max(x, {0, 1}, {.keepdims = true})
  tt::argmin(x, {.axis = 1});                  // write argmin(x, 0, {.keepdims = true})
  tt::argmax(x, {.keepdims = true});           // write argmax(x, 0, {.keepdims = true})
}

void refused_habits(const tt::Tensor& x, const tt::Tensor& y) {
  tt::index(x, {0}) = y;                        // write x = at(std::move(x), {0}).set(y)
  tt::index(x, {0}) = 1;                        // write x = at(std::move(x), {0}).set(y)
  tt::index(x, {0}) += y;                       // write x = at(std::move(x), {0}).add(y)
  tt::uniform(0, 1, {3});                       // write uniform({3}, {.low = 0, .high = 1})
  tt::normal(0.0, 1.0, {3});                    // write normal({3}, {.mean = 0, .stddev = 1})
  tt::ones({2, 3}, {.dtype = tt::DType::f64});  // write ones({2, 3}, DType::f32)
  tt::eye(3, 4, 1);                             // write eye(3, 4, {.offset = 1})
  tt::linspace(0, 1, 5, true);                  // write linspace(0, 1, 5, {.endpoint = true})
  tt::index(x, 0);                              // write index(x, {0})
  tt::index(x, tt::Range{1, 3}, 0);             // write index(x, {0})
  tt::sort(x, -1, true);                        // write sort(x, -1, {.descending = true})
  tt::argsort(x, true);                         // write argsort(x, {.descending = true})
  if (x > 0) return;                            // write item<bool>(x)
  (void)(x && y);                               // write logical_and(a, b)
  (void)(x || true);                            // write logical_or(a, b)
  (void)!x;                                     // write logical_not(x)
  (void)float(x);                               // write item<float>(x)
  tt::randint({3}, 10);                         // write randint({3}, 0, 10): both bounds
  tt::uniform({3}, 0, 1);                       // write uniform({3}, {.low = 0, .high = 1})
  tt::uniform({3}, 2.0);                        // write uniform({3}, {.low = 0, .high = 1})
  tt::normal({3}, 0.0, 1.0);                    // write normal({3}, {.mean = 0, .stddev = 1})
  tt::meshgrid(x, y);                           // write meshgrid({x, y})
  tt::round(x, 2);                              // write round(x * 100) / 100
  tt::allclose(x, y, 1e-3);                     // write allclose(x, y, {.rtol = 1e-5, .atol = 1e-8})
  tt::isclose(x, y, 1e-3, 1e-5);                // write isclose(x, y, {.rtol = 1e-5, .atol = 1e-8})
  tt::constant({1, 2.5}, tt::DType::f32);       // write constant({1.0, 2.5}): numbers of one type
  tt::constant({1, 2, 3, 4.5}, {2, 2});         // write constant({1.0, 2.5}): numbers of one type
}

void refused_on_variables(tt::Variable& v, const tt::Tensor& x) {
  v = x;   // write v.assign(x)
  v = 1;   // write v.assign(x)
  v += 1;  // write v.assign_add(x)
  v -= x;  // write v.assign_add(-x)
  v *= 2;  // write v.assign(v * x)
  v /= 2;  // write v.assign(v / x)
}
