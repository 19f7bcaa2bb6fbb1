#include "libtrain/job/data/packed_rows.h"

#include <algorithm>

#include "libtrain/job/data/dataset.h"

namespace titan::train {
namespace {

constexpr std::uint64_t kMostRows = std::uint64_t{1} << 26;  // rows; they take 800 MB
constexpr std::uint64_t kWindow = std::uint64_t{1} << 22;    // tokens between two checks for a stop

}  // namespace

ckpt::Result<PackedRows> PackedRows::of(const TokenStream& stream, std::uint64_t tokens, std::uint64_t seq_len,
                                        const ckpt::CancelToken& stop) {
  const std::uint64_t room = seq_len + 1;
  PackedRows rows;
  std::uint64_t begin = 0, end = 0;  // of the row being filled
  const auto close = [&] {
    if (end - begin < 2) return;  // a row of one token has no token to predict
    rows.begins_.push_back(begin);
    rows.tokens_.push_back(static_cast<std::uint32_t>(end - begin));
  };
  const auto add = [&](std::uint64_t document_end) {
    if (document_end - begin > room && end > begin) {
      close();
      begin = end;
    }
    while (document_end - begin > room) {
      end = begin + room;
      close();
      begin = end - 1;
    }
    end = document_end;
  };
  std::vector<std::uint64_t> starts;
  for (std::uint64_t from = 0; from < tokens; from += kWindow) {
    TITAN_RETURN_IF_ERROR(stop.check());
    starts.clear();
    // The first position of a window is treated as one in the middle of it.
    TITAN_RETURN_IF_ERROR(stream.starts(from == 0 ? 0 : from - 1, std::min(from + kWindow, tokens), starts));
    for (const std::uint64_t start : starts) add(start);
    if (rows.size() > kMostRows)
      return ckpt::unsupported("training.pack = \"whole\": more than " + std::to_string(kMostRows) +
                               " samples are not supported yet")
          .with_hint("set a larger training.seq_len, or divide the data");
  }
  add(tokens);
  close();
  return rows;
}

}  // namespace titan::train
