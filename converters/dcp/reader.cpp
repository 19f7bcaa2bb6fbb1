#include "converters/dcp/reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/model/leaf.h"
#include "converters/dcp/assemble.h"
#include "converters/dcp/parts.h"
#include "converters/dcp/shards.h"
#include "converters/format.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/little_endian.h"
#include "converters/other_programs.h"
#include "converters/pickle/crc32.h"

namespace titan::convert::dcp {
namespace {

constexpr std::uint64_t kMaxMetadata = std::uint64_t{1} << 30;
constexpr std::size_t kOpenFiles = 64, kOpenChunks = 4096;
// Largest chunk that is reordered in memory. Two copies exist for a moment, and a conversion may take 512 MiB in all.
constexpr std::uint64_t kMaxReordered = std::uint64_t{240} << 20;
constexpr std::uint64_t kBlock = 1u << 20;

std::uint64_t first_element(const std::vector<std::uint64_t>& shape, const Chunk& chunk, bool last) {
  std::uint64_t element = 0;
  for (std::size_t d = 0; d < shape.size(); ++d)
    element = element * shape[d] + chunk.offsets[d] + (last ? chunk.sizes[d] - 1 : 0);
  return element;
}

Status check_item(const std::string& what, const ItemContent& content, const TensorEntry& tensor, const Chunk& chunk) {
  const auto* found = std::get_if<ItemTensor>(&content);
  if (found == nullptr) return ckpt::corrupt(what + " holds a plain value instead of a tensor");
  if (found->dtype != tensor.dtype)
    return ckpt::corrupt(what + " has element type " + found->dtype + ", the metadata says " + tensor.dtype);
  if (found->shape != chunk.sizes) return ckpt::corrupt(what + " has another shape than the metadata says");
  return {};
}

// torch can write the files of a directory as safetensors (SerializationFormat.SAFETENSORS); the metadata then gives
// offset 0 for all items. Such a file begins with the length of a JSON header; a usual item begins with the magic
// number of a zip archive.
bool is_safetensors(ckpt::File& file) {
  std::string head(9, '\0');
  const Result<std::uint64_t> size = file.size();
  if (!size.ok() || *size < head.size() || !file.pread(0, std::as_writable_bytes(std::span(head))).ok()) return false;
  return head[8] == '{' && get_le(head, 0, 8) <= *size - 8;
}

// Refuses directories that were saved in an unusual form or incompletely.
Status check_form(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(path));
  std::string item, of_rank;
  bool there = false;
  for (const ckpt::DirEntry& entry : entries) {
    const std::string& name = entry.name;
    there = there || name == kMetadataFile;
    if (name.starts_with("__") && name.ends_with(kMetadataFile)) of_rank = std::max(of_rank, name);
    const auto info = fs.stat(ckpt::join_path(path, name));
    if (name.ends_with(kItemSuffix) && info.ok() && info->type == ckpt::FileType::kFile)
      item = std::max(item, name);  // regular files only: opening a pipe would hang
  }
  if (item.empty()) return {};
  if (!there && !of_rank.empty())
    return ckpt::unsupported(path + " has " + of_rank +
                             " instead of .metadata: each rank saved for itself, which is not supported")
        .with_hint("save it with use_collectives=True");
  if (!there)
    return ckpt::corrupt(ckpt::join_path(path, kMetadataFile) + " is missing, but there is " + item +
                         ": perhaps the save was not finished");
  const auto file = fs.open_read(ckpt::join_path(path, item));
  if (!file.ok() || !is_safetensors(**file)) return {};
  return ckpt::unsupported(ckpt::join_path(path, item) +
                           " is a safetensors file: this way of saving a DCP directory is not supported")
      .with_hint("save it with torch's default, SerializationFormat.TORCH_SAVE");
}

}  // namespace

struct DcpReader::OpenChunk {
  std::mutex mutex;
  std::string what;
  ZipArchive zip;
  ZipEntry entry;
  std::uint64_t payload = 0;  // offset of the entry's bytes in the file
  std::uint64_t begin = 0;    // of the tensor's first byte in the entry
  std::uint64_t next = 0;     // number of bytes of the entry that are in `crc`
  std::uint32_t crc = 0;
  bool plain = false;                // there is no checksum
  std::vector<std::byte> reordered;  // the chunk in row-major order, if the item stores it otherwise
};

DcpReader::DcpReader(ckpt::Fs& fs, std::string path, Metadata metadata)
    : fs_(fs), path_(std::move(path)), metadata_(std::move(metadata)) {}

Result<std::unique_ptr<DcpReader>> DcpReader::open(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, parts_of(fs, path));
  std::vector<std::pair<std::string, Metadata>> parts;
  for (const std::string& name : names) {
    const std::string folder = name.empty() ? path : ckpt::join_path(path, name);
    const std::string file = ckpt::join_path(folder, kMetadataFile);
    if (const std::vector<std::string> shards = shards_in(fs, folder); !shards.empty()) {
      TITAN_ASSIGN_OR_RETURN(Metadata part, read_shards(fs, folder, shards));
      parts.emplace_back(name, std::move(part));
      TITAN_ASSIGN_OR_RETURN(const bool both, is_file(fs, file));  // both parts may be in one folder
      if (!both) continue;
    }
    TITAN_RETURN_IF_ERROR(check_form(fs, folder));
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ckpt::read_file(fs, file, kMaxMetadata));
    Result<Metadata> part = decode_metadata(file, std::string(ckpt::text_of(bytes)));
    if (!part.ok()) return or_wrong_file_kind(file, ckpt::text_of(bytes), part.status(), ckpt::FileKind::kPickle);
    parts.emplace_back(name, *std::move(part));
  }
  std::unique_ptr<DcpReader> reader(new DcpReader(fs, path, joined_metadata(std::move(parts))));
  TITAN_RETURN_IF_ERROR(reader->check_files());
  return reader;
}

Status DcpReader::check_files() {
  std::vector<std::uint64_t> ends(metadata_.files.size(), 0);
  const auto reach = [&](const ItemPlace& place) {
    ends[place.file] = std::max(ends[place.file], place.offset + place.length);
  };
  for (const TensorEntry& tensor : metadata_.tensors)
    for (const Chunk& chunk : tensor.chunks) reach(chunk.place);
  for (const BytesEntry& value : metadata_.values) reach(value.place);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::string path = ckpt::join_path(path_, metadata_.files[i]);
    const Result<ckpt::FileInfo> info = fs_.stat(path);
    if (!info.ok() && info.status().code == ckpt::Code::kNotFound)
      return ckpt::corrupt(path + " is missing; the metadata names it");
    if (!info.ok()) return info.status();
    if (info->type != ckpt::FileType::kFile) return ckpt::corrupt(path + " is no regular file");
    if (info->size >= ends[i]) continue;
    const Status cut = ckpt::corrupt(path + " has " + std::to_string(info->size) + " bytes, its items need " +
                                     std::to_string(ends[i]));
    const auto opened = fs_.open_read(path);
    return opened.ok() ? or_wrong_file_kind(path, **opened, cut, ckpt::FileKind::kTorch) : cut;
  }
  return {};
}

Result<std::shared_ptr<ckpt::File>> DcpReader::file(std::uint32_t index) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = files_.find(index); found != files_.end()) return found->second;
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ckpt::File> opened,
                         fs_.open_read(ckpt::join_path(path_, metadata_.files[index])));
  if (files_.size() >= kOpenFiles) files_.erase(files_.begin());
  std::shared_ptr<ckpt::File> shared = std::move(opened);
  files_[index] = shared;
  return shared;
}

std::string DcpReader::item_name(const ItemPlace& place, const std::string& name) const {
  return ckpt::join_path(path_, metadata_.files[place.file]) + ": item " + name + " at offset " +
         std::to_string(place.offset);
}

Result<std::shared_ptr<DcpReader::OpenChunk>> DcpReader::open_chunk(const TensorEntry& tensor,
                                                                    std::size_t index) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = chunks_.find({&tensor, index}); found != chunks_.end()) return found->second;
  }
  const Chunk& chunk = tensor.chunks[index];
  TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<ckpt::File> opened, file(chunk.place.file));
  auto open = std::make_shared<OpenChunk>();
  open->what = item_name(chunk.place, tensor.name);
  if (chunk.place.plain) {
    open->payload = chunk.place.offset;
    open->plain = true;
    return remember(&tensor, index, std::move(open));
  }
  TITAN_ASSIGN_OR_RETURN(open->zip, ZipArchive::open(*opened, open->what, chunk.place.offset, chunk.place.length));
  TITAN_ASSIGN_OR_RETURN(const ItemContent content, read_item(open->zip));
  TITAN_RETURN_IF_ERROR(check_item(open->what, content, tensor, chunk));
  const auto& item = std::get<ItemTensor>(content);
  open->entry = *open->zip.find(item.storage);
  TITAN_ASSIGN_OR_RETURN(open->payload, open->zip.payload(open->entry));
  const std::uint64_t unit = torch_dtype_size(item.dtype);
  open->begin = item.first * unit;
  if (!item.contiguous()) {
    const std::uint64_t elements = ckpt::element_count(item.shape);
    if (elements * unit > kMaxReordered || open->entry.bytes > kMaxReordered)
      return ckpt::unsupported(open->what + " is not stored row-major and too large to be put in order");
    {
      const std::lock_guard lock(mutex_);
      chunks_.clear();  // frees the last reordered chunk before the next one is made
    }
    std::vector<std::byte> storage(open->entry.bytes);
    TITAN_RETURN_IF_ERROR(opened->pread(open->payload, storage));
    if (const std::uint32_t crc = crc32(0, storage); crc != open->entry.crc)
      return open->zip.crc_error(open->entry, open->payload, crc);
    open->reordered.resize(elements * unit);
    std::vector<std::uint64_t> at(item.shape.size(), 0);
    for (std::uint64_t i = 0, place = item.first; i < elements; ++i) {
      std::memcpy(open->reordered.data() + i * unit, storage.data() + place * unit, unit);
      for (std::size_t d = at.size(); d-- > 0;) {
        place += item.stride[d];
        if (++at[d] < item.shape[d]) break;
        place -= item.stride[d] * item.shape[d];
        at[d] = 0;
      }
    }
  }
  return remember(&tensor, index, std::move(open));
}

std::shared_ptr<DcpReader::OpenChunk> DcpReader::remember(const TensorEntry* tensor, std::size_t index,
                                                          std::shared_ptr<OpenChunk> open) const {
  const std::lock_guard lock(mutex_);
  // Callers read one tensor after another and do not return to an old chunk.
  if (chunks_.size() >= kOpenChunks) chunks_.clear();
  chunks_[{tensor, index}] = open;
  return open;
}

Status DcpReader::read_chunk(const TensorEntry& tensor, std::size_t index, std::uint64_t first,
                             std::span<std::byte> out) const {
  const std::uint64_t unit = torch_dtype_size(tensor.dtype);
  const std::vector<Run> runs = chunk_runs(tensor.shape, tensor.chunks[index], first, out.size() / unit);
  if (runs.empty()) return {};
  TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<OpenChunk> open, open_chunk(tensor, index));
  const std::uint64_t begin = runs.front().chunk_element, end = runs.back().chunk_element + runs.back().count;
  std::vector<std::byte> scratch;
  std::span<const std::byte> bytes;
  if (!open->reordered.empty()) {
    bytes = std::span(open->reordered).subspan(begin * unit, (end - begin) * unit);
  } else {
    std::span<std::byte> target = out.subspan((runs.front().tensor_element - first) * unit, runs.front().count * unit);
    if (runs.size() > 1) {
      scratch.resize((end - begin) * unit);
      target = scratch;
    }
    TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<ckpt::File> opened, file(tensor.chunks[index].place.file));
    const std::uint64_t at = open->begin + begin * unit;
    TITAN_RETURN_IF_ERROR(opened->pread(open->payload + at, target));
    const std::lock_guard lock(open->mutex);
    if (at == open->next && !open->plain) {
      open->crc = crc32(open->crc, target);
      open->next += target.size();
      if (open->next == open->entry.bytes && open->crc != open->entry.crc)
        return open->zip.crc_error(open->entry, open->payload, open->crc);
    }
    if (runs.size() == 1) return {};
    bytes = target;
  }
  for (const Run& run : runs)
    std::memcpy(out.data() + (run.tensor_element - first) * unit, bytes.data() + (run.chunk_element - begin) * unit,
                run.count * unit);
  return {};
}

Status DcpReader::read(const TensorEntry& tensor, std::uint64_t first, std::span<std::byte> out) const {
  const std::uint64_t unit = torch_dtype_size(tensor.dtype);
  if (unit == 0)
    return ckpt::unsupported(path_ + ": " + tensor.name + " has element type " + tensor.dtype + ", which is not known");
  const std::uint64_t count = out.size() / unit, elements = ckpt::element_count(tensor.shape);
  if (out.size() % unit != 0 || first > elements || count > elements - first)
    return ckpt::invalid(tensor.name + ": no such range of elements");
  if (count == 0) return {};
  for (std::size_t i = 0; i < tensor.chunks.size(); ++i) {
    if (first_element(tensor.shape, tensor.chunks[i], false) >= first + count) break;
    if (first_element(tensor.shape, tensor.chunks[i], true) < first) continue;
    TITAN_RETURN_IF_ERROR(read_chunk(tensor, i, first, out));
  }
  return {};
}

Result<ItemValue> DcpReader::value(const std::string& name) const {
  if (const TensorEntry* tensor = metadata_.tensor(name); tensor != nullptr) {
    std::byte bytes[8] = {};
    const std::uint64_t unit = torch_dtype_size(tensor->dtype);
    if (!tensor->shape.empty() || unit == 0 || unit > sizeof bytes)
      return ckpt::unsupported(path_ + ": " + name + " is a tensor where a number is expected");
    TITAN_RETURN_IF_ERROR(read(*tensor, 0, std::span(bytes, unit)));
    const std::uint64_t bits = get_le(ckpt::text_of(bytes), 0, unit);
    if (tensor->dtype == "float32")
      return ItemValue::of(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
    if (tensor->dtype == "float64") return ItemValue::of(std::bit_cast<double>(bits));
    if (tensor->dtype == "int64") return ItemValue::of(static_cast<std::int64_t>(bits));
    if (tensor->dtype == "int32") return ItemValue::of(static_cast<std::int64_t>(static_cast<std::int32_t>(bits)));
    return ckpt::unsupported(path_ + ": " + name + " is a " + tensor->dtype + " tensor where a number is expected");
  }
  const BytesEntry* entry = metadata_.value(name);
  if (entry == nullptr) return ckpt::not_found(path_ + ": no value " + name);
  const std::string what = item_name(entry->place, name);
  TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<ckpt::File> opened, file(entry->place.file));
  TITAN_ASSIGN_OR_RETURN(const ZipArchive zip,
                         ZipArchive::open(*opened, what, entry->place.offset, entry->place.length));
  TITAN_ASSIGN_OR_RETURN(ItemContent content, read_item(zip));
  if (auto* value = std::get_if<ItemValue>(&content); value != nullptr) return std::move(*value);
  return ckpt::corrupt(what + " holds a tensor instead of a plain value");
}

Status DcpReader::verify_item(const ItemPlace& place, const std::string& name, const TensorEntry* tensor,
                              const Chunk* chunk, ckpt::VerifyReport& report) const {
  const std::string what = item_name(place, name);
  TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<ckpt::File> opened, file(place.file));
  if (place.plain) {
    report.note = kSafetensorsNote;
    std::vector<std::byte> block(std::min(kBlock, place.length));
    for (std::uint64_t at = 0; at < place.length; at += block.size())
      TITAN_RETURN_IF_ERROR(opened->pread(
          place.offset + at, std::span(block).first(std::min<std::uint64_t>(block.size(), place.length - at))));
    return {};
  }
  const auto damaged = [&](const Status& status, std::uint64_t offset, std::uint64_t bytes) {
    // The message begins with file and item, which are separate fields in the report.
    std::string detail = status.message;
    if (detail.starts_with(what)) detail.erase(0, what.size() + (detail.substr(what.size()).starts_with(": ") ? 2 : 1));
    report.damage.push_back({metadata_.files[place.file], "item", name, 0, offset, bytes, std::move(detail)});
  };
  const Result<ZipArchive> zip = ZipArchive::open(*opened, what, place.offset, place.length);
  if (!zip.ok() && zip.status().code != ckpt::Code::kCorrupt) return zip.status();
  if (!zip.ok()) {
    damaged(zip.status(), place.offset, place.length);
    return {};
  }
  std::vector<std::byte> block(kBlock);
  for (const ZipEntry& entry : zip->entries()) {
    const Result<std::uint64_t> payload = zip->payload(entry);
    if (!payload.ok() && payload.status().code != ckpt::Code::kCorrupt) return payload.status();
    if (!payload.ok()) {
      damaged(payload.status(), entry.header, entry.bytes);
      return {};
    }
    std::uint32_t crc = 0;
    for (std::uint64_t at = 0; at < entry.bytes;) {
      const std::span<std::byte> part = std::span(block).first(std::min(kBlock, entry.bytes - at));
      TITAN_RETURN_IF_ERROR(opened->pread(*payload + at, part));
      crc = crc32(crc, part);
      at += part.size();
    }
    if (crc != entry.crc) {
      damaged(zip->crc_error(entry, *payload, crc), *payload, entry.bytes);
      return {};
    }
  }
  if (tensor == nullptr) return {};
  const Result<ItemContent> content = read_item(*zip);
  const Status status = content.ok() ? check_item(what, *content, *tensor, *chunk) : content.status();
  if (!status.ok()) damaged(status, place.offset, place.length);
  return {};
}

Result<ckpt::VerifyReport> DcpReader::verify(
    const std::function<Status(std::uint64_t done, std::uint64_t total)>& progress) const {
  struct Item {
    ItemPlace place;
    const std::string* name;
    const TensorEntry* tensor;
    const Chunk* chunk;
  };
  std::vector<Item> items;
  std::uint64_t total = 0;
  for (const BytesEntry& value : metadata_.values) items.push_back({value.place, &value.name, nullptr, nullptr});
  for (const TensorEntry& tensor : metadata_.tensors)
    for (const Chunk& chunk : tensor.chunks) items.push_back({chunk.place, &tensor.name, &tensor, &chunk});
  for (const Item& item : items) total += item.place.length;
  std::ranges::sort(items, {}, [](const Item& item) { return std::pair(item.place.file, item.place.offset); });
  ckpt::VerifyReport report;
  for (const Item& item : items) {
    TITAN_RETURN_IF_ERROR(verify_item(item.place, *item.name, item.tensor, item.chunk, report));
    ++report.leaves;
    report.bytes += item.place.length;
    if (progress) TITAN_RETURN_IF_ERROR(progress(report.bytes, total));
  }
  return report;
}

}  // namespace titan::convert::dcp
