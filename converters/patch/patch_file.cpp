#include "converters/patch/patch_file.h"

#include <set>

#include "ckpt/base/file_kind.h"
#include "ckpt/base/fs.h"
#include "ckpt/format/difference_codec.h"
#include "ckpt/format/json_fields.h"
#include "ckpt/format/json_writer.h"
#include "ckpt/format/member_names.h"
#include "converters/little_endian.h"
#include "converters/other_programs.h"

namespace titan::convert {

using ckpt::corrupt;
using ckpt::Digest;
using ckpt::JsonField;
using ckpt::JsonReader;
using ckpt::Result;
using ckpt::Status;

namespace {

constexpr std::uint32_t kPatchVersion = 1;
constexpr std::string_view kPatchEndMark = "PCHTITAN";
constexpr std::size_t kChecked = 40;  // bytes of a record that its digest covers, before the stored bytes

std::string digest_text(const Digest& digest) {
  return std::string(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
}

Digest digest_at(std::string_view bytes, std::size_t at) {
  Digest digest;
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), digest.bytes.size(), digest.bytes.begin());
  return digest;
}

Digest check_of(std::span<const std::byte> fields, std::span<const std::byte> stored) {
  ckpt::Hasher hasher;
  hasher.update(fields);
  hasher.update(stored);
  return hasher.digest();
}

void write_side(ckpt::JsonWriter& json, const char* name, const PatchSide& side) {
  json.line().key(name).begin().members("kind", side.kind, "id", side.id).end();
}

void read_side(JsonReader& json, PatchSide& side) {
  read_object(json, "a side of the patch", JsonField{"kind", side.kind}, JsonField{"id", side.id});
  if (json.ok() && side.kind != "titan" && side.kind != "hf")
    json.fail(
        ckpt::incompatible("a patch of checkpoints of a kind that this version does not know: '" + side.kind + "'"));
}

}  // namespace

std::uint64_t PatchHead::bytes() const {
  std::uint64_t sum = 0;
  for (const PatchedFile& file : files) sum += file.bytes;
  return sum;
}

std::string patch_begin() {
  std::string text(kPatchMark);
  put_le(text, kPatchVersion, 4);
  put_le(text, 0, 4);
  return text;
}

std::array<std::byte, kPatchRecord> encode_patch_record(const PatchRecord& record, std::span<const std::byte> stored) {
  std::string text;
  put_le(text, record.tensor, 4);
  put_le(text, record.element_size, 4);
  put_le(text, record.first, 8);
  put_le(text, record.raw, 4);
  put_le(text, stored.size(), 4);
  text += digest_text(record.digest);
  text += digest_text(check_of(std::as_bytes(std::span(text)), stored));
  std::array<std::byte, kPatchRecord> bytes{};
  std::copy_n(std::as_bytes(std::span(text)).begin(), bytes.size(), bytes.begin());
  return bytes;
}

std::string encode_patch_end(const PatchHead& head) {
  ckpt::JsonWriter json;
  json.begin().lines("format", "titan.patch/1", "writer", head.writer);
  write_side(json, "base", head.base);
  write_side(json, "target", head.target);
  json.lines("one_file", head.one_file, "step", head.step);
  json.line().key("files").begin_list();
  for (const PatchedFile& file : head.files) json.line().begin().members("path", file.path, "bytes", file.bytes).end();
  json.line().end_list();
  json.line().key("tensors").begin_list();
  for (const PatchTensor& tensor : head.tensors)
    json.line().begin().members("name", tensor.name, "bytes", tensor.bytes).end();
  json.line().end_list().line();
  std::string text = std::move(json.end()).finish();
  const std::uint64_t bytes = text.size();
  const Digest digest = ckpt::digest_of(text);
  text += digest_text(digest);
  put_le(text, bytes, 8);
  return text.append(kPatchEndMark);
}

Result<PatchHead> decode_patch_head(const std::string& what, std::string_view json_text) {
  JsonReader json(what, json_text);
  PatchHead head;
  std::string format;
  std::set<std::string> paths;
  const auto files = [&] {
    json.array([&](std::size_t i) {
      if (i == kMostPatchFiles) return json.fail("a patch has too many files");
      PatchedFile file;
      read_object(json, "a file", JsonField{"path", file.path}, JsonField{"bytes", file.bytes});
      if (!json.ok()) return;
      if (const Status status = ckpt::check_member_path(file.path); !status.ok()) return json.fail(status.message);
      if (file.bytes > std::uint64_t{1} << 50 || !paths.insert(file.path).second)
        return json.fail("file '" + file.path + "' is there twice, or too large");
      head.files.push_back(std::move(file));
    });
  };
  const auto tensors = [&] {
    json.array([&](std::size_t i) {
      if (i == kMostPatchTensors) return json.fail("a patch has too many tensors");
      PatchTensor& tensor = head.tensors.emplace_back();
      read_object(json, "a tensor", JsonField{"name", tensor.name}, JsonField{"bytes", tensor.bytes});
    });
  };
  read_object(json, "the head of a patch", JsonField{"format", format}, JsonField{"writer", head.writer},
              JsonField{"base", [&] { read_side(json, head.base); }},
              JsonField{"target", [&] { read_side(json, head.target); }}, JsonField{"one_file", head.one_file},
              JsonField{"step", head.step}, JsonField{"files", files}, JsonField{"tensors", tensors});
  TITAN_RETURN_IF_ERROR(json.finish());
  if (format != "titan.patch/1") return ckpt::incompatible(what + " is a patch of another version: " + format);
  if (head.files.empty() || (head.one_file && head.files.size() != 1))
    return corrupt(what + ": a patch of " + std::to_string(head.files.size()) + " files");
  return head;
}

PatchReader::PatchReader(std::unique_ptr<ckpt::File> file, std::string what)
    : file_(std::move(file)), what_(std::move(what)) {}
PatchReader::PatchReader(PatchReader&& other) noexcept = default;
PatchReader& PatchReader::operator=(PatchReader&& other) noexcept = default;
PatchReader::~PatchReader() = default;

Status PatchReader::damaged(const std::string& why) const {
  return corrupt("the patch " + what_ + " is damaged at byte " + std::to_string(at_) + ": " + why)
      .with_hint("take another copy of it");
}

Result<PatchReader> PatchReader::open(std::unique_ptr<ckpt::File> file, const std::string& what) {
  PatchReader reader(std::move(file), what);
  TITAN_ASSIGN_OR_RETURN(reader.bytes_, reader.file_->size());
  std::string begin(std::min<std::uint64_t>(reader.bytes_, kPatchBegin), '\0');
  TITAN_RETURN_IF_ERROR(reader.file_->pread(0, std::as_writable_bytes(std::span(begin))));
  if (!begin.starts_with(kPatchMark))
    return or_wrong_file_kind(what, begin, ckpt::invalid(what + " is no patch of titan-ckpt"));
  if (reader.bytes_ < kPatchBegin + kPatchEnd) return reader.damaged("it is cut off");
  if (get_le(begin, kPatchMark.size(), 4) != kPatchVersion)
    return ckpt::incompatible(what + " is a patch of version " + std::to_string(get_le(begin, kPatchMark.size(), 4)) +
                              ", and this program knows " + std::to_string(kPatchVersion));
  if (get_le(begin, 12, 4) != 0) return reader.damaged("its begin has bytes that no version writes");
  std::string end(kPatchEnd, '\0');
  TITAN_RETURN_IF_ERROR(reader.file_->pread(reader.bytes_ - kPatchEnd, std::as_writable_bytes(std::span(end))));
  const std::uint64_t bytes = get_le(end, 16, 8);
  if (!end.ends_with(kPatchEndMark) || bytes > kMostPatchHead || bytes > reader.bytes_ - kPatchBegin - kPatchEnd)
    return reader.damaged("it is cut off, or its end is damaged");
  reader.end_ = reader.bytes_ - kPatchEnd - bytes;
  std::string head(bytes, '\0');
  TITAN_RETURN_IF_ERROR(reader.file_->pread(reader.end_, std::as_writable_bytes(std::span(head))));
  if (ckpt::digest_of(head) != digest_at(end, 0)) return reader.damaged("its head does not match its digest");
  TITAN_ASSIGN_OR_RETURN(reader.head_, decode_patch_head(what, head));
  return reader;
}

Result<PatchRecord> PatchReader::next(std::vector<std::byte>& stored) {
  std::string fields(kPatchRecord, '\0');
  if (end_ - at_ < kPatchRecord) return damaged("a record is cut off");
  TITAN_RETURN_IF_ERROR(file_->pread(at_, std::as_writable_bytes(std::span(fields))));
  PatchRecord record;
  record.tensor = static_cast<std::uint32_t>(get_le(fields, 0, 4));
  record.element_size = static_cast<std::uint32_t>(get_le(fields, 4, 4));
  record.first = get_le(fields, 8, 8);
  record.raw = static_cast<std::uint32_t>(get_le(fields, 16, 4));
  record.stored = static_cast<std::uint32_t>(get_le(fields, 20, 4));
  record.digest = digest_at(fields, 24);
  const bool known = record.tensor == kNoTensor || record.tensor < head_.tensors.size();
  if (record.raw == 0 || record.raw > ckpt::kMaxDifferencePiece || record.stored > record.raw + 1 ||
      record.stored > end_ - at_ - kPatchRecord || !known)
    return damaged("a record does not fit");
  stored.resize(record.stored);
  TITAN_RETURN_IF_ERROR(file_->pread(at_ + kPatchRecord, stored));
  if (check_of(std::as_bytes(std::span(fields)).first(kChecked), stored) != digest_at(fields, kChecked))
    return damaged("a record does not match its digest");
  at_ += kPatchRecord + record.stored;
  return record;
}

}  // namespace titan::convert
