// Any bytes as an index of Megatron's, an array of NumPy's, or nanotron's index and metadata: they are refused with a
// reason, or name ids that are in their file, and documents that lie one behind the other.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "corpus/token_file.h"
#include "tests/fuzz/bytes_file.h"

namespace {

using Bytes = std::span<const std::byte>;

void require(bool condition) {
  if (!condition) std::abort();
}

void inspect_tokens(titan::ckpt::Fs& fs, const std::string& path, std::uint64_t size) {
  using namespace titan;
  const auto file = corpus::open_token_file(fs, path, 2);
  if (!file.ok()) return require(!file.status().message.empty());
  require(file->offset <= size && file->tokens <= (size - file->offset) / file->width);
  std::uint64_t documents = 0, end = 0;
  const ckpt::Status status = corpus::read_ends(fs, *file, [&](std::span<const std::uint64_t> ends) {
    documents += ends.size();
    for (const std::uint64_t next : ends) {
      require(next >= end && next <= file->tokens);
      end = next;
    }
    return ckpt::ok_status();
  });
  if (status.ok() && !file->index.empty()) require(documents == file->documents);
}

/// What an index of Megatron's says of its file's size, so that some inputs fit.
std::uint64_t size_that_fits(Bytes index) {
  constexpr std::uint64_t kMost = 1 << 16;
  std::uint64_t sequences = 0;
  if (index.size() < 34) return 0;
  std::memcpy(&sequences, index.data() + 18, sizeof sequences);
  if (sequences == 0 || sequences > index.size() / 12 || index.size() < 34 + 12 * sequences) return 2;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::memcpy(&length, index.data() + 34 + 4 * (sequences - 1), sizeof length);
  std::memcpy(&offset, index.data() + 34 + 12 * sequences - 8, sizeof offset);
  const std::uint64_t width = std::to_integer<unsigned>(index[17]) == 4 ? 4 : 2;
  return offset > kMost || length > kMost ? 2 : offset + length * width;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using titan::fuzz::BytesFolder;
  const Bytes input = std::as_bytes(std::span(data, size));
  const std::vector<std::byte> ids(std::max<std::uint64_t>(size_that_fits(input), 16));
  const std::uint64_t fits = size_that_fits(input);
  BytesFolder megatron({{"/a.bin", Bytes(ids).first(fits)}, {"/a.idx", input}});
  inspect_tokens(megatron, "/a.bin", fits);
  BytesFolder numpy({{"/a.npy", input}});
  inspect_tokens(numpy, "/a.npy", size);
  const std::size_t half = std::min<std::size_t>(size / 8, 8) * 8;
  BytesFolder nanotron(
      {{"/a.ds", Bytes(ids).first(16)}, {"/a.ds.index", input.first(half)}, {"/a.ds.metadata", input.subspan(half)}});
  inspect_tokens(nanotron, "/a.ds", 16);
  return 0;
}
