#include "ckpt/ops/cat.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "ckpt/base/nearest.h"
#include "ckpt/io/reader.h"
#include "ckpt/io/run_folder.h"
#include "ckpt/ops/element.h"

namespace titan::ckpt {

namespace {

const char* npy_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "<f4";
    case DType::kF16: return "<f2";
    case DType::kF64: return "<f8";
    case DType::kI64: return "<i8";
    case DType::kI32: return "<i4";
    case DType::kU8: return "|u1";
    case DType::kBF16: break;  // NumPy has none; the caller widens
  }
  return "<f4";
}

Result<TensorRow> find_tensor(const Manifest& manifest, const std::string& name) {
  const std::vector<TensorRow> rows = tensor_rows(manifest);
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const TensorRow& row) { return row.name == name; });
  if (found != rows.end()) return *found;
  std::vector<std::string> names;
  for (const TensorRow& row : rows) names.push_back(row.name);
  const std::string suggestion = did_you_mean(name, names);
  return not_found("tensor `" + name + "` is not in this checkpoint, which has " + std::to_string(rows.size()))
      .with_hint(suggestion.empty() ? "`titan-ckpt inspect CKPT --tensors '*'` lists their names" : suggestion);
}

/// Reads single leaves of one tensor into a buffer that it keeps.
class LeafCursor {
 public:
  LeafCursor(const CheckpointReader& reader, const TensorRow& row)
      : reader_(reader), row_(row), grid_{element_count(row.shape), reader.manifest().leaf_elements} {}
  const LeafGrid& grid() const { return grid_; }
  Result<std::span<const std::byte>> load(std::uint64_t leaf) {
    buffer_.resize(grid_.length(leaf) * dtype_size(row_.dtype));
    TITAN_RETURN_IF_ERROR(reader_.read(row_.ref, {leaf, 1}, buffer_));
    return std::span<const std::byte>(buffer_);
  }

 private:
  const CheckpointReader& reader_;
  const TensorRow& row_;
  LeafGrid grid_;
  std::vector<std::byte> buffer_;
};

Result<std::vector<std::string>> values(LeafCursor& cursor, DType dtype, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::string> texts;
  const std::uint64_t size = dtype_size(dtype), leaf_elements = cursor.grid().leaf_elements;
  for (std::uint64_t element = begin; element < end;) {
    const std::uint64_t leaf = element / leaf_elements;
    TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, cursor.load(leaf));
    for (; element < std::min(end, cursor.grid().begin(leaf + 1)); ++element)
      texts.push_back(element_text(dtype, bytes.data() + (element - leaf * leaf_elements) * size));
  }
  return texts;
}

std::span<const std::byte> widened(std::span<const std::byte> bf16, std::vector<std::byte>& buffer) {
  buffer.assign(bf16.size() * 2, std::byte{0});
  // A bfloat16 is the upper half of a float.
  for (std::size_t i = 0; i + 1 < bf16.size(); i += 2) std::memcpy(&buffer[2 * i + 2], &bf16[i], 2);
  return buffer;
}

Result<std::uint64_t> write_leaves(File& file, LeafCursor& cursor, const TensorRow& row, DType out_dtype, const CancelToken& cancel) {
  const std::string header = npy_header(out_dtype, row.shape);
  TITAN_RETURN_IF_ERROR(file.pwrite(0, std::as_bytes(std::span(header))));
  std::uint64_t offset = header.size();
  std::vector<std::byte> buffer;
  for (std::uint64_t leaf = 0; leaf < cursor.grid().count(); ++leaf) {
    TITAN_RETURN_IF_ERROR(cancel.check());
    TITAN_ASSIGN_OR_RETURN(std::span<const std::byte> bytes, cursor.load(leaf));
    if (out_dtype != row.dtype) bytes = widened(bytes, buffer);
    TITAN_RETURN_IF_ERROR(file.pwrite(offset, bytes));
    offset += bytes.size();
  }
  TITAN_RETURN_IF_ERROR(file.datasync());
  TITAN_RETURN_IF_ERROR(file.close());
  return offset;
}

/// Writes beside `out` and renames, so that a reader sees the old file or the whole new one.
Result<std::uint64_t> write_npy(Fs& fs, const std::string& out, LeafCursor& cursor, const TensorRow& row, DType out_dtype,
                                const CancelToken& cancel) {
  if (const Result<FileInfo> there = fs.stat(out); there.ok() && there->type == FileType::kDirectory)
    return invalid(out + " is a folder, expected the name of a file to write");
  const std::string temporary = out + ".tmp-" + std::to_string(getpid());
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.create(temporary));
  Result<std::uint64_t> written = write_leaves(*file, cursor, row, out_dtype, cancel);
  Status status = written.ok() ? fs.rename(temporary, out) : written.status();
  if (!status.ok()) {
    (void)fs.remove_file(temporary);
    return status;
  }
  return written;
}

}  // namespace

std::string npy_header(DType dtype, const std::vector<std::uint64_t>& shape) {
  std::string text = "{'descr': '" + std::string(npy_type(dtype)) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? " " : "") + std::to_string(shape[i]) + ",";
  if (shape.size() > 1) text.pop_back();  // only a one-tuple needs its comma
  text += "), }";
  constexpr std::size_t kPrefix = 10;  // magic, version, length
  text.append((64 - (kPrefix + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

Result<CatReport> cat_tensor(Fs& fs, const CatOptions& options) {
  CatReport report;
  TITAN_ASSIGN_OR_RETURN(report.path, resolve_checkpoint(fs, options.checkpoint));
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::open(fs, report.path));
  TITAN_ASSIGN_OR_RETURN(report.tensor, find_tensor(reader.manifest(), options.tensor));
  report.step = reader.manifest().step;
  report.id = reader.manifest().id;

  LeafCursor cursor(reader, report.tensor);
  report.elements = cursor.grid().elements;
  const DType dtype = report.tensor.dtype;
  const bool all = report.elements <= 2 * options.preview;
  const std::uint64_t head = all ? report.elements : options.preview;
  TITAN_ASSIGN_OR_RETURN(report.first, values(cursor, dtype, 0, head));
  if (!all) {
    TITAN_ASSIGN_OR_RETURN(report.last, values(cursor, dtype, report.elements - options.preview, report.elements));
  }

  report.out_dtype = dtype == DType::kBF16 ? DType::kF32 : dtype;
  if (!options.out.empty()) {
    TITAN_ASSIGN_OR_RETURN(report.out_bytes, write_npy(fs, options.out, cursor, report.tensor, report.out_dtype, options.cancel));
    report.out = options.out;
  }
  return report;
}

}  // namespace titan::ckpt
