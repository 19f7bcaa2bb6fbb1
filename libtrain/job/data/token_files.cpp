#include "libtrain/job/data/token_files.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <map>
#include <optional>

#include "ckpt/base/denied.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/hash.h"
#include "ckpt/base/path.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"
#include "ckpt/base/utf8.h"
#include "ckpt/plan/same_files.h"
#include "corpus/document_reader.h"
#include "corpus/path_pattern.h"
#include "corpus/token_data.h"
#include "corpus/token_file.h"
#include "libtrain/job/data/data_plausibility.h"
#include "libtrain/job/data/mapped_file.h"
#include "libtrain/job/data/mapped_stream.h"

namespace titan::train {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

namespace fs = std::filesystem;
using ckpt::Result;
using ckpt::Status;

constexpr std::uint64_t kBlock = 4096, kBlocks = 64;
constexpr std::size_t kSlice = 16 << 20;  // bytes of text between two checks for a stop

/// Describes an entry of a data folder that is not a data file.
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
    files->sidecars.push_back({ckpt::join_path(path, shard.ends_file),
                               shard.answers_file.empty() ? "" : ckpt::join_path(path, shard.answers_file)});
  }
  files->folders.push_back({path, data->token_bytes, data->vocabulary, data->tokenizer, data->before, data->behind});
  return {};
}

Status add_path(const std::string& path, const std::string& key, FoundFiles* files);

/// `paths`, with each index replaced by its file of ids; missing ones are dropped.
std::vector<std::string> with_ids_of_indexes(const std::vector<std::string>& paths) {
  std::vector<std::string> kept;
  std::error_code error;
  for (const std::string& path : paths) {
    const std::string ids = corpus::ids_of_index(path);
    const bool there = ids.empty() || (fs::exists(ids, error) && std::ranges::find(paths, ids) == paths.end());
    const std::string& taken = ids.empty() ? path : ids;
    if (there && (kept.empty() || kept.back() != taken)) kept.push_back(taken);
  }
  return kept;
}

/// Appends what matches a shell pattern, by name: files, and the files of folders.
Status add_pattern(const std::string& pattern, const std::string& key, FoundFiles* files) {
  auto found = corpus::matching_paths(ckpt::posix_fs(), pattern);
  if (!found.ok()) return found.status().wrapped(key + ": cannot look for '" + pattern + "'");
  std::ranges::sort(*found);
  const std::vector<std::string> paths = with_ids_of_indexes(*found);
  if (paths.empty())
    return ckpt::invalid(key + ": nothing fits '" + pattern + "'")
        .with_hint("relative paths start at the working directory");
  std::error_code error;
  for (const std::string& path : paths) {
    if (fs::exists(path, error)) {
      TITAN_RETURN_IF_ERROR(add_path(path, key, files));
    } else {  // a dead link: opening it later gives the error
      files->paths.push_back(path);
      files->sidecars.emplace_back();
    }
  }
  return {};
}

/// Appends the file at `path`, or the files of the folder at `path`.
Status add_path(const std::string& path, const std::string& key, FoundFiles* files) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    if (corpus::has_wildcard(path)) return add_pattern(path, key, files);
    if (std::string ids = corpus::ids_of_prefix(ckpt::posix_fs(), path); !ids.empty()) {
      files->paths.push_back(std::move(ids));
      files->sidecars.emplace_back();
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
    files->sidecars.emplace_back();
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
  // An index is read with its ids, not as ids.
  std::erase_if(found, [all = found](const std::string& one) {
    return std::ranges::binary_search(all, corpus::ids_of_index(one));
  });
  files->paths.insert(files->paths.end(), found.begin(), found.end());
  files->sidecars.resize(files->paths.size());
  files->left_out.insert(files->left_out.end(), left_out.begin(), left_out.end());
  return {};
}

/// File names by their suspicious property.
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
    // A character that the end of a slice may cut is checked with the next slice.
    const bool cut = scan.valid < text.size() && slice.size() == kSlice && slice.size() - valid < kLongest;
    if (valid < slice.size() && !cut) break;
  }
  return scan;
}

/// Reads the whole text: it must be UTF-8; control characters are noted with the offset of the first.
Status check_text(const MappedFile& file, std::string_view text, const ckpt::CancelToken& stop, Oddities* odd) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::TextScan scan, scan_slices(text, stop));
  if (text.starts_with(ckpt::kByteOrderMark))
    (*odd)["begins with a byte order mark, which is taken as text"].push_back(file.path());
  const auto [at, control] = scan;
  if (control != std::string_view::npos) {
    const char* what = text[control] == '\0' ? "has NUL bytes, which text has not" : "has control characters";
    (*odd)[what].push_back(file.path() + " (the first at offset " + std::to_string(control) + ")");
  }
  if (at == text.size()) return {};
  const std::string byte = ckpt::printed("0x%02x", static_cast<unsigned char>(text[at]));
  return ckpt::invalid("'" + file.path() + "' is not UTF-8: no character starts with the byte " + byte + " at offset " +
                       std::to_string(at))
      .with_hint("convert it (iconv -t UTF-8), or read binary token files with --training.dataset=tokens");
}

/// The layout of ids in a file. `alone`: its index and metadata are ignored.
Result<corpus::TokenFile> layout_of(const MappedFile& file, TokenKind kind, bool alone = false) {
  if (kind == TokenKind::kUtf8Bytes) {
    corpus::TokenFile text;
    text.path = file.path();
    text.width = 1;
    text.tokens = file.bytes().size();
    return text;
  }
  const std::uint32_t width = kind == TokenKind::kUint16 ? 2 : 4;
  auto layout = corpus::open_token_file(ckpt::posix_fs(), file.path(), width, alone);
  if (!layout.ok() && layout.status().code == ckpt::Code::kInvalid && file.bytes().size() % width != 0)
    return layout.status().with_hint("is training.token_dtype (" + std::string(width == 2 ? "uint16" : "uint32") +
                                     ") the type of this file?");
  // The header is read after the file was mapped, and may tell of more bytes than the mapping has.
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
    files.twice = corpus::named_twice(files.paths);
    return files;
  }
  for (const std::string& part : ckpt::split(dataset_path, ',')) {
    const std::string item(ckpt::trimmed(part));
    if (item.empty()) return ckpt::invalid(key + ": '" + dataset_path + "' has an empty item in its list");
    TITAN_RETURN_IF_ERROR(add_path(item, key, &files));
  }
  files.twice = corpus::named_twice(files.paths);
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
  ckpt::DataFile file{ckpt::base_name(path), content.size(), {}};
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

/// A digest of the first and last block; nullopt for small files.
std::optional<ckpt::Digest> ends_of(std::span<const std::byte> content) {
  if (content.size() < kBlock * kBlocks) return std::nullopt;
  ckpt::Hasher hasher;
  hasher.update(content.first(kBlock));
  hasher.update(content.last(kBlock));
  return hasher.digest();
}

}  // namespace

Result<KnownFile> known_file(const std::string& path, std::span<const std::byte> content,
                             std::span<const KnownFile> known, std::span<const std::string> sidecars) {
  const std::string name = ckpt::base_name(path);
  const std::optional<ckpt::Digest> ends = ends_of(content);
  const KnownFile* same = nullptr;
  bool several = false;  // `known` has several such files with different fingerprints
  for (const KnownFile& other : known) {
    if (!ends || other.ends != ends || other.file.bytes != content.size() || other.file.name != name) continue;
    several |= same != nullptr && !(same->file == other.file);
    same = &other;
  }
  if (same != nullptr && !several) return *same;
  const KnownFile plain{fingerprint(path, content), ends};
  if (sidecars.empty()) return plain;
  KnownFile file = plain;
  ckpt::IdentityEncoder encoder;
  encoder.digest(plain.file.blocks);
  for (const std::string& other : sidecars) {
    TITAN_ASSIGN_OR_RETURN(const MappedFile numbers, MappedFile::open(other));
    encoder.u64(numbers.bytes().size());
    encoder.digest(fingerprint(other, numbers.bytes()).blocks);
  }
  file.file.blocks = encoder.finish();
  const auto is_known = [&](const ckpt::DataFile& one) {
    return std::ranges::any_of(known, [&](const KnownFile& other) {
      return other.file.bytes == one.bytes && other.file.blocks == one.blocks;
    });
  };
  file.alone = !is_known(file.file) && is_known(plain.file);
  if (file.alone) file.file = plain.file;
  return file;
}

namespace {

/// The files that belong to a file of ids.
std::vector<std::string> belongings(const SidecarFiles& sidecars, const corpus::TokenFile& layout) {
  std::vector<std::string> files = {sidecars.ends, sidecars.answers, layout.index, layout.metadata};
  std::erase(files, "");
  return files;
}

/// The document ends of one file; none if they are not asked for.
Result<MappedNumbers> open_ends(const SidecarFiles& sidecars, const corpus::TokenFile& layout,
                                const DocumentRule& rule) {
  if (!rule.asked) return MappedNumbers();
  if (!layout.index.empty() && !rule.end_id) return MappedNumbers::of_index(layout.index, corpus::indexed_ends(layout));
  return MappedNumbers::open(sidecars.ends);
}

}  // namespace

Result<OpenedFiles> open_token_files(const std::vector<std::string>& paths, TokenKind kind, const std::string& key,
                                     std::span<const KnownFile> checked, const ckpt::CancelToken& stop,
                                     std::span<const SidecarFiles> sidecars, const DocumentRule& rule) {
  OpenedFiles opened;
  std::vector<DataSegment> segments;
  std::uint64_t tokens = 0;
  Oddities odd;
  std::vector<std::string> late;  // files that came after the run began
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
    if (opened.doubt.ok() && raw) opened.doubt = doubt_of(path, beginning, kind);
    if (const std::string look = odd_look(beginning, kind); raw && !look.empty()) odd[look].push_back(path);
    const std::size_t place = opened.files.size();
    SidecarFiles own = place < sidecars.size() ? sidecars[place] : SidecarFiles{};
    const std::vector<std::string> belonging = belongings(own, layout);
    TITAN_ASSIGN_OR_RETURN(const KnownFile as_known, known_file(path, file.bytes(), checked, belonging));
    if (as_known.alone) {
      TITAN_ASSIGN_OR_RETURN(layout, layout_of(file, kind, /*alone=*/true));
      own = {};
      late.insert(late.end(), belonging.begin(), belonging.end());
    }
    opened.files.push_back(as_known);
    const bool known = std::ranges::find(checked, as_known.file, &KnownFile::file) != checked.end();
    if (kind == TokenKind::kUtf8Bytes && !(known && opened.doubt.ok()))
      TITAN_RETURN_IF_ERROR(check_text(file, text, stop, &odd));
    // An index is part of the fingerprint: a rank that knows the fingerprint need not check the index again.
    if (!layout.index.empty() && !known)
      TITAN_RETURN_IF_ERROR(
          corpus::read_ends(ckpt::posix_fs(), layout, [&](std::span<const std::uint64_t>) { return stop.check(); }));
    if (layout.tokens == 0) continue;
    TITAN_ASSIGN_OR_RETURN(MappedNumbers ends, open_ends(own, layout, rule));
    TITAN_ASSIGN_OR_RETURN(MappedNumbers answers, MappedNumbers::open(own.answers));
    opened.unended |= rule.asked && kind != TokenKind::kUtf8Bytes && !ends.has_file();
    const std::uint64_t begin = tokens;
    tokens += layout.tokens;
    segments.push_back({std::move(file), std::move(layout), begin, std::move(ends), std::move(answers)});
  }
  if (tokens == 0)
    return ckpt::invalid(key + ": the dataset is empty (" + paths.front() +
                         (paths.size() > 1 ? " and " + std::to_string(paths.size() - 1) + " more" : "") + ")");
  if (!late.empty())
    opened.warnings.push_back(
        key + ": the run began without these files and does not use them (a new run does): " + ckpt::first_few(late));
  for (const auto& [look, names] : odd) opened.warnings.push_back(key + " " + look + ": " + ckpt::first_few(names));
  const std::uint64_t bound = kind == TokenKind::kUtf8Bytes ? 256 : 0;
  opened.stream =
      make_mapped_stream(std::move(segments), tokens, bound, rule.asked ? rule.end_id : std::optional<std::int64_t>());
  return opened;
}

}  // namespace titan::train
