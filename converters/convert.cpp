#include "converters/convert.h"

#include <algorithm>

#include "ckpt/base/nearest.h"
#include "ckpt/format/layout.h"
#include "ckpt/io/run_folder.h"
#include "converters/dcp/torchtitan.h"
#include "converters/model_config.h"

namespace titan::convert {
namespace {

constexpr const char* kTitan = "titan";

// nullptr stands for our own format.
Result<const Format*> source_format(Fs& fs, const std::string& path, const std::string& name) {
  if (name == kTitan) return static_cast<const Format*>(nullptr);
  if (!name.empty()) return find_format(name);
  return detect_format(fs, path);
}

Status no_checkpoint(const std::string& path) {
  std::string known = "Titan's checkpoints";
  for (const Format* format : formats()) known += std::string(", ") + format->title();
  return ckpt::not_found(path + ": no checkpoint of a format that is known here").with_hint("known are " + known + "; --from names one");
}

Result<const Format*> target_format(const Format* from, const std::string& name) {
  if (name == kTitan || (name.empty() && from != nullptr)) {
    if (from == nullptr) return ckpt::invalid("the source is in Titan's format already").with_hint("`titan-ckpt reshard` and `titan-ckpt strip` rewrite checkpoints");
    return static_cast<const Format*>(nullptr);
  }
  if (!name.empty()) return find_format(name);
  std::string known;
  for (const Format* format : formats()) known += (known.empty() ? "" : " or ") + std::string("--to ") + format->name();
  return ckpt::invalid("the format of the destination is missing").with_hint("give " + known);
}

Result<ConversionReport> import_from(Fs& fs, const Format& format, const std::string& path, const ConvertOptions& options) {
  if (options.dtype) return ckpt::unsupported("imports keep the elements' type").with_hint("`titan-ckpt strip --dtype` casts a checkpoint");
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ForeignCheckpoint> source, format.open(fs, path));
  TITAN_ASSIGN_OR_RETURN(const ImportPlan plan, source->plan({options.skip, options.config}));
  const ImportTarget target{.destination = options.destination, .force = options.force, .dry_run = options.dry_run, .created = options.created, .writer = options.writer};
  return import_checkpoint(fs, format, *source, plan, target, options.progress);
}

Result<CheckpointReader> open_source(Fs& fs, const Format* format, const std::string& path, const ConvertOptions& options) {
  if (format == nullptr) return CheckpointReader::open(fs, path);
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ForeignCheckpoint> source, format->open(fs, path));
  TITAN_ASSIGN_OR_RETURN(ImportPlan plan, source->plan({{}, options.config}));
  return view_checkpoint(*format, std::move(source), std::move(plan));
}

}  // namespace

Status check_config_key(const std::string& key) {
  std::vector<std::string> known = model_keys();
  for (std::string& other : dcp::torchtitan_keys()) known.push_back(std::move(other));
  if (std::ranges::find(known, key) != known.end()) return ckpt::ok_status();
  const std::string near = ckpt::did_you_mean(key, known);
  return ckpt::invalid("`" + key + "` is not a key that a conversion reads").with_hint(near.empty() ? "these are the model's, and those of a torchtitan configuration that shape a run" : near);
}

Result<ConversionReport> convert_checkpoint(Fs& fs, const ConvertOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const std::string path, ckpt::resolve_checkpoint(fs, options.source));
  TITAN_ASSIGN_OR_RETURN(const Format* from, source_format(fs, path, options.from));
  if (from == nullptr && !fs.stat(ckpt::join_path(path, ckpt::kManifestFile)).ok()) return no_checkpoint(path);
  TITAN_ASSIGN_OR_RETURN(const Format* to, target_format(from, options.to));
  if (to == nullptr) return import_from(fs, *from, path, options);
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader source, open_source(fs, from, path, options));
  ExportOptions settings;
  settings.skip = options.skip;
  settings.dtype = options.dtype;
  if (options.max_shard_bytes) settings.max_shard_bytes = *options.max_shard_bytes;
  settings.untie = options.untie;
  settings.lr_from_config = options.lr_from_config;
  settings.config = options.config;
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ForeignWriter> writer, to->create(fs, source, settings));
  const ExportTarget target{.destination = options.destination, .force = options.force, .dry_run = options.dry_run};
  TITAN_ASSIGN_OR_RETURN(ConversionReport report, export_checkpoint(fs, *to, source, *writer, target, options.progress));
  if (from != nullptr) report.from_format = from->name();
  return report;
}

}  // namespace titan::convert
