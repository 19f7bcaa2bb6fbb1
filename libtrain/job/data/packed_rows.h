#pragma once
// Samples of whole documents: which range of the token stream each sample holds. FORMAT CONTRACT: a checkpoint stores
// only the number of a sample, so this rule must never change.
//
// A sample has room for seq_len + 1 tokens. Documents are added in stream order as long as they fit completely; the
// first document that does not fit begins the next sample. A document that is longer than a sample begins a new sample
// and is cut into parts; neighbouring parts share a token, so that each token of the document except the first is
// predicted once. Further documents follow its last part. Documents of one token are packed too; a sample that would
// have only one token is left out.
#include <cstdint>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"

namespace titan::train {

class TokenStream;

class PackedRows {
 public:
  PackedRows() = default;
  /// Packs the first `tokens` tokens of `stream`; a document that goes beyond them is cut. `stop` is polled. \error
  /// kUnsupported: more than 2^26 samples; the errors of TokenStream::starts(); kInterrupted, kTerminated
  static ckpt::Result<PackedRows> of(const TokenStream& stream, std::uint64_t tokens, std::uint64_t seq_len,
                                     const ckpt::CancelToken& stop = {});

  std::uint64_t size() const { return begins_.size(); }
  std::uint64_t begin(std::uint64_t row) const { return begins_[row]; }
  /// The number of tokens of sample `row`, at most seq_len + 1.
  std::uint64_t tokens(std::uint64_t row) const { return tokens_[row]; }

 private:
  std::vector<std::uint64_t> begins_;
  std::vector<std::uint32_t> tokens_;
};

}  // namespace titan::train
