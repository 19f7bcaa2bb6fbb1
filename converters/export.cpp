#include "converters/export.h"

#include "ckpt/base/path.h"
#include "converters/discard.h"

namespace titan::convert {

ckpt::ReplaceCheck replaceable_by(const Format& format) {
  return [&format](Fs& fs, const std::string& dst) -> Status {
    TITAN_ASSIGN_OR_RETURN(const ckpt::FileInfo info, fs.stat(dst));
    const bool is_file = info.type == ckpt::FileType::kFile;
    TITAN_ASSIGN_OR_RETURN(bool same, format.probe(fs, dst));
    same = same && is_file == format.is_one_file() && (!is_file || format.open(fs, dst).ok());
    if (same && is_file) return ckpt::ok_status();
    if (!same) {
      return ckpt::invalid(dst + " exists and is no checkpoint in the form of " + format.title() +
                           ": it is never replaced")
          .with_hint("choose another name, or move it away");
    }
    TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(dst));
    for (const ckpt::DirEntry& entry : entries) {
      if (!format.is_member(entry.name))
        return ckpt::invalid(dst + " also holds '" + entry.name + "': it is never replaced")
            .with_hint("choose another name, or move it away");
    }
    return ckpt::ok_status();
  };
}

Result<ConversionReport> export_checkpoint(Fs& fs, const Format& format, const CheckpointReader& source,
                                           ForeignWriter& writer, const ExportTarget& target,
                                           const Progress& progress) {
  ConversionReport report;
  report.source = source.path();
  report.destination = target.destination;
  report.from_format = "titan";
  report.to_format = format.name();
  report.dry_run = target.dry_run;
  report.step = source.manifest().step;
  report.bytes = writer.bytes();
  report.tensors = writer.report();
  report.notes = writer.notes();
  const auto add_rounding = [&] {
    if (report.count([](const TensorReport& tensor) { return tensor.cast(); }) > 0) report.rounding = writer.rounding();
  };
  if (target.dry_run) {
    TITAN_RETURN_IF_ERROR(
        ckpt::check_rewrite(fs, source.path(), target.destination, target.force, replaceable_by(format)));
    Discard nowhere(fs);
    TITAN_RETURN_IF_ERROR(writer.write(nowhere, target.destination, progress));
    add_rounding();
    return report;
  }
  TITAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ckpt::Rewrite> rewrite,
      ckpt::Rewrite::begin(fs, source.path(), target.destination, target.force, replaceable_by(format)));
  TITAN_RETURN_IF_ERROR(rewrite->need_space(writer.bytes()));
  TITAN_RETURN_IF_ERROR(writer.write(fs, rewrite->folder(), [&](std::uint64_t done, std::uint64_t total) -> Status {
    if (progress) TITAN_RETURN_IF_ERROR(progress(done, total));
    return rewrite->beat();
  }));
  add_rounding();
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(rewrite->folder()));
  for (const ckpt::DirEntry& entry : entries)
    report.files.push_back(format.is_one_file() ? ckpt::base_name(target.destination) : entry.name);
  TITAN_RETURN_IF_ERROR(format.is_one_file() ? rewrite->publish_file(entries.at(0).name) : rewrite->publish_folder());
  report.notes.insert(report.notes.end(), rewrite->warnings().begin(), rewrite->warnings().end());
  return report;
}

}  // namespace titan::convert
