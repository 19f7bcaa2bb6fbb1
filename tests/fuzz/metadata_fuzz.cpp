// Any bytes as `.metadata`: what is accepted keeps every promise of metadata.h.
#include <cstdlib>
#include <numeric>
#include <string>

#include "converters/dcp/assemble.h"
#include "converters/dcp/metadata.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan::convert::dcp;
  const auto metadata = decode_metadata("input", std::string(reinterpret_cast<const char*>(data), size));
  if (!metadata.ok()) return 0;
  for (const std::string& file : metadata->files)
    require(file.find("..") == std::string::npos || file.find("/../") == std::string::npos);
  for (const TensorEntry& tensor : metadata->tensors) {
    require(metadata->tensor(tensor.name) == &tensor);
    std::uint64_t elements = 1, held = 0;
    for (const std::uint64_t extent : tensor.shape) elements *= extent;
    for (const Chunk& chunk : tensor.chunks) {
      require(chunk.offsets.size() == tensor.shape.size() && chunk.sizes.size() == tensor.shape.size());
      require(chunk.place.file < metadata->files.size());
      held += std::accumulate(chunk.sizes.begin(), chunk.sizes.end(), std::uint64_t{1}, std::multiplies<>());
    }
    require(held == elements);
    // Every element of a small range lies in exactly one chunk.
    const std::uint64_t count = elements < 64 ? elements : 64;
    std::uint64_t found = 0;
    for (const Chunk& chunk : tensor.chunks)
      for (const Run& run : chunk_runs(tensor.shape, chunk, elements - count, count)) found += run.count;
    require(found == count);
  }
  return 0;
}
