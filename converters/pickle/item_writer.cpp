#include "converters/pickle/item_writer.h"

#include <algorithm>
#include <utility>

#include "ckpt/base/fs.h"
#include "ckpt/base/hash.h"
#include "ckpt/model/leaf.h"
#include "converters/little_endian.h"
#include "converters/pickle/crc32.h"
#include "converters/pickle/pickle_writer.h"
#include "converters/pickle/zip.h"

namespace titan::convert {
namespace {

constexpr std::uint64_t kWriteBlock = 1u << 20;
constexpr std::uint64_t kAlignment = 64, kLocalHeaderBytes = 30, kBig = 0xffffffff;
constexpr std::uint64_t kZipFlags = 0x0808;  // flags: sizes follow the data; names are UTF-8
constexpr char kZero = 0;

// Writes one archive. Local headers have no CRC and no sizes: these follow each payload, so nothing is written twice.
class ZipStream {
 public:
  explicit ZipStream(AppendFile& file) : file_(file), begin_(file.size()) {}

  Status begin(const std::string& name) {
    rows_.push_back({"archive/" + name, file_.size() - begin_, 0, 0});
    const std::uint64_t name_bytes = rows_.back().name.size();
    // A padding field makes payloads begin at multiples of 64 from the start of the archive.
    const std::uint64_t padding =
        (kAlignment - (rows_.back().header + kLocalHeaderBytes + name_bytes + 4) % kAlignment) % kAlignment;
    std::string out = "PK\3\4";
    put_le(out, 0, 2);  // version
    put_le(out, kZipFlags, 2);
    out.append(2 + 4 + 12, kZero);  // method "stored", no time, no CRC and sizes (they follow the data)
    put_le(out, name_bytes, 2);
    put_le(out, padding + 4, 2);
    out += rows_.back().name + "FB";
    put_le(out, padding, 2);
    out.append(padding, 'Z');
    return file_.append(out);
  }
  Status write(std::span<const std::byte> bytes) {
    count(bytes);
    return file_.append(bytes);
  }
  Status write(std::uint64_t bytes, const FillBytes& fill) {
    TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> filled, file_.append(bytes, fill));
    count(filled);
    return {};
  }
  Status end() {
    const Row& row = rows_.back();
    std::string out = "PK\7\10";
    put_le(out, row.crc, 4);
    put_le(out, row.bytes, row.bytes >= kBig ? 8 : 4);
    put_le(out, row.bytes, row.bytes >= kBig ? 8 : 4);
    return file_.append(out);
  }
  Status add(const std::string& name, std::string_view text) {
    TITAN_RETURN_IF_ERROR(begin(name));
    TITAN_RETURN_IF_ERROR(write(std::as_bytes(std::span(text.data(), text.size()))));
    return end();
  }
  // 40 digits that differ between archives, as torch writes them; no reader uses them.
  std::string serialization_id() const {
    ckpt::IdentityEncoder encoder;
    for (const Row& row : rows_) {
      encoder.str(row.name);
      encoder.u64(row.crc);
    }
    std::string digits;
    for (const std::uint8_t byte : encoder.finish().bytes) digits += std::to_string(1000 + byte).substr(1);
    return digits.substr(0, 40);
  }
  Result<ItemRange> finish() {
    const std::uint64_t directory = file_.size() - begin_;
    std::string out;
    for (const Row& row : rows_) append_row(out, row);
    const std::uint64_t bytes = out.size(), record = directory + bytes;
    out += "PK\6\6";
    put_le(out, 44, 8);
    put_le(out, 0x031e, 2);
    put_le(out, 45, 2);
    put_le(out, 0, 8);  // disk numbers
    put_le(out, rows_.size(), 8);
    put_le(out, rows_.size(), 8);
    put_le(out, bytes, 8);
    put_le(out, directory, 8);
    out += "PK\6\7";
    put_le(out, 0, 4);
    put_le(out, record, 8);
    put_le(out, 1, 4);
    out += "PK\5\6";
    put_le(out, 0, 4);
    put_le(out, rows_.size(), 2);
    put_le(out, rows_.size(), 2);
    put_le(out, std::min(bytes, kBig), 4);
    put_le(out, std::min(directory, kBig), 4);
    put_le(out, 0, 2);
    TITAN_RETURN_IF_ERROR(file_.append(out));
    return ItemRange{begin_, file_.size() - begin_};
  }

 private:
  struct Row {
    std::string name;
    std::uint64_t header = 0, bytes = 0;
    std::uint32_t crc = 0;
  };

  void count(std::span<const std::byte> bytes) {
    rows_.back().crc = crc32(rows_.back().crc, bytes);
    rows_.back().bytes += bytes.size();
  }

  static void append_row(std::string& out, const Row& row) {
    std::string extra;
    if (row.bytes >= kBig) {
      put_le(extra, row.bytes, 8);  // uncompressed
      put_le(extra, row.bytes, 8);  // compressed size: the same, because items are stored
    }
    if (row.header >= kBig) put_le(extra, row.header, 8);
    if (!extra.empty()) {
      std::string head;
      put_le(head, 1, 2);
      put_le(head, extra.size(), 2);
      extra = head + extra;
    }
    out += "PK\1\2";
    put_le(out, 0, 4);  // versions
    put_le(out, kZipFlags, 2);
    out.append(2 + 4, kZero);  // method "stored", no time
    put_le(out, row.crc, 4);
    put_le(out, std::min(row.bytes, kBig), 4);
    put_le(out, std::min(row.bytes, kBig), 4);
    put_le(out, row.name.size(), 2);
    put_le(out, extra.size(), 2);
    out.append(2 + 2 + 2 + 4, kZero);  // comment, disk, attributes
    put_le(out, std::min(row.header, kBig), 4);
    out += row.name + extra;
  }

  AppendFile& file_;
  std::uint64_t begin_;
  std::vector<Row> rows_;
};

Status before_storage(ZipStream& zip, const std::string& pickle) {
  TITAN_RETURN_IF_ERROR(zip.add("data.pkl", pickle));
  TITAN_RETURN_IF_ERROR(zip.add(".format_version", "1"));
  TITAN_RETURN_IF_ERROR(zip.add(".storage_alignment", "64"));
  return zip.add("byteorder", "little");
}

Result<ItemRange> after_storage(ZipStream& zip) {
  TITAN_RETURN_IF_ERROR(zip.add("version", "3\n"));
  TITAN_RETURN_IF_ERROR(zip.add(".data/serialization_id", zip.serialization_id()));
  return zip.finish();
}

std::string tensor_pickle(std::string_view dtype, const std::vector<std::uint64_t>& shape) {
  PickleWriter out(2);
  out.global("torch._utils", "_rebuild_tensor_v2");
  out.mark();
  out.mark();
  out.text("storage");
  out.global("torch", legacy_storage(dtype));
  out.text("0");
  out.text("cpu");
  out.integer(static_cast<std::int64_t>(ckpt::element_count(shape)));
  out.tuple(5);
  out.persistent();
  out.integer(0);
  out.integers(shape);
  std::vector<std::uint64_t> stride(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) stride[d - 1] = stride[d] * std::max<std::uint64_t>(shape[d], 1);
  out.integers(stride);
  out.boolean(false);
  out.global("collections", "OrderedDict");
  out.tuple(0);
  out.reduce();
  out.tuple(6);
  out.reduce();
  return std::move(out).finish();
}

}  // namespace

AppendFile::AppendFile(std::unique_ptr<ckpt::File> file) : file_(std::move(file)), behind_(*file_) {}
AppendFile::~AppendFile() = default;

Result<std::unique_ptr<AppendFile>> AppendFile::create(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ckpt::File> file, fs.create(path));
  return std::unique_ptr<AppendFile>(new AppendFile(std::move(file)));
}

// Makes room for `bytes` more in the block; writes the block out if it is too full.
Status AppendFile::reserve(std::uint64_t bytes) {
  if (bytes <= block_.size() - used_) return {};
  if (used_ > 0) {
    block_.resize(used_);
    behind_.put(begin_, std::move(block_));
    begin_ += std::exchange(used_, 0);
  }
  TITAN_ASSIGN_OR_RETURN(block_, behind_.take(std::max<std::uint64_t>(bytes, kWriteBlock)));
  return {};
}

Status AppendFile::append(std::span<const std::byte> bytes) {
  TITAN_RETURN_IF_ERROR(reserve(bytes.size()));
  std::ranges::copy(bytes, block_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ += bytes.size();
  return {};
}

Result<std::span<const std::byte>> AppendFile::append(std::uint64_t bytes, const FillBytes& fill) {
  TITAN_RETURN_IF_ERROR(reserve(bytes));
  const std::span<std::byte> out = std::span(block_).subspan(used_, bytes);
  TITAN_RETURN_IF_ERROR(fill(out));
  used_ += bytes;
  return std::span<const std::byte>(out);
}

Status AppendFile::finish() {
  block_.resize(used_);
  behind_.put(begin_, std::move(block_));
  TITAN_RETURN_IF_ERROR(behind_.finish());
  TITAN_RETURN_IF_ERROR(file_->datasync());
  return file_->close();
}

Result<ItemRange> append_value(AppendFile& file, const ItemValue& value) {
  ZipStream zip(file);
  PickleWriter pickle(2);
  pickle.value(value);
  TITAN_RETURN_IF_ERROR(before_storage(zip, std::move(pickle).finish()));
  return after_storage(zip);
}

Result<ItemRange> append_tensor(AppendFile& file, std::string_view dtype, const std::vector<std::uint64_t>& shape,
                                std::span<const std::byte> bytes) {
  return append_tensor(file, dtype, shape, [&](const PutBytes& put) {
    return put(bytes.size(), [&](std::span<std::byte> out) {
      std::ranges::copy(bytes, out.begin());
      return ckpt::ok_status();
    });
  });
}

Result<ItemRange> append_tensor(AppendFile& file, std::string_view dtype, const std::vector<std::uint64_t>& shape,
                                const TensorBytes& bytes) {
  ZipStream zip(file);
  const std::uint64_t expected = ckpt::element_count(shape) * torch_dtype_size(dtype);
  std::uint64_t written = 0;
  TITAN_RETURN_IF_ERROR(before_storage(zip, tensor_pickle(dtype, shape)));
  TITAN_RETURN_IF_ERROR(zip.begin("data/0"));
  TITAN_RETURN_IF_ERROR(bytes([&](std::uint64_t part, const FillBytes& fill) {
    written += part;
    return zip.write(part, fill);
  }));
  if (written != expected)
    return ckpt::failed("a tensor of " + std::to_string(expected) + " bytes was given " + std::to_string(written));
  TITAN_RETURN_IF_ERROR(zip.end());
  return after_storage(zip);
}

}  // namespace titan::convert
