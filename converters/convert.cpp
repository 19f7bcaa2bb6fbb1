#include "converters/convert.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/nearest.h"
#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/read/ema.h"
#include "ckpt/run/run_resolve.h"
#include "converters/companions.h"
#include "converters/dcp/torchtitan.h"
#include "converters/foreign_view.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert {
namespace {

constexpr const char* kTitan = "titan";

// nullptr stands for Titan's own format.
Result<const Format*> source_format(Fs& fs, const std::string& path, const std::string& name) {
  if (name == kTitan) return static_cast<const Format*>(nullptr);
  if (!name.empty()) return find_format(name);
  return detect_format(fs, path);
}

Status no_checkpoint(Fs& fs, const std::string& path) {
  std::string known = "Titan's checkpoints";
  for (const Format* format : formats()) known += std::string(", ") + format->title();
  return explained(fs, path,
                   ckpt::not_found(path + ": no checkpoint of a format that is known here")
                       .with_hint("known are " + known + "; --from names one"));
}

Result<const Format*> target_format(const Format* from, const std::string& name) {
  if (name == kTitan || (name.empty() && from != nullptr)) {
    if (from == nullptr)
      return ckpt::invalid("the source is in Titan's format already")
          .with_hint("`titan-ckpt reshard` and `titan-ckpt strip` rewrite checkpoints");
    return static_cast<const Format*>(nullptr);
  }
  if (!name.empty()) return find_format(name);
  std::string known;
  for (const Format* format : formats())
    if (format->writes()) known += (known.empty() ? "" : " or ") + std::string("--to ") + format->name();
  return ckpt::invalid("the format of the destination is missing").with_hint("give " + known);
}

Result<ConversionReport> import_from(Fs& fs, const Format& format, const std::string& path,
                                     const ConvertOptions& options) {
  if (options.dtype)
    return ckpt::unsupported("imports keep the elements' type")
        .with_hint("`titan-ckpt strip --dtype` casts a checkpoint");
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ForeignCheckpoint> source, format.open(fs, path));
  TITAN_ASSIGN_OR_RETURN(
      const ImportPlan plan,
      source->plan({.skip = options.skip, .config = options.config, .widen = true, .rules = options.rules}));
  const ImportTarget target{.destination = options.destination,
                            .force = options.force,
                            .dry_run = options.dry_run,
                            .created = options.created,
                            .writer = options.writer};
  return import_checkpoint(fs, format, *source, plan, target, options.progress);
}

// Refuses flags that have no effect for the destination format.
Status check_flags(const Format* to, const ConvertOptions& options) {
  const std::string target = to == nullptr ? kTitan : to->name();
  const auto useless = [&](bool given, const char* flag, const char* where) {
    return given ? ckpt::invalid(std::string("`") + flag + "` has no effect with --to " + target)
                       .with_hint(std::string("it is for --to ") + where)
                 : ckpt::ok_status();
  };
  TITAN_RETURN_IF_ERROR(
      useless(options.untie && (to == nullptr || target == "nanotron"), "--untie", "hf, --to dcp and --to gguf"));
  TITAN_RETURN_IF_ERROR(useless(options.q8_0 && target != "gguf", "--dtype q8_0", "gguf"));
  TITAN_RETURN_IF_ERROR(useless(options.names && target != "dcp", "--names", "dcp"));
  TITAN_RETURN_IF_ERROR(useless(options.max_shard_bytes && target != "hf", "--max-shard-size", "hf"));
  return useless(options.lr_from_config && target != "dcp", "--lr-from-config", "dcp");
}

struct Source {
  CheckpointReader reader;
  std::vector<Companion> companions;
  std::vector<TensorReport> report;  // of the conversion into Titan's format, if the source is foreign
  std::vector<std::string> notes;
};

Result<Source> open_source(Fs& fs, const Format* format, const Format& to, const std::string& path,
                           const ConvertOptions& options) {
  if (format == nullptr) {
    TITAN_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::open(fs, path));
    if (options.averages) {
      TITAN_ASSIGN_OR_RETURN(reader, ckpt::averages_of(fs, std::move(reader)));
    }
    std::vector<Companion> companions = companions_of(reader);
    return Source{std::move(reader), std::move(companions), {}, {}};
  }
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ForeignCheckpoint> source, format->open(fs, path));
  TITAN_ASSIGN_OR_RETURN(ImportPlan plan,
                         source->plan({.skip = options.skip,
                                       .config = options.config,
                                       .comparison = {.torchtitan = to.name() == std::string_view("dcp") &&
                                                                    options.names != DcpNames::kHuggingface,
                                                      .untie = options.untie},
                                       .rules = options.rules}));
  std::vector<Companion> companions = plan.companions;
  std::vector<TensorReport> report = std::move(plan.report);
  // The notes of a run describe how titan-train resumes it, which does not apply to another format.
  std::vector<std::string> notes = plan.train ? std::vector<std::string>{} : std::move(plan.notes);
  return Source{view_checkpoint(*format, std::move(source), std::move(plan)), std::move(companions), std::move(report),
                std::move(notes)};
}

}  // namespace

Status check_config_key(const std::string& key) {
  std::vector<std::string> known = recipe::model_keys();
  known.insert(known.end(), dcp::torchtitan_keys().begin(), dcp::torchtitan_keys().end());
  if (std::ranges::find(known, recipe::canonical_name(key)) != known.end()) return ckpt::ok_status();
  const std::string near = ckpt::did_you_mean(key, known);
  return ckpt::invalid("`" + key + "` is not a key that a conversion reads")
      .with_hint(near.empty() ? "these are the model's, and those of a torchtitan configuration that shape a run"
                              : near);
}

Result<ConversionReport> convert_checkpoint(Fs& fs, const ConvertOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const std::string path, ckpt::resolve_checkpoint(fs, options.source));
  TITAN_ASSIGN_OR_RETURN(const Format* from, source_format(fs, path, options.from));
  if (from == nullptr && !fs.stat(ckpt::join_path(path, ckpt::kManifestFile)).ok()) return no_checkpoint(fs, path);
  TITAN_ASSIGN_OR_RETURN(const Format* to, target_format(from, options.to));
  TITAN_RETURN_IF_ERROR(check_flags(to, options));
  if (from != nullptr && options.averages)
    return ckpt::invalid("`--ema` is for Titan checkpoints, and " + path + " is of another format");
  if (from == nullptr && !options.rules.empty())
    return ckpt::invalid("`--rename` and `--rows` are for names of other programs, and " + path + " has Titan's")
        .with_hint("`--skip` also leaves out tensors of Titan checkpoints");
  if (to == nullptr) return import_from(fs, *from, path, options);
  TITAN_ASSIGN_OR_RETURN(const Source opened, open_source(fs, from, *to, path, options));
  const CheckpointReader& source = opened.reader;
  ExportOptions settings;
  settings.companions = opened.companions;
  if (from == nullptr) settings.skip = options.skip;  // patterns are over the names of the source
  settings.dtype = options.dtype;
  settings.q8_0 = options.q8_0;
  if (options.max_shard_bytes) settings.max_shard_bytes = *options.max_shard_bytes;
  settings.untie = options.untie;
  settings.lr_from_config = options.lr_from_config;
  settings.names = options.names.value_or(DcpNames::kTorchtitan);
  settings.config = options.config;
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ForeignWriter> writer, to->create(fs, source, settings));
  const ExportTarget target{.destination = options.destination, .force = options.force, .dry_run = options.dry_run};
  TITAN_ASSIGN_OR_RETURN(ConversionReport report,
                         export_checkpoint(fs, *to, source, *writer, target, options.progress));
  if (from != nullptr) {
    report.from_format = from->name();
    report.tensors = joined(opened.report, report.tensors);
    report.notes.insert(report.notes.begin(), opened.notes.begin(), opened.notes.end());
  }
  return report;
}

}  // namespace titan::convert
