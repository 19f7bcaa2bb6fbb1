#include <algorithm>
#include <array>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/parity_file.h"
#include "converters/companions.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/metadata.h"
#include "converters/deepspeed/deepspeed_checkpoint.h"
#include "converters/format.h"
#include "converters/gguf/gguf_checkpoint.h"
#include "converters/list.h"
#include "converters/megatron/megatron_checkpoint.h"
#include "converters/mistral/mistral_format.h"
#include "converters/nanotron/nanotron_checkpoint.h"
#include "converters/other_programs.h"
#include "converters/trainer/trainer_checkpoint.h"
#include "converters/verl/verl_checkpoint.h"

namespace titan::convert {

ForeignWriter::ForeignWriter(const CheckpointReader& source, const ExportOptions& options)
    : source_(source), manifest_(source.manifest()), options_(options), skip_(options.skip) {}

std::span<const Format* const> formats() {
  static const std::array<const Format*, 8> all{&hf_format(),
                                                &megatron::megatron_format(),  // before DCP, because its files are also
                                                                               // a DCP directory
                                                &dcp_format(), &mistral_format(), &gguf_format(),
                                                &nanotron::nanotron_format(), &deepspeed::deepspeed_format(),
                                                &verl::verl_format()};
  return all;
}

Result<const Format*> find_format(const std::string& name) {
  std::string known = "titan";
  for (const Format* format : formats()) {
    if (name == format->name()) return format;
    known += std::string(", ") + format->name();
  }
  return ckpt::invalid("format `" + name + "` is not known, expected one of " + known);
}

Result<const Format*> detect_format(Fs& fs, const std::string& path) {
  const Format* none = nullptr;
  const Status manifest = fs.stat(ckpt::join_path(path, ckpt::kManifestFile)).status();
  if (manifest.ok()) return none;
  if (manifest.code != ckpt::Code::kNotFound) return manifest;
  if (const auto info = fs.stat(through_link(fs, path)); info.ok() && info->type == ckpt::FileType::kOther)
    return ckpt::not_found(path + " is neither a folder nor a regular file, expected a checkpoint");
  for (const Format* format : formats()) {
    TITAN_ASSIGN_OR_RETURN(const bool known, format->probe(fs, path));
    if (!known) continue;
    if (format != &hf_format()) return format;
    TITAN_ASSIGN_OR_RETURN(const bool metadata, is_file(fs, ckpt::join_path(path, dcp::kMetadataFile)));
    if (metadata)
      return ckpt::incompatible(path + " holds two checkpoints: " + hf_format().title() + ", and " +
                                dcp_format().title() + " (" + dcp::kMetadataFile + ")")
          .with_hint("move the one away that is not meant");
    return format;
  }
  return none;
}

Result<bool> is_file(Fs& fs, const std::string& path) {
  const auto info = fs.stat(through_link(fs, path));
  if (info.ok()) return info->type == ckpt::FileType::kFile;  // opening a pipe would hang
  if (info.status().code == ckpt::Code::kNotFound) return false;
  return info.status();
}

Result<std::vector<ckpt::DirEntry>> entries_of(Fs& fs, const std::string& path) {
  const auto info = fs.stat(through_link(fs, path));
  if (!info.ok() && info.status().code != ckpt::Code::kNotFound) return info.status();
  std::vector<ckpt::DirEntry> none;
  if (!info.ok() || info->type != ckpt::FileType::kDirectory) return none;
  Result<std::vector<ckpt::DirEntry>> entries = fs.list(path);
  if (entries.status().code == ckpt::Code::kNotFound) return none;
  return entries;
}

Status explained(Fs& fs, const std::string& path, const Status& absent) {
  if (absent.code != ckpt::Code::kNotFound) return absent;
  if (ckpt::has_parity(fs, path)) return ckpt::no_manifest(fs, path);
  TITAN_RETURN_IF_ERROR(check_other_programs(fs, path));
  for (const Format* format : formats()) TITAN_RETURN_IF_ERROR(format->near_miss(fs, path));
  if (resolve_any(fs, path + "@latest") == path + "@latest") return absent;
  const Status holds = ckpt::not_found(path + " holds checkpoints of another program, and is none itself");
  // accelerate's folder has one DCP directory for the model and one for the optimizer; no name contains a step.
  const Result<ckpt::ListReport> listed_there = list_any(fs, path);
  std::string names;
  if (listed_there.ok() && std::ranges::all_of(listed_there->steps, [](const auto& step) { return step.step == 0; }))
    for (const ckpt::ListedStep& step : listed_there->steps) names += (names.empty() ? "" : " or ") + step.path;
  return holds.with_hint(names.empty() ? "name a step: " + path + "@latest" : "give what is in it: " + names);
}

}  // namespace titan::convert
