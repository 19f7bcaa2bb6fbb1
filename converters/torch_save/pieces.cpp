#include "converters/torch_save/pieces.h"

#include <algorithm>
#include <cstring>

#include "ckpt/base/fs.h"
#include "ckpt/model/leaf.h"
#include "ckpt/ops/convert_dtype.h"
#include "converters/dcp/assemble.h"
#include "converters/pickle/crc32.h"
#include "converters/pickle/zip.h"

namespace titan::convert {

using ckpt::Result;
using ckpt::Status;

namespace {

constexpr std::size_t kOpenFiles = 64;
constexpr std::uint64_t kCheckBytes = std::uint64_t{1} << 20;  // bytes read at a time

dcp::Chunk box_of(const Box& piece) { return {piece.offsets, piece.sizes, {}}; }

}  // namespace

// An open archive; its storages are in the order of the file.
struct PieceFiles::Archive {
  struct Storage {
    ZipEntry entry;
    std::uint64_t payload = 0;
    bool checked = false;
    Status found{};
  };
  ZipArchive zip;
  std::vector<Storage> storages;
};

Box whole_piece(const std::vector<std::uint64_t>& shape, std::vector<Segment> segments, std::uint64_t first) {
  return {std::vector<std::uint64_t>(shape.size(), 0), shape, std::move(segments), first};
}

Status check_pieces(const PiecedTensor& tensor) {
  std::vector<dcp::Chunk> boxes;
  for (const Box& piece : tensor.pieces) {
    const std::string what = tensor.name + ": a piece of it ";
    if (piece.offsets.size() != tensor.shape.size() || piece.sizes.size() != tensor.shape.size())
      return ckpt::corrupt(what + "has another rank");
    for (std::size_t d = 0; d < tensor.shape.size(); ++d)
      if (piece.offsets[d] > tensor.shape[d] || piece.sizes[d] > tensor.shape[d] - piece.offsets[d])
        return ckpt::corrupt(what + "reaches beyond its shape");
    std::uint64_t stored = 0;
    for (const Segment& segment : piece.segments)
      if (__builtin_add_overflow(stored, segment.elements, &stored)) return ckpt::corrupt(what + "is too large");
    const std::uint64_t needed = ckpt::element_count(piece.sizes);
    if (piece.first > stored || needed > stored - piece.first)
      return ckpt::corrupt(what + "needs " + std::to_string(needed) + " elements, the files have " +
                           std::to_string(stored - std::min(stored, piece.first)));
    if (needed > 0) boxes.push_back(box_of(piece));
  }
  return dcp::check_cover(tensor.name, tensor.shape, boxes);
}

std::uint32_t PieceFiles::add(const std::string& path) {
  const auto [at, fresh] = numbers_.emplace(path, static_cast<std::uint32_t>(paths_.size()));
  if (fresh) paths_.push_back(path);
  return at->second;
}

std::uint32_t PieceFiles::add_archive(const std::string& path) {
  const std::uint32_t number = add(path);
  archives_.try_emplace(number);
  return number;
}

Result<std::shared_ptr<PieceFiles::Archive>> PieceFiles::open_archive(std::uint32_t index) const {
  TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<ckpt::File> from, file(index));
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, from->size());
  TITAN_ASSIGN_OR_RETURN(ZipArchive zip, ZipArchive::open(*from, paths_[index], 0, size));
  std::vector<Archive::Storage> storages;
  for (const ZipEntry& entry : zip.entries()) {
    TITAN_ASSIGN_OR_RETURN(const std::uint64_t payload, zip.payload(entry));
    storages.push_back({entry, payload, false, {}});
  }
  std::ranges::sort(storages, {}, &Archive::Storage::payload);
  return std::make_shared<Archive>(Archive{std::move(zip), std::move(storages)});
}

// Checks the storage that contains `offset`, once.
Status PieceFiles::check_storage(std::uint32_t index, std::uint64_t offset) const {
  const std::lock_guard lock(check_mutex_);
  const auto at = archives_.find(index);
  if (at == archives_.end()) return {};
  if (at->second == nullptr) {
    TITAN_ASSIGN_OR_RETURN(at->second, open_archive(index));
  }
  std::vector<Archive::Storage>& storages = at->second->storages;
  const auto behind = std::ranges::upper_bound(storages, offset, {}, &Archive::Storage::payload);
  if (behind == storages.begin()) return ckpt::corrupt(paths_[index] + " has changed while it was read");
  Archive::Storage& storage = *std::prev(behind);
  if (storage.checked) return storage.found;
  TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<ckpt::File> from, file(index));
  std::vector<std::byte> buffer(std::min(kCheckBytes, storage.entry.bytes));
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < storage.entry.bytes;) {
    const auto part = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), storage.entry.bytes - done));
    TITAN_RETURN_IF_ERROR(from->pread(storage.payload + done, part));
    crc = crc32(crc, part);
    done += part.size();
  }
  if (crc != storage.entry.crc) storage.found = at->second->zip.crc_error(storage.entry, storage.payload, crc);
  storage.checked = true;
  return storage.found;
}

Status PieceFiles::check_rest(const std::function<Status(const std::string&, const Status&)>& told) const {
  for (std::uint32_t number = 0; number < paths_.size(); ++number) {
    std::vector<std::uint64_t> left;
    {
      const std::lock_guard lock(check_mutex_);
      const auto at = archives_.find(number);
      if (at == archives_.end()) continue;
      if (at->second == nullptr) {
        TITAN_ASSIGN_OR_RETURN(at->second, open_archive(number));
      }
      for (const Archive::Storage& storage : at->second->storages)
        if (!storage.checked) left.push_back(storage.payload);
    }
    for (const std::uint64_t payload : left) {
      const Status found = check_storage(number, payload);
      if (!found.ok() && found.code != ckpt::Code::kCorrupt) return found;
      TITAN_RETURN_IF_ERROR(told(paths_[number], found));
    }
  }
  return {};
}

Result<std::shared_ptr<ckpt::File>> PieceFiles::file(std::uint32_t index) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = open_.find(index); found != open_.end()) return found->second;
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ckpt::File> opened, fs_.open_read(paths_[index]));
  if (open_.size() >= kOpenFiles) open_.erase(open_.begin());
  std::shared_ptr<ckpt::File> shared = std::move(opened);
  open_[index] = shared;
  return shared;
}

// Reads elements of `piece` from `first` on; `unit` is the size of an element in bytes.
Status PieceFiles::read_piece(const Box& piece, std::uint64_t unit, std::uint64_t first, std::span<std::byte> out,
                              bool check) const {
  std::uint64_t begin = 0, at = piece.first + first;
  for (const Segment& segment : piece.segments) {
    if (out.empty()) break;
    const std::uint64_t end = begin + segment.elements;
    if (at < end) {
      const std::uint64_t count = std::min<std::uint64_t>(end - at, out.size() / unit);
      if (check) TITAN_RETURN_IF_ERROR(check_storage(segment.file, segment.offset));
      TITAN_ASSIGN_OR_RETURN(const std::shared_ptr<ckpt::File> from, file(segment.file));
      TITAN_RETURN_IF_ERROR(from->pread(segment.offset + (at - begin) * unit, out.first(count * unit)));
      out = out.subspan(count * unit);
      at += count;
    }
    begin = end;
  }
  return {};
}

Status PieceFiles::read_boxes(const PiecedTensor& tensor, std::uint64_t first, std::span<std::byte> out,
                              bool check) const {
  const std::uint64_t unit = ckpt::dtype_size(tensor.dtype);
  std::vector<std::byte> scratch;
  for (const Box& piece : tensor.pieces) {
    if (ckpt::element_count(piece.sizes) == 0) continue;
    const std::vector<dcp::Run> runs = dcp::chunk_runs(tensor.shape, box_of(piece), first, out.size() / unit);
    if (runs.empty()) continue;
    // The runs are adjacent in the piece, so one read fetches all of them.
    const std::uint64_t begin = runs.front().chunk_element, end = runs.back().chunk_element + runs.back().count;
    std::span<std::byte> target = out.subspan((runs.front().tensor_element - first) * unit, runs.front().count * unit);
    if (runs.size() > 1) {
      scratch.resize((end - begin) * unit);
      target = scratch;
    }
    TITAN_RETURN_IF_ERROR(read_piece(piece, unit, begin, target, check));
    for (const dcp::Run& run : runs)
      if (runs.size() > 1)
        std::memcpy(&out[(run.tensor_element - first) * unit], &scratch[(run.chunk_element - begin) * unit],
                    run.count * unit);
  }
  return {};
}

ckpt::Result<bool> PieceFiles::rounds_to(const PiecedTensor& exact, const PiecedTensor& stored, std::uint64_t first,
                                         std::uint64_t count) const {
  std::vector<std::byte> masters(count * ckpt::dtype_size(exact.dtype)),
      rounded(count * ckpt::dtype_size(stored.dtype)), theirs(rounded.size());
  TITAN_RETURN_IF_ERROR(read(exact, first, masters));
  TITAN_RETURN_IF_ERROR(read(stored, first, theirs));
  ckpt::convert_elements(exact.dtype, masters, stored.dtype, rounded);
  return rounded == theirs;
}

}  // namespace titan::convert
