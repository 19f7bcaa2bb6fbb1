#pragma once
// A DCP directory, or a folder of safetensors shards (shards.h), as a foreign checkpoint.
#include <memory>
#include <string>
#include <vector>

#include "converters/dcp/reader.h"
#include "converters/format.h"

namespace titan::convert {

/// The format "dcp"; never destroyed.
const Format& dcp_format();

}  // namespace titan::convert

namespace titan::convert::dcp {

class DcpCheckpoint final : public ForeignCheckpoint {
 public:
  /// tensors() of this checkpoint are sorted by name. Tensors of an element type that Titan lacks are not among them:
  /// see others().
  explicit DcpCheckpoint(std::unique_ptr<DcpReader> reader);
  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const override;
  Result<ImportPlan> plan(const ImportOptions& options) const override;
  Result<ckpt::VerifyReport> verify(const Progress& progress) const override { return reader_->verify(progress); }

  const DcpReader& reader() const { return *reader_; }
  /// Names and element types of tensors whose element type Titan lacks.
  const std::vector<std::pair<std::string, std::string>>& others() const { return others_; }

 private:
  std::unique_ptr<DcpReader> reader_;
  std::vector<const TensorEntry*> entries_;  // one per tensor
  std::vector<std::pair<std::string, std::string>> others_;
};

/// Plans the import. \error see ForeignCheckpoint::plan
Result<ImportPlan> plan_dcp_import(const DcpCheckpoint& source, const ImportOptions& options);
/// Makes a writer for an export. \error see Format::create
Result<std::unique_ptr<ForeignWriter>> create_dcp(Fs& fs, const CheckpointReader& source, const ExportOptions& options);

}  // namespace titan::convert::dcp
