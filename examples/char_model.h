// A transformer that guesses the next character of a text from those before it.
#pragma once

#include <tutti/tutti.h>

#include <cstdint>
#include <vector>

struct CharModelSize {
  std::int64_t characters;   // different ones
  std::int64_t length = 32;  // so many are seen at a time
  std::int64_t features = 64;
  std::int64_t heads = 4;
  int blocks = 2;
};

// Every place looks at those before it, then each is worked on by itself.
struct Block {
  tutti::LayerNorm before;
  tutti::MultiHeadAttention attention;
  tutti::LayerNorm between;
  tutti::Dense wide;
  tutti::Dense narrow;

  explicit Block(const CharModelSize& size)
      : before(size.features),
        attention(size.features, size.heads, {.causal = true}),
        between(size.features),
        wide(size.features, 4 * size.features),
        narrow(4 * size.features, size.features) {}
  tutti::Tensor operator()(const tutti::Tensor& x) const {
    const tutti::Tensor seen = x + attention(before(x));
    return seen + narrow(tutti::gelu(wide(between(seen))));
  }
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit("before", before);
    visit("attention", attention);
    visit("between", between);
    visit("wide", wide);
    visit("narrow", narrow);
  }
};

struct CharModel {
  tutti::Embedding characters;
  tutti::Embedding places;
  std::vector<Block> blocks;
  tutti::LayerNorm last;
  tutti::Dense out;

  explicit CharModel(const CharModelSize& size)
      : characters(size.characters, size.features),
        places(size.length, size.features),
        blocks(),
        last(size.features),
        out(size.features, size.characters) {
    for (int i = 0; i < size.blocks; ++i) blocks.emplace_back(size);
  }
  // Of (batch, length) characters: for each place, how likely each character comes next, as logits.
  tutti::Tensor operator()(const tutti::Tensor& text) const {
    tutti::Tensor x = characters(text) + places.weight;
    for (const Block& block : blocks) x = block(x);
    return out(last(x));
  }
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit("characters", characters);
    visit("places", places);
    visit("blocks", blocks);
    visit("last", last);
    visit("out", out);
  }
};

// Of texts that are one character longer than what the model sees: the last ones are to be guessed.
inline tutti::Tensor char_loss(const CharModel& model, const tutti::Tensor& texts) {
  const std::int64_t length = texts.shape()[1] - 1;
  const tutti::Tensor logits = model(tutti::slice(texts, 1, {0, length}));
  const tutti::Tensor next = tutti::slice(texts, 1, {1, length + 1});
  return tutti::cross_entropy(tutti::reshape(logits, {-1, logits.shape()[2]}), tutti::reshape(next, {-1}));
}
