#include "libtrain/job/data/token_files.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "ckpt/base/denied.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/hash.h"
#include "ckpt/base/text.h"
#include "ckpt/base/utf8.h"
#include "ckpt/plan/same_files.h"
#include "corpus/token_data.h"
#include "libtrain/job/data/data_looks.h"
#include "libtrain/job/data/mapped_file.h"

namespace titan::train {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

namespace fs = std::filesystem;
using ckpt::Result;
using ckpt::Status;

constexpr std::uint64_t kBlock = 4096, kBlocks = 64;
constexpr std::size_t kSlice = 16 << 20;  // of text between two looks for a stop

std::string base_name(const std::string& path) { return fs::path(path).filename().string(); }

/// What an entry of a data folder is that holds no data.
const char* what_it_is(const fs::directory_entry& entry) {
  std::error_code error;
  switch (entry.status(error).type()) {
    case fs::file_type::directory: return entry.is_symlink(error) ? "a link to a folder" : "a folder";
    case fs::file_type::not_found: return "a dangling link";
    case fs::file_type::fifo: return "a FIFO";
    case fs::file_type::socket: return "a socket";
    case fs::file_type::block:
    case fs::file_type::character: return "a device";
    default: return "no file that can be looked at";
  }
}

/// Appends the shards of a folder that titan-ckpt tokenize made.
Status add_token_folder(const std::string& path, const std::string& key, FoundFiles* files) {
  const auto data = corpus::read_token_data(ckpt::posix_fs(), path);
  if (!data.ok()) return data.status().wrapped(key + ": the folder of tokens '" + path + "' cannot be read");
  for (const corpus::TokenShard& shard : data->shards) files->paths.push_back(ckpt::join_path(path, shard.tokens_file));
  files->folders.push_back({path, data->token_bytes, data->vocabulary, data->tokenizer});
  return {};
}

/// Appends the file or the files of the folder at `path`.
Status add_path(const std::string& path, const std::string& key, FoundFiles* files) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    return ckpt::invalid(key + ": '" + path + "' does not exist")
        .with_hint("give a file, a folder, or a comma-separated list; relative paths start at the working directory");
  if (!fs::exists(status))
    return ckpt::invalid(key + ": cannot look at '" + path + "': " + error.message())
        .with_hint(ckpt::denied_hint(error.value(), path, "open"));
  if (status.type() != fs::file_type::directory) {
    files->paths.push_back(path);
    return {};
  }
  if (corpus::is_token_data(ckpt::posix_fs(), path)) return add_token_folder(path, key, files);
  TITAN_RETURN_IF_ERROR(check_data_folder(path, key));
  std::vector<std::string> found, left_out;
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code dangling;  // a link that leads nowhere is no regular file
    if (entry->is_regular_file(dangling))
      found.push_back(entry->path().string());
    else
      left_out.push_back(name + " (" + what_it_is(*entry) + ")");
  }
  if (error)
    return ckpt::invalid(key + ": cannot list folder '" + path + "': " + error.message())
        .with_hint(ckpt::denied_hint(error.value(), path, "opendir"));
  if (found.empty())
    return ckpt::invalid(key + ": folder '" + path + "' has no data files (hidden files and subfolders do not count)");
  std::ranges::sort(found);
  std::ranges::sort(left_out);
  files->paths.insert(files->paths.end(), found.begin(), found.end());
  files->left_out.insert(files->left_out.end(), left_out.begin(), left_out.end());
  return {};
}

struct Segment {
  MappedFile file;
  std::uint64_t begin;  ///< of its first token in the stream
  std::uint64_t tokens;
};

template <typename Token>
class MappedStream : public TokenStream {
 public:
  MappedStream(std::vector<Segment> segments, std::uint64_t tokens, std::uint64_t bound)
      : segments_(std::move(segments)), tokens_(tokens), bound_(bound) {}

  std::uint64_t size() const override { return tokens_; }
  std::uint64_t id_bound() const override { return bound_; }

  void arrange(std::span<const std::size_t> order) override {
    assert(order.size() == segments_.size());
    std::vector<Segment> arranged;
    std::uint64_t begin = 0;
    for (const std::size_t place : order) {
      Segment& segment = segments_[place];
      arranged.push_back({std::move(segment.file), begin, segment.tokens});
      begin += segment.tokens;
    }
    segments_ = std::move(arranged);
  }

  void read(std::uint64_t begin, std::span<std::int64_t> out) const override {
    assert(begin + out.size() <= tokens_);
    for (auto segment = find(begin); !out.empty(); ++segment) {
      const std::uint64_t skip = begin - segment->begin;
      const std::size_t count = std::min<std::uint64_t>(out.size(), segment->tokens - skip);
      const std::byte* from = segment->file.bytes().data() + skip * sizeof(Token);
      for (std::size_t i = 0; i < count; ++i) {
        Token token;
        std::memcpy(&token, from + i * sizeof token, sizeof token);
        out[i] = token;
      }
      out = out.subspan(count);
      begin += count;
    }
  }

  std::string describe(std::uint64_t position) const override {
    const auto segment = find(position);
    return "'" + segment->file.path() + "', token " + std::to_string(position - segment->begin);
  }

 private:
  std::vector<Segment>::const_iterator find(std::uint64_t position) const {
    const auto after = std::upper_bound(segments_.begin(), segments_.end(), position,
                                        [](std::uint64_t at, const Segment& segment) { return at < segment.begin; });
    return after - 1;
  }

  std::vector<Segment> segments_;  ///< none is empty
  std::uint64_t tokens_, bound_;
};

/// Names of files by what is odd about them.
using Oddities = std::map<std::string, std::vector<std::string>>;

Result<ckpt::TextScan> scan_slices(std::string_view text, const ckpt::CancelToken& stop) {
  constexpr std::size_t kLongest = 4;  // bytes of a character
  ckpt::TextScan scan;
  while (scan.valid < text.size()) {
    TITAN_RETURN_IF_ERROR(stop.check());
    const std::string_view slice = text.substr(scan.valid, kSlice);
    const auto [valid, control] = ckpt::scan_text(slice);
    if (control != std::string_view::npos && scan.control == std::string_view::npos)
      scan.control = scan.valid + control;
    scan.valid += valid;
    // What the end of a slice may have cut, the next one begins with.
    const bool cut = scan.valid < text.size() && slice.size() == kSlice && slice.size() - valid < kLongest;
    if (valid < slice.size() && !cut) break;
  }
  return scan;
}

/// Reads all of the text: UTF-8 is asked for, control characters are noted with the offset of the first.
Status check_text(const MappedFile& file, std::string_view text, const ckpt::CancelToken& stop, Oddities* odd) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::TextScan scan, scan_slices(text, stop));
  const auto [at, control] = scan;
  if (control != std::string_view::npos) {
    const char* what = text[control] == '\0' ? "has NUL bytes, which text has not" : "has control characters";
    (*odd)[what].push_back(file.path() + " (the first at offset " + std::to_string(control) + ")");
  }
  if (at == text.size()) return {};
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[at]));
  return ckpt::invalid("'" + file.path() + "' is not UTF-8: no character starts with the byte " + byte + " at offset " +
                       std::to_string(at))
      .with_hint("convert it (iconv -t UTF-8), or read binary token files with --training.dataset=tokens");
}

/// A folder of Megatron or nanotron data holds index files beside the tokens; read as tokens they would be noise.
Status check_token_file(const MappedFile& file, std::size_t width) {
  const std::string name = base_name(file.path());
  for (const char* suffix : {".idx", ".ds.index", ".ds.metadata"}) {
    if (name.ends_with(suffix))
      return ckpt::unsupported("'" + file.path() + "' is an index, not tokens; index files are not supported yet")
          .with_hint("name the files that hold the tokens, separated by commas");
  }
  if (file.bytes().size() % width != 0)
    return ckpt::invalid("'" + file.path() + "' has " + std::to_string(file.bytes().size()) +
                         " bytes, which is not a multiple of the token size of " + std::to_string(width))
        .with_hint("is training.token_dtype (" + std::string(width == 2 ? "uint16" : "uint32") +
                   ") the type of this file?");
  return {};
}

}  // namespace

Result<FoundFiles> find_data_files(const std::string& dataset_path, const std::string& key) {
  FoundFiles files;
  std::error_code error;
  if (dataset_path.find(',') == std::string::npos || fs::exists(dataset_path, error)) {
    if (ckpt::trimmed(dataset_path).empty()) return ckpt::invalid(key + " is empty");
    TITAN_RETURN_IF_ERROR(add_path(dataset_path, key, &files));
    return files;
  }
  for (const std::string& part : ckpt::split(dataset_path, ',')) {
    const std::string item(ckpt::trimmed(part));
    if (item.empty()) return ckpt::invalid(key + ": '" + dataset_path + "' has an empty item in its list");
    TITAN_RETURN_IF_ERROR(add_path(item, key, &files));
  }
  return files;
}

Status check_token_folders(const FoundFiles& found, TokenKind kind, std::uint64_t vocab_size) {
  for (const TokenFolder& folder : found.folders) {
    const std::string dtype = folder.token_bytes == 2 ? "uint16" : "uint32";
    const std::string flag = "--training.token_dtype=" + dtype;
    if (kind == TokenKind::kUtf8Bytes)
      return ckpt::invalid("'" + folder.path + "' is a folder of token ids, not text")
          .with_hint("add --training.dataset=tokens " + flag);
    if ((kind == TokenKind::kUint16) != (folder.token_bytes == 2))
      return ckpt::invalid("'" + folder.path + "' has token ids of " + std::to_string(folder.token_bytes) + " bytes")
          .with_hint("add " + flag);
    if (folder.vocabulary > vocab_size)
      return ckpt::invalid("the tokenizer of '" + folder.path + "' has ids below " + std::to_string(folder.vocabulary) +
                           ", and model.vocab_size is " + std::to_string(vocab_size))
          .with_hint("a new model takes --model.vocab_size=" + std::to_string(folder.vocabulary) + " (or more)");
  }
  return {};
}

ckpt::DataFile fingerprint(const std::string& path, std::span<const std::byte> content) {
  ckpt::DataFile file{base_name(path), content.size(), {}};
  if (content.size() < kBlock * kBlocks) {
    file.blocks = ckpt::digest_of(content);
    return file;
  }
  ckpt::Hasher hasher;
  for (std::uint64_t i = 0; i < kBlocks; ++i)
    hasher.update(content.subspan(i * (content.size() - kBlock) / (kBlocks - 1), kBlock));
  file.blocks = hasher.digest();
  return file;
}

namespace {

/// Of the first and the last block; absent where there are few.
std::optional<ckpt::Digest> ends_of(std::span<const std::byte> content) {
  if (content.size() < kBlock * kBlocks) return std::nullopt;
  ckpt::Hasher hasher;
  hasher.update(content.first(kBlock));
  hasher.update(content.last(kBlock));
  return hasher.digest();
}

/// Another's fingerprint where two blocks say that it is this file, else its own.
ckpt::DataFile fingerprint_of(const std::string& path, std::span<const std::byte> content,
                              const std::optional<ckpt::Digest>& ends, std::span<const KnownFile> known) {
  const std::string name = base_name(path);
  for (const KnownFile& other : known)
    if (ends && other.ends == ends && other.file.bytes == content.size() && other.file.name == name) return other.file;
  return fingerprint(path, content);
}

}  // namespace

Result<OpenedFiles> open_token_files(const std::vector<std::string>& paths, TokenKind kind, const std::string& key,
                                     std::span<const KnownFile> checked, const ckpt::CancelToken& stop) {
  const std::size_t width = kind == TokenKind::kUtf8Bytes ? 1 : kind == TokenKind::kUint16 ? 2 : 4;
  OpenedFiles opened;
  std::vector<Segment> segments;
  std::uint64_t tokens = 0;
  Oddities odd;
  for (const std::string& path : paths) {
    TITAN_RETURN_IF_ERROR(stop.check());
    TITAN_ASSIGN_OR_RETURN(MappedFile file, MappedFile::open(path));
    TITAN_RETURN_IF_ERROR(check_data_name(path, kind));
    const std::string_view text = ckpt::text_of(file.bytes());
    const std::string_view beginning = text.substr(0, kLookBytes);
    TITAN_RETURN_IF_ERROR(check_data_bytes(path, beginning, kind));
    if (opened.doubt.ok()) opened.doubt = doubt_of(path, beginning, kind);
    if (const std::string look = odd_look(beginning, kind); !look.empty()) odd[look].push_back(path);
    opened.ends.push_back(ends_of(file.bytes()));
    opened.files.push_back(fingerprint_of(path, file.bytes(), opened.ends.back(), checked));
    const bool known =
        opened.doubt.ok() && std::ranges::find(checked, opened.files.back(), &KnownFile::file) != checked.end();
    if (kind != TokenKind::kUtf8Bytes) {
      TITAN_RETURN_IF_ERROR(check_token_file(file, width));
    } else if (!known) {
      TITAN_RETURN_IF_ERROR(check_text(file, text, stop, &odd));
    }
    const std::uint64_t count = file.bytes().size() / width;
    if (count == 0) continue;
    segments.push_back({std::move(file), tokens, count});
    tokens += count;
  }
  if (tokens == 0)
    return ckpt::invalid(key + ": the dataset is empty (" + paths.front() +
                         (paths.size() > 1 ? " and " + std::to_string(paths.size() - 1) + " more" : "") + ")");
  for (const auto& [look, names] : odd) opened.warnings.push_back(key + " " + look + ": " + ckpt::first_few(names));
  if (width == 1) opened.stream = std::make_unique<MappedStream<std::uint8_t>>(std::move(segments), tokens, 256);
  if (width == 2) opened.stream = std::make_unique<MappedStream<std::uint16_t>>(std::move(segments), tokens, 0);
  if (width == 4) opened.stream = std::make_unique<MappedStream<std::uint32_t>>(std::move(segments), tokens, 0);
  return opened;
}

}  // namespace titan::train
