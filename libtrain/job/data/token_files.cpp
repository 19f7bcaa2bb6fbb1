#include "libtrain/job/data/token_files.h"

#include <glob.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "ckpt/base/denied.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/hash.h"
#include "ckpt/base/text.h"
#include "ckpt/base/utf8.h"
#include "ckpt/plan/same_files.h"
#include "corpus/token_data.h"
#include "corpus/token_file.h"
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
  for (const corpus::TokenShard& shard : data->shards) {
    files->paths.push_back(ckpt::join_path(path, shard.tokens_file));
    files->beside.push_back({ckpt::join_path(path, shard.ends_file),
                             shard.answers_file.empty() ? "" : ckpt::join_path(path, shard.answers_file)});
  }
  files->folders.push_back({path, data->token_bytes, data->vocabulary, data->tokenizer, data->before, data->behind});
  return {};
}

/// Appends what fits a pattern of the shell, by name.
Status add_pattern(const std::string& pattern, const std::string& key, FoundFiles* files) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::erase_if(paths, [](const std::string& one) { return !corpus::ids_of_index(one).empty(); });
  if (code != 0 && code != GLOB_NOMATCH) return ckpt::failed(key + ": cannot look for '" + pattern + "'");
  if (paths.empty())
    return ckpt::invalid(key + ": nothing fits '" + pattern + "'")
        .with_hint("relative paths start at the working directory");
  files->paths.insert(files->paths.end(), paths.begin(), paths.end());
  files->beside.resize(files->paths.size());
  return {};
}

/// Appends the file or the files of the folder at `path`.
Status add_path(const std::string& path, const std::string& key, FoundFiles* files) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    if (path.find_first_of("*?[") != std::string::npos) return add_pattern(path, key, files);
    if (std::string ids = corpus::ids_of_prefix(ckpt::posix_fs(), path); !ids.empty()) {
      files->paths.push_back(std::move(ids));
      return {};
    }
  }
  if (status.type() == fs::file_type::not_found)
    return ckpt::invalid(key + ": '" + path + "' does not exist")
        .with_hint("give a file, a folder, or a comma-separated list; relative paths start at the working directory");
  if (!fs::exists(status))
    return ckpt::invalid(key + ": cannot look at '" + path + "': " + error.message())
        .with_hint(ckpt::denied_hint(error.value(), path, "open"));
  if (status.type() != fs::file_type::directory) {
    const std::string ids = corpus::ids_of_index(path);
    files->paths.push_back(!ids.empty() && fs::exists(ids, error) ? ids : path);
    files->beside.emplace_back();
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
  // An index is read beside its ids, not as ids.
  std::erase_if(found, [all = found](const std::string& one) {
    return std::ranges::binary_search(all, corpus::ids_of_index(one));
  });
  files->paths.insert(files->paths.end(), found.begin(), found.end());
  files->beside.resize(files->paths.size());
  files->left_out.insert(files->left_out.end(), left_out.begin(), left_out.end());
  return {};
}

/// u64 in a file, little-endian; none without one.
class MappedNumbers {
 public:
  static Result<MappedNumbers> open(const std::string& path) {
    MappedNumbers numbers;
    if (!path.empty()) {
      TITAN_ASSIGN_OR_RETURN(numbers.file_, MappedFile::open(path));
    }
    return numbers;
  }
  bool has_file() const { return file_.has_value(); }
  const std::string& path() const { return file_->path(); }
  std::uint64_t size() const { return file_ ? file_->bytes().size() / sizeof(std::uint64_t) : 0; }
  std::uint64_t at(std::uint64_t place) const {
    std::uint64_t value = 0;
    std::memcpy(&value, file_->bytes().data() + place * sizeof value, sizeof value);
    return value;
  }
  /// The place of the first number above `least`, where they ascend.
  std::uint64_t first_above(std::uint64_t least) const {
    std::uint64_t low = 0, high = size();
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (at(middle) > least)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

 private:
  std::optional<MappedFile> file_;
};

struct Segment {
  MappedFile file;
  corpus::TokenFile layout;
  std::uint64_t begin;    ///< of its first token in the stream
  MappedNumbers ends;     ///< of its documents
  MappedNumbers answers;  ///< begins and ends of what is trained on; no file: all is
};

/// Ids of one type, as they lie in a file.
template <typename Id>
void widen(const std::byte* from, std::span<std::int64_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Id id;
    std::memcpy(&id, from + i * sizeof id, sizeof id);
    out[i] = static_cast<std::int64_t>(id);
  }
}

void read_ids(const Segment& segment, std::uint64_t skip, std::span<std::int64_t> out) {
  const corpus::TokenFile& layout = segment.layout;
  const std::byte* from = segment.file.bytes().data() + layout.offset + skip * layout.width;
  switch (layout.width) {
    case 1: return layout.is_signed ? widen<std::int8_t>(from, out) : widen<std::uint8_t>(from, out);
    case 2: return layout.is_signed ? widen<std::int16_t>(from, out) : widen<std::uint16_t>(from, out);
    case 4: return layout.is_signed ? widen<std::int32_t>(from, out) : widen<std::uint32_t>(from, out);
    default: return widen<std::int64_t>(from, out);
  }
}

/// The numbers beside a file ascend, up to its tokens.
Status check_ascends(const MappedNumbers& numbers, std::uint64_t place, std::uint64_t before, bool strictly,
                     std::uint64_t most) {
  const std::uint64_t value = numbers.at(place);
  if (value <= most && (strictly ? value > before : value >= before)) return {};
  return ckpt::corrupt("'" + numbers.path() + "': number " + std::to_string(place) + " is " + std::to_string(value) +
                       ", expected one " + (strictly ? "above " : "from ") + std::to_string(before) + " on up to " +
                       std::to_string(most))
      .with_hint("`titan-ckpt tokens --verify` of the folder says what is damaged");
}

/// Appends the ends of documents of `segment` that lie in (begin, end), as places in the stream.
Status add_ends(const Segment& segment, std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& starts) {
  const MappedNumbers& ends = segment.ends;
  std::uint64_t last = begin;
  for (std::uint64_t i = ends.first_above(begin); i < ends.size(); ++i) {
    TITAN_RETURN_IF_ERROR(check_ascends(ends, i, last, true, segment.layout.tokens));
    last = ends.at(i);
    if (last >= end) break;
    starts.push_back(segment.begin + last);
  }
  return {};
}

/// Appends the places of [begin, end) in `segment` that are not trained on, as places in the stream.
Status add_untrained(const Segment& segment, std::uint64_t begin, std::uint64_t end,
                     std::vector<std::uint64_t>& places) {
  const MappedNumbers& answers = segment.answers;
  if (!answers.has_file()) return {};
  // Begins stand at even places, ends at odd ones. The first above `begin` says in what it lies.
  std::uint64_t next = answers.first_above(begin), last = next == 0 ? 0 : answers.at(next - 1);
  for (std::uint64_t at = begin; at < end; ++next) {
    std::uint64_t until = end;
    if (next < answers.size()) {
      TITAN_RETURN_IF_ERROR(check_ascends(answers, next, last, false, segment.layout.tokens));
      last = answers.at(next);
      until = std::min(end, std::max(at, last));
    }
    const bool trained = next % 2 == 1 && next < answers.size();
    for (; at < until; ++at)
      if (!trained) places.push_back(segment.begin + at);
    if (next >= answers.size()) break;
  }
  return {};
}

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
      arranged.push_back(std::move(segments_[place]));
      arranged.back().begin = begin;
      begin += arranged.back().layout.tokens;
    }
    segments_ = std::move(arranged);
  }

  void read(std::uint64_t begin, std::span<std::int64_t> out) const override {
    assert(begin + out.size() <= tokens_);
    for (auto segment = find(begin); !out.empty(); ++segment) {
      const std::uint64_t skip = begin - segment->begin;
      const std::size_t count = std::min<std::uint64_t>(out.size(), segment->layout.tokens - skip);
      read_ids(*segment, skip, out.first(count));
      out = out.subspan(count);
      begin += count;
    }
  }

  Status starts(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& starts) const override {
    for (auto segment = find(begin); segment != segments_.end() && segment->begin < end; ++segment) {
      if (segment->begin > begin) starts.push_back(segment->begin);
      const std::uint64_t from = std::max(begin, segment->begin) - segment->begin,
                          to = std::min(end - segment->begin, segment->layout.tokens);
      TITAN_RETURN_IF_ERROR(add_ends(*segment, from, to, starts));
    }
    return {};
  }

  Status untrained(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& places) const override {
    for (auto segment = find(begin); segment != segments_.end() && segment->begin < end; ++segment)
      TITAN_RETURN_IF_ERROR(add_untrained(*segment, std::max(begin, segment->begin) - segment->begin,
                                          std::min(end - segment->begin, segment->layout.tokens), places));
    return {};
  }
  bool all_trained() const override {
    return std::none_of(segments_.begin(), segments_.end(),
                        [](const Segment& segment) { return segment.answers.has_file(); });
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

/// How the ids of a file lie in it.
Result<corpus::TokenFile> layout_of(const MappedFile& file, TokenKind kind) {
  if (kind == TokenKind::kUtf8Bytes) {
    corpus::TokenFile text;
    text.path = file.path();
    text.width = 1;
    text.tokens = file.bytes().size();
    return text;
  }
  const std::uint32_t width = kind == TokenKind::kUint16 ? 2 : 4;
  auto layout = corpus::open_token_file(ckpt::posix_fs(), file.path(), width);
  if (!layout.ok() && layout.status().code == ckpt::Code::kInvalid && file.bytes().size() % width != 0)
    return layout.status().with_hint("is training.token_dtype (" + std::string(width == 2 ? "uint16" : "uint32") +
                                     ") the type of this file?");
  // Nothing may be read beyond what was mapped, whatever was read since.
  if (layout.ok() && layout->offset + layout->tokens * layout->width > file.bytes().size())
    return ckpt::failed("'" + file.path() + "' changes while it is read");
  return layout;
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

}  // namespace

KnownFile known_file(const std::string& path, std::span<const std::byte> content, std::span<const KnownFile> known) {
  const std::string name = base_name(path);
  const std::optional<ckpt::Digest> ends = ends_of(content);
  for (const KnownFile& other : known)
    if (ends && other.ends == ends && other.file.bytes == content.size() && other.file.name == name) return other;
  return {fingerprint(path, content), ends};
}

Result<OpenedFiles> open_token_files(const std::vector<std::string>& paths, TokenKind kind, const std::string& key,
                                     std::span<const KnownFile> checked, const ckpt::CancelToken& stop,
                                     std::span<const BesideTokens> beside) {
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
    TITAN_ASSIGN_OR_RETURN(corpus::TokenFile layout, layout_of(file, kind));
    const bool raw = layout.format == corpus::TokenFormat::kRaw;
    opened.raw |= raw;
    opened.indexed |= !layout.index.empty();
    if (opened.doubt.ok() && raw) opened.doubt = doubt_of(path, beginning, kind);
    if (const std::string look = odd_look(beginning, kind); raw && !look.empty()) odd[look].push_back(path);
    KnownFile as_known = known_file(path, file.bytes(), checked);
    opened.ends.push_back(as_known.ends);
    opened.files.push_back(std::move(as_known.file));
    const bool known =
        opened.doubt.ok() && std::ranges::find(checked, opened.files.back(), &KnownFile::file) != checked.end();
    if (kind == TokenKind::kUtf8Bytes && !known) TITAN_RETURN_IF_ERROR(check_text(file, text, stop, &odd));
    if (layout.tokens == 0) continue;
    const std::size_t place = opened.files.size() - 1;
    const BesideTokens own = place < beside.size() ? beside[place] : BesideTokens{};
    TITAN_ASSIGN_OR_RETURN(MappedNumbers ends, MappedNumbers::open(own.ends));
    TITAN_ASSIGN_OR_RETURN(MappedNumbers answers, MappedNumbers::open(own.answers));
    const std::uint64_t begin = tokens;
    tokens += layout.tokens;
    segments.push_back({std::move(file), std::move(layout), begin, std::move(ends), std::move(answers)});
  }
  if (tokens == 0)
    return ckpt::invalid(key + ": the dataset is empty (" + paths.front() +
                         (paths.size() > 1 ? " and " + std::to_string(paths.size() - 1) + " more" : "") + ")");
  for (const auto& [look, names] : odd) opened.warnings.push_back(key + " " + look + ": " + ckpt::first_few(names));
  const std::uint64_t bound = kind == TokenKind::kUtf8Bytes ? 256 : 0;
  opened.stream = std::make_unique<MappedStream>(std::move(segments), tokens, bound);
  return opened;
}

}  // namespace titan::train
