#include "converters/pickle/zip.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "converters/little_endian.h"
#include "converters/pickle/crc32.h"

namespace titan::convert {
namespace {

constexpr std::uint64_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kDirectoryRow = 46, kLocalHeader = 30;
constexpr std::uint32_t kEndMark = 0x06054b50, kLocatorMark = 0x07064b50, kEnd64Mark = 0x06064b50,
                        kRowMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr std::uint64_t kTail = 4096;  // holds the end records and the directory of a usual archive
constexpr std::uint64_t kMaxDirectory = 16u << 20;

Result<std::string> read_text(ckpt::File& file, std::uint64_t offset, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  TITAN_RETURN_IF_ERROR(file.pread(offset, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace

Status ZipArchive::bad(const std::string& message) const { return ckpt::corrupt(what_ + ": " + message); }

Result<ZipArchive> ZipArchive::open(ckpt::File& file, std::string what, std::uint64_t offset, std::uint64_t length) {
  ZipArchive zip;
  zip.file_ = &file;
  zip.what_ = std::move(what);
  zip.offset_ = offset;
  zip.length_ = length;
  if (length < kEndBytes)
    return zip.bad("an archive of " + std::to_string(length) + " bytes is shorter than a zip's end record");
  const std::uint64_t tail_begin = length - std::min(length, kTail);
  TITAN_ASSIGN_OR_RETURN(const std::string tail, read_text(file, offset + tail_begin, length - tail_begin));
  const std::size_t end = tail.size() - kEndBytes;
  // torch writes no archive comment, so the end record is the last 22 bytes. Searching for it elsewhere could accept a
  // forged one.
  if (get_le(tail, end, 4) != kEndMark) return zip.bad("no zip end record in the last 22 bytes");
  if (get_le(tail, end + 4, 2) != 0 || get_le(tail, end + 6, 2) != 0) return zip.bad("a zip of several disks");
  if (get_le(tail, end + 20, 2) != 0) return zip.bad("a zip with a comment");
  std::uint64_t count = get_le(tail, end + 10, 2), bytes = get_le(tail, end + 12, 4), begin = get_le(tail, end + 16, 4);
  std::uint64_t directory_end = length - kEndBytes;
  if (end >= kLocatorBytes && get_le(tail, end - kLocatorBytes, 4) == kLocatorMark) {
    const std::uint64_t record = get_le(tail, end - kLocatorBytes + 8, 8);
    const std::uint64_t latest = length - kEndBytes - kLocatorBytes;
    if (latest < kEnd64Bytes || record != latest - kEnd64Bytes)
      return zip.bad("the zip64 end record is not where its locator says");
    TITAN_ASSIGN_OR_RETURN(const std::string end64, read_text(file, offset + record, kEnd64Bytes));
    if (get_le(end64, 0, 4) != kEnd64Mark || get_le(end64, 4, 8) != kEnd64Bytes - 12)
      return zip.bad("the zip64 end record is damaged");
    count = get_le(end64, 32, 8);
    bytes = get_le(end64, 40, 8);
    begin = get_le(end64, 48, 8);
    directory_end = record;
  } else if (count == 0xffff || bytes == 0xffffffff || begin == 0xffffffff) {
    return zip.bad("the end record points to a zip64 end record that is not there");
  }
  if (begin > directory_end || bytes != directory_end - begin) {
    return zip.bad("the central directory [" + std::to_string(begin) + ", +" + std::to_string(bytes) +
                   ") does not end at the end records (" + std::to_string(directory_end) + ")");
  }
  if (bytes > kMaxDirectory || count > bytes / kDirectoryRow)
    return zip.bad("a central directory of " + std::to_string(count) + " entries in " + std::to_string(bytes) +
                   " bytes");
  if (begin >= tail_begin) {
    TITAN_RETURN_IF_ERROR(zip.parse_directory(std::string_view(tail).substr(begin - tail_begin, bytes), count, begin));
  } else {
    TITAN_ASSIGN_OR_RETURN(const std::string directory, read_text(file, offset + begin, bytes));
    TITAN_RETURN_IF_ERROR(zip.parse_directory(directory, count, begin));
  }
  return zip;
}

Status ZipArchive::parse_directory(std::string_view directory, std::uint64_t count, std::uint64_t directory_offset) {
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string row = "central directory entry " + std::to_string(i);
    if (directory.size() - at < kDirectoryRow || get_le(directory, at, 4) != kRowMark) return bad(row + " is damaged");
    const std::uint64_t flags = get_le(directory, at + 8, 2), method = get_le(directory, at + 10, 2);
    std::uint64_t packed = get_le(directory, at + 20, 4), bytes = get_le(directory, at + 24, 4),
                  header = get_le(directory, at + 42, 4);
    const std::size_t name_bytes = get_le(directory, at + 28, 2), extra_bytes = get_le(directory, at + 30, 2),
                      comment_bytes = get_le(directory, at + 32, 2);
    if (directory.size() - at - kDirectoryRow < name_bytes + extra_bytes + comment_bytes)
      return bad(row + " runs over the directory's end");
    const std::string_view name = directory.substr(at + kDirectoryRow, name_bytes);
    std::string_view extra = directory.substr(at + kDirectoryRow + name_bytes, extra_bytes);
    for (; extra.size() >= 4; extra.remove_prefix(4 + get_le(extra, 2, 2))) {
      const std::size_t field = get_le(extra, 2, 2);
      if (field > extra.size() - 4) return bad(row + " has a damaged extra field");
      if (get_le(extra, 0, 2) != 1) continue;
      // The zip64 field contains only the values that do not fit into 32 bits, in this order.
      std::size_t place = 4;
      for (std::uint64_t* value : {&bytes, &packed, &header}) {
        if (*value != 0xffffffff) continue;
        if (place + 8 > field + 4) return bad(row + " has a short zip64 field");
        *value = get_le(extra, place, 8);
        place += 8;
      }
    }
    if (method != 0) return bad(row + " is compressed (method " + std::to_string(method) + "); torch stores");
    if ((flags & 0x41) != 0) return bad(row + " is encrypted");
    if (packed != bytes)
      return bad(row + " has two sizes, " + std::to_string(packed) + " and " + std::to_string(bytes));
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == name.size())
      return bad(row + " has no root folder in its name");
    if (name.find('\0') != std::string_view::npos || name.find("..") != std::string_view::npos)
      return bad(row + " has a name that leaves the archive");
    if (i == 0) root_ = name.substr(0, slash);
    if (name.substr(0, slash) != root_) return bad(row + " lies in another root folder than the first");
    if (header > directory_offset || directory_offset - header < kLocalHeader ||
        directory_offset - header - kLocalHeader < bytes) {
      return bad(row + " lies outside of the archive: " + std::to_string(bytes) + " bytes at " +
                 std::to_string(header));
    }
    entries_.push_back({std::string(name.substr(slash + 1)), offset_ + header, bytes,
                        static_cast<std::uint32_t>(get_le(directory, at + 16, 4))});
    at += kDirectoryRow + name_bytes + extra_bytes + comment_bytes;
  }
  if (at != directory.size())
    return bad(std::to_string(directory.size() - at) + " bytes follow the last entry of the central directory");
  std::vector<const ZipEntry*> sorted;
  for (const ZipEntry& entry : entries_) sorted.push_back(&entry);
  std::ranges::sort(sorted, {}, &ZipEntry::name);
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i]->name == sorted[i - 1]->name) return bad("entry " + sorted[i]->name + " is there twice");
  std::ranges::sort(sorted, {}, &ZipEntry::header);
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i]->header - sorted[i - 1]->header < kLocalHeader + sorted[i - 1]->bytes)
      return bad("entries " + sorted[i - 1]->name + " and " + sorted[i]->name + " overlap");
  return {};
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &ZipEntry::name);
  return found == entries_.end() ? nullptr : &*found;
}

Result<std::uint64_t> ZipArchive::payload(const ZipEntry& entry) const {
  TITAN_ASSIGN_OR_RETURN(const std::string header, read_text(*file_, entry.header, kLocalHeader));
  const std::uint64_t begin = entry.header + kLocalHeader + get_le(header, 26, 2) + get_le(header, 28, 2);
  if (get_le(header, 0, 4) != kLocalMark)
    return bad("entry " + entry.name + " has no local header at " + std::to_string(entry.header));
  if (get_le(header, 8, 2) != 0) return bad("entry " + entry.name + " is compressed in its local header");
  if (begin > offset_ + length_ || offset_ + length_ - begin < entry.bytes)
    return bad("entry " + entry.name + " runs over the archive's end");
  return begin;
}

Status ZipArchive::crc_error(const ZipEntry& entry, std::uint64_t payload, std::uint32_t found) const {
  return bad("entry " + entry.name + ", " + std::to_string(entry.bytes) + " bytes at offset " +
             std::to_string(payload) + ", does not match its CRC: expected " + std::to_string(entry.crc) + ", found " +
             std::to_string(found));
}

Result<std::string> ZipArchive::read(const ZipEntry& entry, std::uint64_t limit) const {
  if (entry.bytes > limit)
    return bad("entry " + entry.name + " has " + std::to_string(entry.bytes) + " bytes, at most " +
               std::to_string(limit) + " are read");
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t begin, payload(entry));
  TITAN_ASSIGN_OR_RETURN(std::string text, read_text(*file_, begin, entry.bytes));
  const std::uint32_t crc = crc32(0, std::as_bytes(std::span(text)));
  if (crc != entry.crc) return crc_error(entry, begin, crc);
  return text;
}

}  // namespace titan::convert
