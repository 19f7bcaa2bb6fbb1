// Any bytes as the files of two ranks of verl: the first rank's behind its length (u24, little-endian), then the
// second's. Whatever opens can be planned and verified. Verifying may find damage in an entry that no weight needs.
#include <algorithm>
#include <cstdlib>

#include "converters/verl/verl_checkpoint.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/mend_crc.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan::convert;
  if (size < 3) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(3);
  const std::size_t length = std::min<std::size_t>(data[0] | data[1] << 8 | data[2] << 16, bytes.size());
  titan::fuzz::BytesFolder fs({{"/v/model_world_size_2_rank_0.pt", bytes.first(length)},
                               {"/v/model_world_size_2_rank_1.pt", bytes.subspan(length)}});
  const auto opened = verl::verl_format().open(fs, "/v");
  if (!opened.ok()) return 0;
  static_cast<void>((*opened)->plan({}).ok());
  static_cast<void>((*opened)->plan({.look = true}).ok());
  std::uint64_t total = 0;
  for (const ForeignTensor& tensor : (*opened)->tensors()) total += tensor.bytes();
  if (total >= (1 << 20)) return 0;
  const auto whole = (*opened)->verify({});
  if (!whole.ok() && whole.status().code != titan::ckpt::Code::kCorrupt) std::abort();
  return 0;
}
