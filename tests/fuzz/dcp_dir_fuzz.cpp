// Any bytes as a DCP directory (u32 length, that many bytes of `.metadata`, the rest is `__0_0.distcp`): whatever opens
// can be planned, read in any range and verified; a range has the bytes that the whole has.
#include <algorithm>
#include <cstdlib>

#include "ckpt/model/leaf.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/mend_crc.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan::convert;
  constexpr std::uint64_t kMostBytes = 1 << 20;
  if (size < 4) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(4);
  const std::size_t length = std::min<std::size_t>(data[0] | data[1] << 8 | data[2] << 16, bytes.size());
  titan::fuzz::BytesFolder fs({{"/d/.metadata", bytes.first(length)}, {"/d/__0_0.distcp", bytes.subspan(length)}});
  const auto opened = dcp_format().open(fs, "/d");
  if (!opened.ok()) return 0;
  const auto& source = static_cast<const dcp::DcpCheckpoint&>(**opened);
  static_cast<void>(source.plan({}).ok());
  const Settings config = {{"lr_scheduler.warmup_steps", "0"}, {"model.n_heads", "2"},
                           {"model.rope_scaling", "\"none\""}, {"model.rope_theta", "500000"},
                           {"optimizer.lr", "1e-3"},           {"training.steps", "20"}};
  static_cast<void>(source.plan({{}, config}).ok());
  for (const dcp::BytesEntry& value : source.reader().metadata().values)
    static_cast<void>(source.reader().value(value.name).ok());
  for (std::size_t i = 0; i < source.tensors().size(); ++i) {
    const ForeignTensor& tensor = source.tensors()[i];
    const std::uint64_t elements = titan::ckpt::element_count(tensor.shape),
                        unit = tensor.bytes() / std::max<std::uint64_t>(elements, 1);
    if (elements == 0 || tensor.bytes() > kMostBytes) continue;
    std::vector<std::byte> whole(tensor.bytes()), part(tensor.bytes() / unit / 2 * unit);
    const std::uint64_t first = elements - part.size() / unit;
    const bool read = source.read(i, 0, whole).ok();
    if (source.read(i, first, part).ok() && read &&
        !std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first * unit)))
      std::abort();
  }
  static_cast<void>(source.verify({}).ok());
  return 0;
}
