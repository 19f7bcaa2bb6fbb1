// Any bytes as a step of nanotron: four parts, each behind its length (u24, little-endian): model_config.json,
// checkpoint_metadata.json, a shard of weights, a file of the optimizer. Whatever opens can be planned and verified.
#include <algorithm>
#include <cstdlib>

#include "converters/nanotron/nanotron_checkpoint.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/mend_crc.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan::convert;
  auto rest = std::as_bytes(std::span(data, size));
  std::map<std::string, std::span<const std::byte>> files;
  for (const char* name : {"/d/model_config.json", "/d/checkpoint_metadata.json",
                           "/d/model/model_weight_pp-rank-0-of-1_tp-rank-0-of-1.safetensors",
                           "/d/optimizer/optimizer_pp-0-of-1_tp-0-of-1_exp-0-of-1.pt"}) {
    if (rest.size() < 3) break;
    const auto at = [&](std::size_t i) { return std::to_integer<std::size_t>(rest[i]); };
    const std::size_t length = std::min<std::size_t>(at(0) | at(1) << 8 | at(2) << 16, rest.size() - 3);
    files[name] = rest.subspan(3, length);
    rest = rest.subspan(3 + length);
  }
  titan::fuzz::BytesFolder fs(std::move(files));
  const auto opened = nanotron::nanotron_format().open(fs, "/d");
  if (!opened.ok()) return 0;
  static_cast<void>((*opened)->plan({}).ok());
  static_cast<void>((*opened)->plan({.look = true}).ok());
  std::uint64_t bytes = 0;
  for (const ForeignTensor& tensor : (*opened)->tensors()) bytes += tensor.bytes();
  if (bytes < (1 << 20) && !(*opened)->verify({}).ok()) std::abort();
  return 0;
}
