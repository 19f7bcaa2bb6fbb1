#pragma once
// KV cache: the keys and values of earlier tokens, for the attention of later tokens.
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace titan::train {

/// The cache of one sequence. Shape letters: G key/value heads, T tokens, K head dim.
class KvCache {
 public:
  explicit KvCache(std::size_t layers) : layers_(layers) {}

  std::int64_t length() const { return length_; }  ///< number of tokens, as of the last advance()
  /// Keys and values of a layer for all tokens, including those that append() has just added.
  struct KeysValues {
    at::Tensor k_BGTK, v_BGTK;
  };
  /// Adds the keys and values [1,G,T,K] of the next T tokens to `layer`.
  KeysValues append(std::size_t layer, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK);
  /// Adds `tokens` to length(). Call it after append() has added that number of tokens to every layer.
  void advance(std::int64_t tokens) { length_ += tokens; }

 private:
  std::vector<KeysValues> layers_;  // their tensors have room for more tokens
  std::int64_t length_ = 0;
};

}  // namespace titan::train
