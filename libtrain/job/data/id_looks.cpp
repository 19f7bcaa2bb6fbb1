#include "libtrain/job/data/id_looks.h"

#include <bitset>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include "ckpt/base/quoting.h"
#include "ckpt/base/toml_text.h"

namespace titan::train {
namespace {

using ckpt::Status;
using ckpt::toml_string;

constexpr std::size_t kEnoughIdBytes = 64;
constexpr std::uint32_t kFew = 16;  // high halves are below it: ids below 2^20

template <typename Word>
Word word_at(std::string_view bytes, std::size_t index) {
  Word word;
  std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
  return word;
}

/// Whether the bytes, read as `Word`, are wider ids: each has `parts` words, the second below `high`, the others 0.
template <typename Word>
bool are_wider(std::string_view bytes, std::size_t parts, std::uint32_t high) {
  const std::size_t ids = bytes.size() / sizeof(Word) / parts;
  std::size_t numbers = 0;
  for (std::size_t id = 0; id < ids; ++id) {
    numbers += word_at<Word>(bytes, id * parts) >= kFew ? 1 : 0;
    for (std::size_t part = 1; part < parts; ++part)
      if (word_at<Word>(bytes, id * parts + part) >= (part == 1 ? high : 1)) return false;
  }
  return 2 * numbers > ids;
}

/// \source https://github.com/karpathy/llm.c, dev/data/data_common.py: 256 32-bit numbers before the tokens.
bool has_llmc_header(std::string_view bytes) {
  constexpr std::size_t kHeader = 1024;
  if (bytes.size() < kHeader) return false;
  const auto magic = word_at<std::uint32_t>(bytes, 0);
  return (magic == 20240520 || magic == 20240801) && word_at<std::uint32_t>(bytes, 1) < kFew;
}

Status wider(const std::string& path, std::size_t width, int bits) {
  return ckpt::invalid("'" + path + "' looks like ids of " + std::to_string(bits) + " bits, not of " +
                       std::to_string(8 * width));
}

std::string tokens_path(const std::string& path) {
  return std::filesystem::path(path).replace_extension(".tokens.bin").string();
}

}  // namespace

Status doubt_of_ids(const std::string& path, std::string_view beginning, std::size_t width, const std::string& option) {
  if (has_llmc_header(beginning))
    return ckpt::invalid("'" + path + "' begins with the header of llm.c, 1024 bytes that are no tokens")
        .with_hint("cut it off, and name what is left: tail -c +1025 " + ckpt::shell_word(path) + " > " +
                   ckpt::shell_word(tokens_path(path)));
  if (beginning.size() < kEnoughIdBytes) return {};
  if (width == 2 ? are_wider<std::uint16_t>(beginning, 4, kFew) : are_wider<std::uint32_t>(beginning, 2, 1))
    return wider(path, width, 64)
        .with_hint("make ids of 32 bits of it, name these, and add " + option + "uint32:\n    import numpy\n" +
                   "    numpy.fromfile(" + toml_string(path) + ", \"<u8\").astype(\"<u4\").tofile(" +
                   toml_string(tokens_path(path)) + ")");
  if (width == 2 && are_wider<std::uint16_t>(beginning, 2, kFew))
    return wider(path, width, 32).with_hint("add " + option + "uint32");
  return {};
}

// Frequent tokens have low ids, so high bytes are low.
bool looks_big_endian(std::string_view beginning) {
  constexpr std::size_t kVariety = 64;
  std::uint64_t as_read = 0, swapped = 0;
  std::bitset<256> high_bytes;
  for (std::size_t i = 0; i < beginning.size() / 2; ++i) {
    const std::uint32_t word = word_at<std::uint16_t>(beginning, i);
    as_read += word;
    swapped += (word & 0xff) << 8 | word >> 8;
    high_bytes.set(word >> 8);
  }
  return high_bytes.count() >= kVariety && as_read > 2 * swapped;
}

}  // namespace titan::train
