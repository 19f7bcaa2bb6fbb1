#include "converters/import.h"

#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/save/component_writer.h"
#include "ckpt/save/rewrite.h"
#include "ckpt/store/parent_folder.h"
#include "converters/companions.h"
#include "converters/finite.h"
#include "converters/foreign_view.h"

namespace titan::convert {

using ckpt::Manifest;

namespace {

constexpr unsigned kThreads = 2;  // hash and write while the next leaf is read

// Reads the tensors of a plan and checks their values. If the plan has a run to resume, a NaN, an infinity or a
// negative second moment is an error. Otherwise only moments are checked, and `notes` gets the first bad value.
class Values {
 public:
  using Moved = std::function<Status(std::uint64_t bytes)>;
  Values(const ForeignCheckpoint& source, const ImportPlan& plan, std::vector<std::string>& notes, Moved moved)
      : source_(source), plan_(plan), reader_(source, plan), notes_(notes), moved_(std::move(moved)) {}

  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) {
    TITAN_RETURN_IF_ERROR(reader_.read(tensor, first, out));
    const TensorPlan& one = plan_.tensors[tensor];
    const bool looked_at = plan_.train || (!one.ref.slot.empty() && !said_);
    if (looked_at && dtype_of(source_, one) == DType::kF32) {
      const Status status = check_state(out, first, source_.tensors()[one.source].name, one.ref.slot, source_.path());
      if (!status.ok() && plan_.train) return status;
      if (!status.ok()) notes_.push_back(status.message + "; it is written as it is");
      said_ = said_ || !status.ok();
    }
    return moved_(out.size());
  }

  // Reads everything that a conversion would read, so that a dry run has the same outcome.
  Status read_all() {
    constexpr std::uint64_t kChunk = std::uint64_t{4} << 20;
    std::vector<std::byte> buffer;
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
      const std::uint64_t bytes = bytes_of(source_, plan_.tensors[i]),
                          size = ckpt::dtype_size(dtype_of(source_, plan_.tensors[i]));
      buffer.resize(std::max(buffer.size(), static_cast<std::size_t>(std::min(kChunk, bytes))));
      for (std::uint64_t at = 0; at < bytes; at += kChunk)
        TITAN_RETURN_IF_ERROR(read(i, at / size, std::span(buffer).first(std::min(kChunk, bytes - at))));
    }
    return {};
  }

 private:
  const ForeignCheckpoint& source_;
  const ImportPlan& plan_;
  const PlannedReader reader_;
  std::vector<std::string>& notes_;
  const Moved moved_;
  bool said_ = false;
};

// Moves the tensors of one component (those of the plan with indexes in `chosen`) into one shard.
Status write_tensors(Fs& fs, Values& values, const ImportPlan& plan, const std::vector<std::size_t>& chosen,
                     const char* component, const std::string& folder, Manifest& manifest) {
  std::vector<ckpt::TensorRef> refs;
  for (const std::size_t i : chosen) refs.push_back(plan.tensors[i].ref);
  const auto elements = [&](std::size_t tensor, std::uint64_t first,
                            std::span<std::byte> scratch) -> Result<std::span<const std::byte>> {
    TITAN_RETURN_IF_ERROR(values.read(chosen[tensor], first, scratch));
    return std::span<const std::byte>(scratch);
  };
  return ckpt::write_component(fs, folder, component, refs, elements, manifest, kThreads);
}

Status add_json(ckpt::Rewrite& rewrite, const char* component, const std::string& text,
                ckpt::ManifestBuilder& builder) {
  TITAN_RETURN_IF_ERROR(rewrite.write(ckpt::json_path(component), text));
  builder.put_json(component, text);
  return ckpt::ok_status();
}

ConversionReport begin_report(const Format& format, const ForeignCheckpoint& source, const ImportPlan& plan,
                              const ImportTarget& target) {
  ConversionReport report;
  report.source = source.path();
  report.destination = target.destination;
  report.from_format = format.name();
  report.to_format = "titan";
  report.dry_run = target.dry_run;
  report.step = plan.step;
  report.tensors = plan.report;
  report.notes = plan.notes;
  for (const TensorPlan& tensor : plan.tensors) report.bytes += bytes_of(source, tensor);
  return report;
}

// A checkpoint of another format is never replaced by a Titan checkpoint.
Status check_foreign_target(Fs& fs, const ForeignCheckpoint& source, const ImportTarget& target) {
  const Result<const Format*> found = detect_format(fs, target.destination);
  if (!found.ok()) return ckpt::as_wrong_path(found.status(), target.destination);
  const Format* there = *found;
  if (there == nullptr) return ckpt::ok_status();
  return ckpt::check_rewrite(fs, source.path(), target.destination, target.force, [&](Fs&, const std::string& dst) {
    return ckpt::invalid(dst + " exists and is a checkpoint in the form of " + there->title() +
                         ": --force replaces only what has the form of the new one")
        .with_hint("choose another name, or move it away");
  });
}

}  // namespace

Result<ConversionReport> import_checkpoint(Fs& fs, const Format& format, const ForeignCheckpoint& source,
                                           const ImportPlan& plan, const ImportTarget& target,
                                           const Progress& progress) {
  ConversionReport report = begin_report(format, source, plan, target);
  if (ckpt::hidden_from_resume(target.destination, plan.step) && plan.train)
    report.notes.push_back("a resume takes only folders named " + ckpt::step_name(plan.step));
  TITAN_RETURN_IF_ERROR(check_foreign_target(fs, source, target));
  if (target.dry_run) {
    TITAN_RETURN_IF_ERROR(ckpt::check_rewrite(fs, source.path(), target.destination, target.force));
    TITAN_RETURN_IF_ERROR(ckpt::check_step_name(target.destination, plan.step));
    std::uint64_t done = 0;
    Values values(source, plan, report.notes, [&](std::uint64_t bytes) -> Status {
      done += bytes;
      return progress ? progress(done, report.bytes) : Status{};
    });
    TITAN_RETURN_IF_ERROR(values.read_all());
    return report;
  }
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::Rewrite> rewrite,
                         ckpt::Rewrite::begin(fs, source.path(), target.destination, target.force));
  TITAN_RETURN_IF_ERROR(rewrite->need_space(report.bytes));
  Manifest manifest = frame_manifest(source, plan, target.leaf_elements);
  manifest.created = target.created;
  manifest.writer = target.writer;

  ckpt::ManifestBuilder builder(manifest);
  std::uint64_t done = 0;
  Values values(source, plan, report.notes, [&](std::uint64_t bytes) -> Status {
    done += bytes;
    if (progress) TITAN_RETURN_IF_ERROR(progress(done, report.bytes));
    return rewrite->beat();
  });
  for (const char* component : {ckpt::kModel, ckpt::kOptimizer}) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < plan.tensors.size(); ++i)
      if (plan.tensors[i].ref.slot.empty() == (component == std::string_view(ckpt::kModel))) chosen.push_back(i);
    if (chosen.empty()) continue;
    TITAN_RETURN_IF_ERROR(rewrite->make_folder_of(ckpt::shard_path(component, 0)));
    TITAN_RETURN_IF_ERROR(write_tensors(fs, values, plan, chosen, component, rewrite->folder(), manifest));
  }
  if (plan.lr)
    TITAN_RETURN_IF_ERROR(add_json(*rewrite, ckpt::kLrScheduler, ckpt::encode_lr_schedule(*plan.lr), builder));
  if (plan.data)
    TITAN_RETURN_IF_ERROR(add_json(*rewrite, ckpt::kDataloader, ckpt::encode_data_position(*plan.data), builder));
  if (plan.train)
    TITAN_RETURN_IF_ERROR(add_json(*rewrite, ckpt::kTrainState, ckpt::encode_train_state(*plan.train), builder));
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::FileEntry> companions,
                         take_companions(fs, plan.companions, rewrite->folder()));
  for (const ckpt::FileEntry& file : companions) builder.add_file(file);
  builder.seal({plan.lr.value_or(ckpt::LrSchedule()), plan.data.value_or(ckpt::DataPosition()),
                plan.train ? plan.train->tokens : 0});
  TITAN_RETURN_IF_ERROR(rewrite->publish(manifest));
  report.id = manifest.id;
  for (const ckpt::FileEntry& file : manifest.files) report.files.push_back(file.path);
  report.notes.insert(report.notes.end(), rewrite->warnings().begin(), rewrite->warnings().end());
  return report;
}

}  // namespace titan::convert
