#pragma once
// A stream of tokens over memory-mapped files, one behind the other.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "corpus/token_file.h"
#include "libtrain/job/data/dataset.h"
#include "libtrain/job/data/mapped_file.h"
#include "libtrain/job/data/mapped_numbers.h"

namespace titan::train {

/// One file of the stream.
struct DataSegment {
  MappedFile file;
  corpus::TokenFile layout;
  std::uint64_t begin;    ///< of its first token in the stream
  MappedNumbers ends;     ///< of its documents
  MappedNumbers answers;  ///< begins and ends of what is trained on; no file: all is
};

/// The stream of `segments`, which are not empty and have `tokens` tokens together. `bound`: every id is below it; 0:
/// ids are not checked. `document_end`: behind each id that is this a document ends, too.
std::unique_ptr<TokenStream> make_mapped_stream(std::vector<DataSegment> segments, std::uint64_t tokens,
                                                std::uint64_t bound,
                                                std::optional<std::int64_t> document_end = std::nullopt);

}  // namespace titan::train
