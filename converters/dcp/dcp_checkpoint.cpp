#include "converters/dcp/dcp_checkpoint.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "converters/dcp/parts.h"
#include "converters/dcp/shards.h"
#include "converters/hf/hf_checkpoint.h"

namespace titan::convert {
namespace dcp {

DcpCheckpoint::DcpCheckpoint(std::unique_ptr<DcpReader> reader)
    : ForeignCheckpoint(reader->path()), reader_(std::move(reader)) {
  for (const TensorEntry& entry : reader_->metadata().tensors) {
    const Result<DType> dtype = ckpt::parse_dtype(entry.dtype);
    if (!dtype.ok()) {
      others_.emplace_back(entry.name, entry.dtype);
      continue;
    }
    tensors_.push_back({entry.name, *dtype, entry.shape});
    entries_.push_back(&entry);
  }
}

Status DcpCheckpoint::read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const {
  return reader_->read(*entries_[tensor], first, out);
}

Result<ImportPlan> DcpCheckpoint::plan(const ImportOptions& options) const { return plan_dcp_import(*this, options); }

}  // namespace dcp

namespace {

class DcpFormat final : public Format {
 public:
  const char* name() const override { return "dcp"; }
  const char* title() const override { return "torch DCP (torchtitan)"; }
  Result<bool> probe(Fs& fs, const std::string& path) const override {
    const auto info = fs.stat(ckpt::join_path(path, dcp::kMetadataFile));
    if (info.ok() && info->type == ckpt::FileType::kFile) return true;
    if (!info.ok() && info.status().code != ckpt::Code::kNotFound) return info.status();
    // Also accepts a folder whose .metadata is missing: opening it gives the error that says so.
    const Result<std::vector<std::string>> parts = dcp::parts_of(fs, path);
    if (parts.status().code == ckpt::Code::kCorrupt) return true;
    TITAN_RETURN_IF_ERROR(parts.status());
    if (!parts->front().empty()) return true;
    TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, entries_of(fs, path));
    return std::ranges::any_of(entries, [](const ckpt::DirEntry& entry) {
      return entry.name.ends_with(dcp::kItemSuffix) || dcp::is_shard(entry.name);
    });
  }
  bool is_member(const std::string& name) const override {
    return name == dcp::kMetadataFile || name.ends_with(dcp::kItemSuffix) || is_companion(name);
  }
  Result<std::unique_ptr<ForeignCheckpoint>> open(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<dcp::DcpReader> reader, dcp::DcpReader::open(fs, path));
    return std::unique_ptr<ForeignCheckpoint>(std::make_unique<dcp::DcpCheckpoint>(std::move(reader)));
  }
  Result<std::unique_ptr<ForeignWriter>> create(Fs& fs, const CheckpointReader& source,
                                                const ExportOptions& options) const override {
    return dcp::create_dcp(fs, source, options);
  }
};

}  // namespace

const Format& dcp_format() {
  static const DcpFormat format;
  return format;
}

}  // namespace titan::convert
