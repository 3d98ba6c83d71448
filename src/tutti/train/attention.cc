#include "tutti/train/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/neural.h"
#include "tutti/ops/patterns.h"
#include "tutti/place/scope.h"
#include "tutti/train/custom_gradient.h"

namespace tutti {

namespace {

// Queries from `begin` on see these keys, and nothing else.
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, Site site) {
  const double scale = 1 / std::sqrt(static_cast<double>(query.shape()[query.rank() - 1]));
  Tensor match = matmul(multiply(query, scale, site), matrix_transpose(key, site), site);
  if (mask.is_defined()) match = where(mask, match, -std::numeric_limits<float>::max() / 4, site);
  return matmul(softmax(match, -1, site), value, site);
}

Tensor strip_of_mask(const ScaledDotProductOptions& options, const Tensor& query, std::int64_t begin, std::int64_t end,
                     std::int64_t keys, std::int64_t queries, Site site) {
  Tensor mask;
  if (options.mask.is_defined()) {
    mask = options.mask;
    const std::size_t rank = mask.rank(site);
    if (rank >= 2 && mask.shape()[rank - 2] == queries && queries != 1) mask = slice(mask, -2, {begin, end}, site);
  }
  if (options.causal) {
    const DeviceScope there(query.device());
    const Tensor places = reshape(arange(begin, end, 1, {}, site), {end - begin, 1}, site);
    const Tensor before = greater_equal(places, arange(keys, {}, site), site);
    mask = mask.is_defined() ? logical_and(mask, before, site) : before;
  }
  return mask;
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const ScaledDotProductOptions& options, Site site) {
  const std::size_t rank = query.rank(site);
  const bool fits = rank >= 2 && key.rank(site) == rank && value.rank(site) == rank &&
                    query.shape()[rank - 1] == key.shape()[rank - 1] && key.shape()[rank - 2] == value.shape()[rank - 2];
  if (!fits) {
    throw ShapeError(text("scaled_dot_product_attention: queries and keys must have the same features, keys and values the same "
                          "places; the shapes are ",
                          to_string(query.shape()), ", ", to_string(key.shape()), " and ", to_string(value.shape())),
                     site);
  }
  if (options.chunk < 1)
    throw InvalidArgument(text("scaled_dot_product_attention: a chunk of ", options.chunk, " queries"), site);
  const std::int64_t queries = query.shape()[rank - 2];
  const std::int64_t keys = key.shape()[rank - 2];
  const auto strip = [&](std::int64_t begin, std::int64_t end) {
    const Tensor mask = strip_of_mask(options, query, begin, end, keys, queries, site);
    return [mask, site](const Tensor& q, const Tensor& k, const Tensor& v) { return attend(q, k, v, mask, site); };
  };
  if (queries <= options.chunk) return strip(0, queries)(query, key, value);
  std::vector<Tensor> parts;
  for (std::int64_t begin = 0; begin < queries; begin += options.chunk) {
    const std::int64_t end = std::min(begin + options.chunk, queries);
    parts.push_back(checkpoint(strip(begin, end), site)(slice(query, -2, {begin, end}, site), key, value));
  }
  return concat(parts, -2, site);
}

}  // namespace tutti
