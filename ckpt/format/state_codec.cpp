#include "ckpt/format/state_codec.h"

#include "ckpt/format/json_fields.h"
#include "ckpt/format/json_writer.h"

namespace titan::ckpt {
namespace {

PhaseKind read_kind(JsonReader& in) {
  const std::string_view text = in.text();
  for (const PhaseKind kind : {PhaseKind::kLinear, PhaseKind::kSqrt, PhaseKind::kCosine, PhaseKind::kConstant}) {
    if (phase_kind_name(kind) == text) return kind;
  }
  in.fail("unknown kind of phase '" + std::string(text) + "'");
  return PhaseKind::kConstant;
}

LrPhase read_phase(JsonReader& in) {
  LrPhase phase;
  read_object(in, "a phase", JsonField{"first", phase.first}, JsonField{"kind", [&] { phase.kind = read_kind(in); }},
              JsonField{"start", phase.start}, JsonField{"end", phase.end}, JsonField{"origin", phase.origin},
              JsonField{"length", phase.length});
  return phase;
}

LrSettings read_settings(JsonReader& in) {
  LrSettings settings;
  read_object(in, "accepted", JsonField{"peak", settings.peak}, JsonField{"warmup_steps", settings.warmup_steps},
              JsonField{"total_steps", settings.total_steps}, JsonField{"decay_ratio", settings.decay_ratio},
              JsonField{"decay_type", settings.decay_type}, JsonField{"min_lr_factor", settings.min_lr_factor});
  return settings;
}

DataFile read_data_file(JsonReader& in) {
  DataFile file;
  read_object(in, "a data file", JsonField{"name", file.name}, JsonField{"bytes", file.bytes},
              JsonField{"blocks", file.blocks});
  return file;
}

SampleRange read_sample_range(JsonReader& in) {
  SampleRange range;
  read_object(in, "a range of samples", JsonField{"first", range.first}, JsonField{"count", range.count});
  return range;
}

MixedSet read_mixed_set(JsonReader& in) {
  MixedSet set;
  read_object(in, "a set of the mixture", JsonField{"name", set.name}, JsonField{"share", set.share},
              JsonField{"samples", set.samples}, JsonField{"drawn", set.drawn}, JsonField{"most", set.most},
              JsonField{"stops", set.stops}, JsonField{"files", set.files},
              JsonField{"uncounted", set.uncounted, /*required=*/false});
  return set;
}

/// Why the sets of `position` cannot be those of a mixture; empty if they can.
std::string wrong_sets(const DataPosition& position) {
  constexpr std::uint64_t kAll = std::uint64_t{1} << 32, kMost = std::uint64_t{1} << 62;
  std::uint64_t shares = 0, samples = 0, files = 0;
  for (const MixedSet& set : position.sets) {
    if (set.share == 0 || set.share > kAll - shares) return "the shares of the mixture do not come to 2^32";
    if (set.samples == 0 || set.samples > kMost - samples) return "a set of the mixture has no possible size";
    if (set.drawn > kMost || set.most > kMost) return "a set of the mixture counts samples beyond 2^62";
    if (set.uncounted > set.drawn || (set.most != 0 && set.uncounted > set.most))
      return "a set of the mixture does not count more samples than it gave";
    if (set.files == 0 || set.files > position.files.size() - files)
      return "the sets do not have the files of the data";
    shares += set.share;
    samples += set.samples;
    files += set.files;
  }
  if (shares != kAll) return "the shares of the mixture do not come to 2^32";
  if (files != position.files.size()) return "the sets do not have the files of the data";
  if (samples != position.samples_per_epoch) return "an epoch has not the samples of the sets";
  return position.samples < position.epoch_base ? "the position is before its mixture" : "";
}

Attempt read_attempt(JsonReader& in) {
  Attempt attempt;
  read_object(in, "an attempt", JsonField{"number", attempt.number}, JsonField{"started", attempt.started},
              JsonField{"first_step", attempt.first_step}, JsonField{"last_step", attempt.last_step},
              JsonField{"dp", attempt.dp}, JsonField{"pp", attempt.pp}, JsonField{"schedule", attempt.schedule},
              JsonField{"version", attempt.version}, JsonField{"environment", attempt.environment},
              JsonField{"policy", attempt.policy}, JsonField{"changed", attempt.changed},
              JsonField{"notes", attempt.notes});
  return attempt;
}

template <typename T>
Result<T> finished(JsonReader& in, T value) {
  if (Status status = in.finish(); !status.ok()) return status;
  return value;
}

}  // namespace

std::string encode_lr_schedule(const LrSchedule& schedule) {
  JsonWriter out;
  out.begin().line().key("phases").begin_list();
  for (const LrPhase& phase : schedule.phases) {
    out.line().begin().members("first", phase.first, "kind", phase_kind_name(phase.kind), "start", phase.start);
    out.members("end", phase.end, "origin", phase.origin, "length", phase.length).end();
  }
  const LrSettings& accepted = schedule.accepted;
  out.line().end_list().line().key("accepted").begin();
  out.members("peak", accepted.peak, "warmup_steps", accepted.warmup_steps, "total_steps", accepted.total_steps);
  out.members("decay_ratio", accepted.decay_ratio, "decay_type", accepted.decay_type);
  out.members("min_lr_factor", accepted.min_lr_factor).end().line().end();
  return std::move(out).finish();
}

std::string encode_data_position(const DataPosition& position) {
  JsonWriter out;
  out.begin().lines("samples", position.samples, "epoch_base", position.epoch_base);
  out.lines("first_epoch", position.first_epoch, "seed", std::to_string(position.seed), "shuffle", position.shuffle);
  out.lines("seq_len", position.seq_len, "sample_stride", position.sample_stride);
  out.lines("samples_per_epoch", position.samples_per_epoch, "kind", position.kind, "tokenizer", position.tokenizer);
  out.line().key("files").begin_list();
  for (const DataFile& file : position.files)
    out.line().begin().members("name", file.name, "bytes", file.bytes, "blocks", file.blocks).end();
  out.line().end_list();
  if (!position.excluded.empty()) {
    out.line().key("excluded").begin_list();
    for (const SampleRange& range : position.excluded)
      out.begin().members("first", range.first, "count", range.count).end();
    out.end_list();
  }
  if (!position.sets.empty()) {
    out.line().key("sets").begin_list();
    for (const MixedSet& set : position.sets) {
      out.line().begin().members("name", set.name, "share", set.share, "samples", set.samples, "drawn", set.drawn);
      out.members("most", set.most, "stops", set.stops, "files", set.files);
      if (set.uncounted != 0) out.members("uncounted", set.uncounted);
      out.end();
    }
    out.line().end_list();
  }
  out.line().end();
  return std::move(out).finish();
}

std::string encode_train_state(const TrainState& state) {
  JsonWriter out;
  out.begin().lines("step", state.step, "tokens", state.tokens, "seed", std::to_string(state.seed));
  out.lines("origin", state.origin, "wall_time_s", state.wall_time_s).line().key("attempts").begin_list();
  for (const Attempt& attempt : state.attempts) {
    out.line().begin().members("number", attempt.number, "started", attempt.started);
    out.members("first_step", attempt.first_step, "last_step", attempt.last_step, "dp", attempt.dp, "pp", attempt.pp);
    out.members("schedule", attempt.schedule, "version", attempt.version, "environment", attempt.environment);
    out.members("policy", attempt.policy, "changed", attempt.changed, "notes", attempt.notes).end();
  }
  out.line().end_list().lines("accepted", state.accepted, "environment", state.environment).line().end();
  return std::move(out).finish();
}

Result<LrSchedule> decode_lr_schedule(const std::string& what, std::string_view text) {
  JsonReader in(what, text);
  LrSchedule schedule;
  const auto phases = [&] { in.array([&](std::size_t) { schedule.phases.push_back(read_phase(in)); }); };
  read_object(in, "the LR schedule", JsonField{"phases", phases},
              JsonField{"accepted", [&] { schedule.accepted = read_settings(in); }});
  for (std::size_t i = 1; i < schedule.phases.size(); ++i) {
    if (schedule.phases[i].first < schedule.phases[i - 1].first) in.fail("the first steps of the phases descend");
  }
  return finished(in, std::move(schedule));
}

Result<DataPosition> decode_data_position(const std::string& what, std::string_view text) {
  JsonReader in(what, text);
  DataPosition position;
  const auto files = [&] { in.array([&](std::size_t) { position.files.push_back(read_data_file(in)); }); };
  const auto excluded = [&] { in.array([&](std::size_t) { position.excluded.push_back(read_sample_range(in)); }); };
  const auto sets = [&] { in.array([&](std::size_t) { position.sets.push_back(read_mixed_set(in)); }); };
  read_object(in, "the data position", JsonField{"samples", position.samples},
              JsonField{"epoch_base", position.epoch_base}, JsonField{"first_epoch", position.first_epoch},
              JsonField{"seed", [&] { position.seed = in.u64_string(); }}, JsonField{"shuffle", position.shuffle},
              JsonField{"seq_len", position.seq_len}, JsonField{"sample_stride", position.sample_stride},
              JsonField{"samples_per_epoch", position.samples_per_epoch}, JsonField{"kind", position.kind},
              JsonField{"tokenizer", position.tokenizer}, JsonField{"files", files},
              JsonField{"excluded", excluded, /*required=*/false}, JsonField{"sets", sets, /*required=*/false});
  if (in.ok() &&
      (!is_in_order(position.excluded) || ahead_of(position.excluded, position.samples) != position.excluded))
    in.fail("the ranges of samples that are left out do not ascend from the position on");
  if (in.ok() && !position.sets.empty())
    if (const std::string wrong = wrong_sets(position); !wrong.empty()) in.fail(wrong);
  return finished(in, std::move(position));
}

Result<TrainState> decode_train_state(const std::string& what, std::string_view text) {
  JsonReader in(what, text);
  TrainState state;
  const auto attempts = [&] { in.array([&](std::size_t) { state.attempts.push_back(read_attempt(in)); }); };
  read_object(in, "the train state", JsonField{"step", state.step}, JsonField{"tokens", state.tokens},
              JsonField{"seed", [&] { state.seed = in.u64_string(); }}, JsonField{"origin", state.origin},
              JsonField{"wall_time_s", state.wall_time_s}, JsonField{"attempts", attempts},
              JsonField{"accepted", state.accepted}, JsonField{"environment", state.environment});
  return finished(in, std::move(state));
}

}  // namespace titan::ckpt
