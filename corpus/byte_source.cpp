#include "corpus/byte_source.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/utf8.h"
#include "ckpt/store/named_file.h"

namespace titan::corpus {
namespace {

using ckpt::FileKind;
using ckpt::Result;
using ckpt::Status;

constexpr std::size_t kPacked = 128 << 10;  // compressed bytes of one read

class Called : public ByteSource {
 public:
  explicit Called(ReadBytes read) : read_(std::move(read)) {}
  Result<std::size_t> read(std::span<char> out) override { return read_(out); }

 private:
  ReadBytes read_;
};

/// First returns `beginning`, which was already read from `rest`; then reads `rest`.
class Resumed : public ByteSource {
 public:
  Resumed(std::string beginning, std::unique_ptr<ByteSource> rest)
      : beginning_(std::move(beginning)), rest_(std::move(rest)) {}
  Result<std::size_t> read(std::span<char> out) override {
    if (at_ == beginning_.size()) return rest_->read(out);
    const std::size_t count = std::min(out.size(), beginning_.size() - at_);
    std::memcpy(out.data(), beginning_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  std::string beginning_;
  std::size_t at_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

/// Common code for gzip and zstd: compressed bytes arrive in pieces, and a file may have several compressed streams.
class Unpacked : public ByteSource {
 public:
  Unpacked(std::string name, std::unique_ptr<ByteSource> packed)
      : name_(std::move(name)), packed_(std::move(packed)), buffer_(kPacked) {}

  Result<std::size_t> read(std::span<char> out) override {
    while (true) {
      if (begin_ == end_ && !last_) {
        TITAN_ASSIGN_OR_RETURN(end_, packed_->read(std::span(buffer_)));
        begin_ = 0;
        last_ = end_ == 0;
      }
      if (last_ && begin_ == end_ && between_) return std::size_t{0};
      TITAN_ASSIGN_OR_RETURN(const std::size_t made, unpack(out));
      if (made > 0) return made;
      if (last_ && !between_) return damaged("it is cut off");
    }
  }

 protected:
  /// Decompresses [begin_, end_) of buffer_ into `out` as far as possible, and sets between_ and begin_.
  virtual Result<std::size_t> unpack(std::span<char> out) = 0;
  Status damaged(const std::string& why) const { return ckpt::corrupt("'" + name_ + "' cannot be unpacked: " + why); }

  std::string name_;
  std::unique_ptr<ByteSource> packed_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  bool last_ = false;     // all compressed bytes have been read
  bool between_ = false;  // the last gzip member or zstd frame is complete: the input may end here
};

class Gunzipped : public Unpacked {
 public:
  using Unpacked::Unpacked;
  ~Gunzipped() override {
    if (open_) inflateEnd(&stream_);
  }

 private:
  Result<std::size_t> unpack(std::span<char> out) override {
    constexpr int kGzip = 16 + MAX_WBITS;
    if (!open_) {
      if (inflateInit2(&stream_, kGzip) != Z_OK) return ckpt::failed("out of memory");
      open_ = true;
    } else if (between_ && inflateReset(&stream_) != Z_OK) {
      return damaged("the next part cannot be begun");
    }
    between_ = false;
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data() + begin_);
    stream_.avail_in = static_cast<uInt>(end_ - begin_);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), 1u << 30));
    const uInt room = stream_.avail_out;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    begin_ = end_ - stream_.avail_in;
    if (result == Z_STREAM_END) {
      between_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return damaged(stream_.msg != nullptr ? stream_.msg : "its bytes make no sense");
    }
    return std::size_t{room - stream_.avail_out};
  }

  z_stream stream_{};
  bool open_ = false;
};

class Unzstd : public Unpacked {
 public:
  using Unpacked::Unpacked;
  ~Unzstd() override { ZSTD_freeDStream(stream_); }

 private:
  Result<std::size_t> unpack(std::span<char> out) override {
    if (stream_ == nullptr) stream_ = ZSTD_createDStream();
    if (stream_ == nullptr) return ckpt::failed("out of memory");
    ZSTD_inBuffer in{buffer_.data() + begin_, end_ - begin_, 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t result = ZSTD_decompressStream(stream_, &to, &in);
    if (ZSTD_isError(result)) return damaged(ZSTD_getErrorName(result));
    begin_ += in.pos;
    between_ = result == 0;
    return to.pos;
  }

  ZSTD_DStream* stream_ = nullptr;
};

/// `cut`: `beginning` is only the first part of the text.
bool begins_as_json_lines(std::string_view beginning, bool cut) {
  const std::size_t end = beginning.find('\n');
  std::string_view first = beginning.substr(0, end);
  if (first.ends_with('\r')) first.remove_suffix(1);
  return first.starts_with("{\"") && (first.ends_with('}') || (cut && end == std::string_view::npos));
}

bool begins_as_json(std::string_view beginning) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = beginning.find_first_not_of(kSpace);
  if (first == std::string_view::npos || (beginning[first] != '{' && beginning[first] != '[')) return false;
  const std::size_t second = beginning.find_first_not_of(kSpace, first + 1);
  if (second == std::string_view::npos) return false;
  return beginning[second] == '"' ||
         (beginning[first] == '[' && (beginning[second] == '{' || beginning[second] == '['));
}

Result<ExaminedSource> examine_bytes(std::unique_ptr<ByteSource> source) {
  std::string beginning(ckpt::kSignatureBytes, '\0');
  std::size_t size = 0;
  while (size < beginning.size()) {
    TITAN_ASSIGN_OR_RETURN(const std::size_t count, source->read(std::span(beginning).subspan(size)));
    if (count == 0) break;
    size += count;
  }
  beginning.resize(size);
  const FileKind kind = ckpt::file_kind(beginning);
  const bool marked = beginning.starts_with(ckpt::kByteOrderMark);
  const std::string_view shown = std::string_view(beginning).substr(marked ? ckpt::kByteOrderMark.size() : 0);
  const bool cut = beginning.size() == ckpt::kSignatureBytes;
  const bool json_lines = begins_as_json_lines(shown, cut), json = begins_as_json(shown);
  return ExaminedSource{std::make_unique<Resumed>(std::move(beginning), std::move(source)), kind, json_lines, marked,
                        json};
}

}  // namespace

std::unique_ptr<ByteSource> source_of(ReadBytes read) { return std::make_unique<Called>(std::move(read)); }

Result<std::unique_ptr<ByteSource>> file_source(ckpt::Fs& fs, const std::string& path) {
  auto opened = ckpt::open_target(fs, path);
  if (!opened.ok() && opened.status().code == ckpt::Code::kNotFound)
    return ckpt::invalid("'" + path + "' does not exist");
  if (!opened.ok()) return opened.status();
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, (*opened)->size());
  const std::shared_ptr<ckpt::File> file = std::move(*opened);
  return source_of([file, size, at = std::uint64_t{0}](std::span<char> out) mutable -> Result<std::size_t> {
    const std::size_t count = std::min<std::uint64_t>(out.size(), size - at);
    if (count > 0) TITAN_RETURN_IF_ERROR(file->pread(at, std::as_writable_bytes(out.first(count))));
    at += count;
    return count;
  });
}

Result<ExaminedSource> examine(const std::string& name, std::unique_ptr<ByteSource> source) {
  TITAN_ASSIGN_OR_RETURN(ExaminedSource looked, examine_bytes(std::move(source)));
  if (looked.kind == FileKind::kGzip) return examine_bytes(std::make_unique<Gunzipped>(name, std::move(looked.source)));
  if (looked.kind == FileKind::kZstd) return examine_bytes(std::make_unique<Unzstd>(name, std::move(looked.source)));
  return looked;
}

}  // namespace titan::corpus
