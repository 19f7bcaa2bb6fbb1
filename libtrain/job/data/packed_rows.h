#pragma once
// Samples of whole documents: which stretch of the token stream each one holds. FORMAT CONTRACT: a checkpoint stores
// the number of a sample alone, so the rule never changes.
//
// A sample has room for seq_len + 1 tokens. Documents go into it in the order of the stream, as long as they fit whole;
// the next one that does not begins the next sample. One that is longer than a sample begins one of its own, and is cut
// into pieces that share a token, as samples that are cut do: each of its tokens but the first is predicted once. Its
// last piece is followed by further documents. Documents of one token train nothing alone; they are packed too.
#include <cstdint>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"

namespace titan::train {

class TokenStream;

class PackedRows {
 public:
  PackedRows() = default;
  /// Of the first `tokens` tokens of `stream`. A document that ends behind them is cut there. `stop` is polled.
  /// \error kUnsupported: more samples than memory is set aside for; what TokenStream::starts() meets; kInterrupted,
  /// kTerminated
  static ckpt::Result<PackedRows> of(const TokenStream& stream, std::uint64_t tokens, std::uint64_t seq_len,
                                     const ckpt::CancelToken& stop = {});

  std::uint64_t size() const { return begins_.size(); }
  std::uint64_t begin(std::uint64_t row) const { return begins_[row]; }
  /// Tokens of the row, at most seq_len + 1.
  std::uint64_t tokens(std::uint64_t row) const { return tokens_[row]; }

 private:
  std::vector<std::uint64_t> begins_;
  std::vector<std::uint32_t> tokens_;
};

}  // namespace titan::train
