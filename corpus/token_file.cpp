#include "corpus/token_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/text.h"
#include "ckpt/store/named_file.h"
#include "corpus/npy_header.h"

namespace titan::corpus {
namespace {

using ckpt::Code;
using ckpt::Result;
using ckpt::Status;

constexpr std::string_view kMegatronMagic("MMIDIDX\0\0", 9);
constexpr std::uint64_t kMegatronHeader = 34;
constexpr std::size_t kNumbersAtOnce = 8192;  // numbers that are read at once

struct Width {
  std::uint32_t bytes;
  bool is_signed;
};

struct OpenFile {
  std::unique_ptr<ckpt::File> file;
  std::uint64_t size = 0;
};

Result<OpenFile> open_file(ckpt::Fs& fs, const std::string& path) {
  auto opened = ckpt::open_target(fs, path);
  if (!opened.ok() && opened.status().code == Code::kNotFound) return ckpt::invalid("'" + path + "' does not exist");
  if (!opened.ok()) return opened.status();
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, (*opened)->size());
  return OpenFile{std::move(*opened), size};
}

bool is_there(ckpt::Fs& fs, const std::string& path) { return ckpt::stat_target(fs, path).ok(); }

template <typename Number>
Number number_at(const std::byte* bytes) {
  Number number;
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

Status damaged(const std::string& path, const std::string& why) { return ckpt::corrupt("'" + path + "' " + why); }

Status uneven(const TokenFile& file, std::uint64_t bytes) {
  return ckpt::invalid("'" + file.path + "' has " + std::to_string(bytes) +
                       " bytes, which is not a multiple of the token size of " + std::to_string(file.width));
}

/// The array of a NumPy file as ids.
Status take_numpy(const OpenFile& open, std::span<const std::byte> beginning, TokenFile* file) {
  static const std::map<std::string, Width, std::less<>> kWidths = {
      {"|u1", {1, false}}, {"<u2", {2, false}}, {"<u4", {4, false}},
      {"<i2", {2, true}},  {"<i4", {4, true}},  {"<i8", {8, true}},
  };
  const auto header = parse_npy_header(beginning);
  if (!header.ok()) return ckpt::invalid("'" + file->path + "' is " + header.status().message);
  const auto width = kWidths.find(header->descr);
  if (width == kWidths.end())
    return ckpt::invalid("'" + file->path + "' holds elements of type '" + header->descr +
                         "'; expected are little-endian ids: <u2, <u4, <i4 or <i8")
        .with_hint("numpy.save(NEW, numpy.load(FILE).astype('uint32')) makes one of it, where these are ids");
  if (header->shape.size() != 1)
    return ckpt::invalid("'" + file->path + "' is an array of " + std::to_string(header->shape.size()) +
                         " dimensions; expected is one stream of ids")
        .with_hint("numpy.save(NEW, numpy.load(FILE).reshape(-1)) makes one of it");
  file->format = TokenFormat::kNumpy;
  file->width = width->second.bytes;
  file->is_signed = width->second.is_signed;
  file->offset = header->data_offset;
  file->tokens = header->shape[0];
  const std::uint64_t bytes = open.size - std::min(open.size, file->offset);
  if (file->tokens != bytes / file->width || bytes % file->width != 0)
    return damaged(file->path, "has " + std::to_string(bytes) + " bytes of data, expected " +
                                   std::to_string(file->tokens) + " ids of " + std::to_string(file->width) + " bytes");
  return {};
}

/// The fields in the first 34 bytes of a Megatron index.
struct MegatronIndex {
  Width width;
  std::uint64_t sequences = 0, bounds = 0;
};

Result<MegatronIndex> read_megatron_header(const std::string& path, const OpenFile& open) {
  // Megatron's numbers of dtypes: 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 6 f64, 7 f32, 8 u16.
  constexpr Width kWidths[] = {{0, false}, {1, false}, {1, true},  {2, true}, {4, true},
                               {8, true},  {0, false}, {0, false}, {2, false}};
  std::byte bytes[kMegatronHeader];
  if (open.size < kMegatronHeader) return damaged(path, "is cut off: an index of Megatron's has 34 bytes or more");
  TITAN_RETURN_IF_ERROR(open.file->pread(0, bytes));
  if (std::memcmp(bytes, kMegatronMagic.data(), kMegatronMagic.size()) != 0)
    return ckpt::invalid("'" + path + "' is no index of Megatron's: it does not begin with MMIDIDX");
  if (const auto version = number_at<std::uint64_t>(bytes + 9); version != 1)
    return ckpt::unsupported("'" + path + "' is an index of version " + std::to_string(version) + "; only 1 is known");
  const auto type = std::to_integer<std::size_t>(bytes[17]);
  if (type >= std::size(kWidths) || kWidths[type].bytes == 0)
    return ckpt::invalid("'" + path + "' is of elements of type " + std::to_string(type) + ", which are no ids");
  MegatronIndex index{kWidths[type], number_at<std::uint64_t>(bytes + 18), number_at<std::uint64_t>(bytes + 26)};
  // A sequence takes 4 + 8 bytes, a document bound 8. An index with modes (multimodal data) has 1 more byte per
  // sequence.
  const unsigned __int128 plain = kMegatronHeader + static_cast<unsigned __int128>(index.sequences) * 12 +
                                  static_cast<unsigned __int128>(index.bounds) * 8;
  if (open.size != plain && open.size != plain + index.sequences)
    return damaged(path, "has " + std::to_string(open.size) + " bytes, not those of " +
                             std::to_string(index.sequences) + " sequences and " + std::to_string(index.bounds) +
                             " bounds of documents");
  return index;
}

Status take_megatron(ckpt::Fs& fs, const OpenFile& open, TokenFile* file) {
  TITAN_ASSIGN_OR_RETURN(const OpenFile other, open_file(fs, file->index));
  TITAN_ASSIGN_OR_RETURN(const MegatronIndex index, read_megatron_header(file->index, other));
  file->format = TokenFormat::kMegatron;
  file->width = index.width.bytes;
  file->is_signed = index.width.is_signed;
  file->tokens = open.size / file->width;
  file->documents = index.sequences;
  if (open.size % file->width != 0) return uneven(*file, open.size);
  if (index.sequences == 0) {
    if (open.size == 0) return {};
    return damaged(file->index, "counts no sequences, and '" + file->path + "' is not empty");
  }
  std::byte length[4], offset[8];
  TITAN_RETURN_IF_ERROR(other.file->pread(kMegatronHeader + 4 * (index.sequences - 1), length));
  TITAN_RETURN_IF_ERROR(other.file->pread(kMegatronHeader + 12 * index.sequences - 8, offset));
  const unsigned __int128 end = static_cast<unsigned __int128>(number_at<std::uint64_t>(offset)) +
                                static_cast<unsigned __int128>(number_at<std::uint32_t>(length)) * file->width;
  if (end == open.size) return {};
  return damaged(file->index, "does not fit '" + file->path + "', which has " + std::to_string(open.size) +
                                  " bytes: its last sequence ends elsewhere");
}

/// Reads the first line of the metadata, such as "gpt2|2": name of the tokenizer, bytes per id. Further lines are
/// counts for display.
Status take_metadata(ckpt::Fs& fs, const std::string& path, TokenFile* file) {
  constexpr std::uint64_t kMost = 4096;
  TITAN_ASSIGN_OR_RETURN(const OpenFile open, open_file(fs, path));
  std::string text(std::min(open.size, kMost), '\0');
  TITAN_RETURN_IF_ERROR(open.file->pread(0, std::as_writable_bytes(std::span(text))));
  text.resize(std::min(text.find('\n'), text.size()));
  const std::size_t bar = text.rfind('|');
  file->tokenizer = text.substr(0, bar);
  if (bar == std::string::npos) return {};
  const auto width = ckpt::number_of<std::uint32_t>(text.substr(bar + 1));
  if (!width || (*width != 2 && *width != 4))
    return ckpt::invalid("'" + path + "' says ids of '" + text.substr(bar + 1) + "' bytes; 2 and 4 are known");
  file->width = *width;
  return {};
}

Status take_nanotron(ckpt::Fs& fs, const OpenFile& open, bool alone, TokenFile* file) {
  file->format = TokenFormat::kNanotron;
  if (const std::string metadata = file->path + ".metadata"; !alone && is_there(fs, metadata)) {
    TITAN_RETURN_IF_ERROR(take_metadata(fs, metadata, file));
    if (file->index.empty()) file->metadata = metadata;
  }
  if (open.size % file->width != 0) return uneven(*file, open.size);
  file->tokens = open.size / file->width;
  if (file->index.empty()) return {};
  TITAN_ASSIGN_OR_RETURN(const OpenFile index, open_file(fs, file->index));
  if (index.size % 8 != 0)
    return damaged(file->index, "is cut off: " + std::to_string(index.size) + " bytes are no numbers of 8 bytes");
  file->documents = index.size / 8;
  if (file->documents == 0) return {};
  std::byte last[8];
  TITAN_RETURN_IF_ERROR(index.file->pread(index.size - 8, last));
  if (number_at<std::uint64_t>(last) == file->tokens) return {};
  return damaged(file->index, "ends at token " + std::to_string(number_at<std::uint64_t>(last)) + ", and '" +
                                  file->path + "' has " + std::to_string(file->tokens));
}

/// Reads the numbers [begin, begin + count) of an array that starts at byte `at` of the file, as u64.
template <typename Number>
Status read_numbers(ckpt::File& file, std::uint64_t at, std::uint64_t begin, std::size_t count,
                    std::vector<std::uint64_t>* out) {
  std::vector<std::byte> bytes(count * sizeof(Number));
  TITAN_RETURN_IF_ERROR(file.pread(at + begin * sizeof(Number), bytes));
  out->resize(count);
  for (std::size_t i = 0; i < count; ++i) (*out)[i] = number_at<Number>(bytes.data() + i * sizeof(Number));
  return {};
}

Status overlap(const TokenFile& file, std::uint64_t document) {
  return damaged(file.index, "does not lay its documents one after the other: document " + std::to_string(document));
}

}  // namespace

const char* format_text(TokenFormat format) {
  switch (format) {
    case TokenFormat::kRaw: break;
    case TokenFormat::kNumpy: return "an array of NumPy";
    case TokenFormat::kMegatron: return "ids of Megatron with an index";
    case TokenFormat::kNanotron: return "ids of nanotron";
  }
  return "raw ids";
}

std::string ids_of_index(std::string_view path) {
  for (const std::string_view suffix : {".ds.index", ".ds.metadata"})
    if (path.ends_with(suffix)) return std::string(path.substr(0, path.size() - suffix.size())) + ".ds";
  if (path.ends_with(".idx")) return std::string(path.substr(0, path.size() - 4)) + ".bin";
  return "";
}

std::string ids_of_prefix(ckpt::Fs& fs, const std::string& path) {
  return is_there(fs, path + ".bin") && is_there(fs, path + ".idx") ? path + ".bin" : "";
}

Result<TokenFile> open_token_file(ckpt::Fs& fs, const std::string& path, std::uint32_t raw_width, bool alone) {
  TITAN_ASSIGN_OR_RETURN(const OpenFile open, open_file(fs, path));
  if (const std::string ids = ids_of_index(path); !ids.empty()) {
    if (is_there(fs, ids)) return open_token_file(fs, ids, raw_width, alone);
    return ckpt::invalid("'" + path + "' is an index, and the ids that it is of are not there: '" + ids + "'");
  }
  TokenFile file;
  file.path = path;
  file.width = raw_width;
  if (path.ends_with(".bin") && !alone)
    if (const std::string index = path.substr(0, path.size() - 4) + ".idx"; is_there(fs, index)) {
      file.index = index;
      TITAN_RETURN_IF_ERROR(take_megatron(fs, open, &file));
      return file;
    }
  if (path.ends_with(".ds")) {
    if (!alone && is_there(fs, path + ".index")) file.index = path + ".index";
    TITAN_RETURN_IF_ERROR(take_nanotron(fs, open, alone, &file));
    return file;
  }
  std::vector<std::byte> beginning(std::min<std::uint64_t>(open.size, kLongestNpyHeader));
  TITAN_RETURN_IF_ERROR(open.file->pread(0, std::span(beginning).first(std::min<std::size_t>(beginning.size(), 6))));
  if (ckpt::text_of(beginning).starts_with("\x93NUMPY")) {
    TITAN_RETURN_IF_ERROR(open.file->pread(0, beginning));
    TITAN_RETURN_IF_ERROR(take_numpy(open, beginning, &file));
    return file;
  }
  if (open.size % file.width != 0) return uneven(file, open.size);
  file.tokens = open.size / file.width;
  return file;
}

IndexedEnds indexed_ends(const TokenFile& file) {
  if (file.index.empty() || file.documents == 0) return {};
  if (file.format != TokenFormat::kMegatron) return {0, file.documents - 1, 1};
  // The index has the byte offset of each sequence: the second begins where the first ends.
  return {kMegatronHeader + 4 * file.documents + 8, file.documents - 1, file.width};
}

Status read_ends(ckpt::Fs& fs, const TokenFile& file,
                 const std::function<Status(std::span<const std::uint64_t>)>& take) {
  if (file.index.empty()) return {};
  const bool megatron = file.format == TokenFormat::kMegatron;
  TITAN_ASSIGN_OR_RETURN(const OpenFile index, open_file(fs, file.index));
  std::vector<std::uint64_t> ends, offsets;
  std::uint64_t end = 0;
  for (std::uint64_t at = 0; at < file.documents; at += kNumbersAtOnce) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kNumbersAtOnce, file.documents - at));
    if (megatron) {
      TITAN_RETURN_IF_ERROR(read_numbers<std::uint32_t>(*index.file, kMegatronHeader, at, count, &ends));
      TITAN_RETURN_IF_ERROR(
          read_numbers<std::uint64_t>(*index.file, kMegatronHeader + 4 * file.documents, at, count, &offsets));
    } else {
      TITAN_RETURN_IF_ERROR(read_numbers<std::uint64_t>(*index.file, 0, at, count, &ends));
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (megatron && (offsets[i] != end * file.width || ends[i] > std::numeric_limits<std::int32_t>::max()))
        return overlap(file, at + i);
      if (megatron) ends[i] += end;
      if (ends[i] < end || ends[i] > file.tokens) return overlap(file, at + i);
      end = ends[i];
    }
    TITAN_RETURN_IF_ERROR(take(ends));
  }
  return file.documents == 0 || end == file.tokens ? ckpt::ok_status() : overlap(file, file.documents - 1);
}

}  // namespace titan::corpus
