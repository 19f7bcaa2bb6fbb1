#include "ckpt/ops/cat.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/lock/run_guard.h"
#include "ckpt/ops/convert_dtype.h"
#include "ckpt/ops/element.h"
#include "ckpt/read/range_reader.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/run/temporary.h"
#include "ckpt/store/destination.h"
#include "ckpt/store/parent_folder.h"

namespace titan::ckpt {

namespace {

constexpr std::size_t kWriteBytes = std::size_t{1} << 20;

const char* npy_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "<f4";
    case DType::kF16: return "<f2";
    case DType::kF64: return "<f8";
    case DType::kI64: return "<i8";
    case DType::kI32: return "<i4";
    case DType::kU8: return "|u1";
    case DType::kBF16: break;  // NumPy has no such type; the caller widens it
  }
  return "<f4";
}

struct Selection {
  TensorRow row;
  Slice slice;
};

/// Finds a tensor by its name or by "name[..]"; a name that itself ends in brackets has priority.
Result<Selection> select(const CheckpointReader& reader, const std::string& path, const std::string& typed) {
  const std::vector<TensorRow> rows = tensor_rows(reader.manifest());
  const auto find = [&](const std::string& name) {
    return std::find_if(rows.begin(), rows.end(), [&](const TensorRow& row) { return row.name == name; });
  };
  if (const auto found = find(typed); found != rows.end()) return Selection{*found, whole_slice(found->shape)};
  const auto [name, brackets] = split_slice(typed);
  if (const auto found = find(name); found != rows.end()) {
    TITAN_ASSIGN_OR_RETURN(Slice slice, parse_slice(brackets, found->shape));
    return Selection{*found, std::move(slice)};
  }
  for (const std::string& wanted : {typed, name}) TITAN_RETURN_IF_ERROR(check_left_out(reader.left_out(), wanted));
  return not_found("tensor `" + name + "` is not in this checkpoint, which has " + std::to_string(rows.size()))
      .with_hint(no_match_hint(rows, name, path));
}

/// The elements [begin, end) of the selection as texts.
Result<std::vector<std::string>> values(RangeReader& reader, const Selection& selection, std::uint64_t begin,
                                        std::uint64_t end) {
  std::vector<std::string> texts;
  std::vector<std::byte> element(reader.element_size());
  for (std::uint64_t i = begin; i < end; ++i) {
    TITAN_RETURN_IF_ERROR(reader.read(selection.slice.source_index(i), element));
    texts.push_back(element_text(selection.row.dtype, element.data()));
  }
  return texts;
}

/// Calls `take` with the bytes of the selection in order, in parts of about 1 MiB or at most one leaf.
template <typename Take>
Status for_each_part(RangeReader& reader, const Slice& slice, Take take) {
  const std::uint64_t elements = slice.elements(), length = slice.run_length();
  std::vector<std::byte> part(std::min(reader.stride(), length) * reader.element_size());
  for (std::uint64_t i = 0; i < elements; i += length) {
    const std::uint64_t first = slice.source_index(i);
    for (std::uint64_t done = 0; done < length; done += reader.stride()) {
      const std::uint64_t count = std::min(reader.stride(), length - done);
      const std::span<std::byte> bytes = std::span(part).first(count * reader.element_size());
      TITAN_RETURN_IF_ERROR(reader.read(first + done, bytes));
      TITAN_RETURN_IF_ERROR(take(bytes));
    }
  }
  return ok_status();
}

Result<std::uint64_t> write_values(File& file, RangeReader& reader, const Selection& selection, DType out_dtype,
                                   const std::function<Status()>& pulse) {
  const std::string header = npy_header(out_dtype, selection.slice.shape());
  TITAN_RETURN_IF_ERROR(file.pwrite(0, std::as_bytes(std::span(header))));
  std::uint64_t offset = header.size();
  std::vector<std::byte> pending;  // short runs, collected for one write
  const auto flush = [&] {
    const Status status = file.pwrite(offset, pending);
    offset += pending.size();
    pending.clear();
    return status;
  };
  TITAN_RETURN_IF_ERROR(for_each_part(reader, selection.slice, [&](std::span<const std::byte> bytes) {
    TITAN_RETURN_IF_ERROR(pulse());
    if (out_dtype != selection.row.dtype)
      append_widened(bytes, pending);
    else
      pending.insert(pending.end(), bytes.begin(), bytes.end());
    return pending.size() < kWriteBytes ? ok_status() : flush();
  }));
  TITAN_RETURN_IF_ERROR(flush());
  TITAN_RETURN_IF_ERROR(file.datasync());
  TITAN_RETURN_IF_ERROR(file.close());
  return offset;
}

/// Writes into a temporary next to `out` and renames it, so that a reader sees the old file or the whole new one.
Result<std::uint64_t> write_npy(Fs& fs, const std::string& out, RangeReader& reader, const Selection& selection,
                                DType out_dtype, const CancelToken& cancel) {
  MadeFolder made(fs);
  TITAN_RETURN_IF_ERROR(check_output_file(fs, out));
  TITAN_ASSIGN_OR_RETURN(const Parent parent, find_parent(fs, out));
  TITAN_RETURN_IF_ERROR(made.make(parent));
  TITAN_ASSIGN_OR_RETURN(RunGuard runs, RunGuard::take(fs, parent_path(out), false));
  const auto pulse = [&]() -> Status {
    TITAN_RETURN_IF_ERROR(cancel.check());
    return runs.pulse();
  };
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Temporary> temporary, Temporary::take(fs, out));
  TITAN_RETURN_IF_ERROR(check_output_file(fs, out));  // again: a checkpoint may have appeared there
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, fs.create(temporary->fresh()));
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t written, write_values(*file, reader, selection, out_dtype, pulse));
  TITAN_RETURN_IF_ERROR(runs.still_ours());
  TITAN_RETURN_IF_ERROR(temporary->still_ours());
  TITAN_RETURN_IF_ERROR(fs.rename(temporary->fresh(), out));
  TITAN_RETURN_IF_ERROR(fs.sync_dir(parent_path(out)));
  return written;
}

}  // namespace

std::string npy_header(DType dtype, const std::vector<std::uint64_t>& shape) {
  std::string text = "{'descr': '" + std::string(npy_type(dtype)) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? " " : "") + std::to_string(shape[i]) + ",";
  if (shape.size() > 1) text.pop_back();  // only a tuple with one element ends in a comma
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
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader, options.open(fs, report.path));
  TITAN_ASSIGN_OR_RETURN(const Selection selection, select(reader, report.path, options.tensor));
  report.tensor = selection.row;
  report.slice = selection.slice;
  report.step = reader.manifest().step;
  report.id = reader.manifest().id;

  RangeReader elements(reader, selection.row.ref);
  report.elements = selection.slice.elements();
  const bool all = report.elements <= 2 * options.preview;
  const std::uint64_t head = all ? report.elements : options.preview;
  TITAN_ASSIGN_OR_RETURN(report.first, values(elements, selection, 0, head));
  if (!all) {
    TITAN_ASSIGN_OR_RETURN(report.last,
                           values(elements, selection, report.elements - options.preview, report.elements));
  }

  const DType dtype = selection.row.dtype;
  report.out_dtype = dtype == DType::kBF16 ? DType::kF32 : dtype;
  if (!options.out.empty()) {
    TITAN_ASSIGN_OR_RETURN(report.out_bytes,
                           write_npy(fs, options.out, elements, selection, report.out_dtype, options.cancel));
    report.out = options.out;
  }
  return report;
}

}  // namespace titan::ckpt
