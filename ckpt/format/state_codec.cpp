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
  const auto ratio = [&] {
    if (!in.null()) settings.decay_ratio = in.real();
  };
  read_object(in, "accepted", JsonField{"peak", settings.peak}, JsonField{"warmup_steps", settings.warmup_steps},
              JsonField{"total_steps", settings.total_steps}, JsonField{"decay_ratio", ratio},
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
    out.line().begin().key("first").value(phase.first).key("kind").value(phase_kind_name(phase.kind));
    out.key("start").value(phase.start).key("end").value(phase.end);
    out.key("origin").value(phase.origin).key("length").value(phase.length).end();
  }
  const LrSettings& accepted = schedule.accepted;
  out.line().end_list().line().key("accepted").begin().key("peak").value(accepted.peak);
  out.key("warmup_steps")
      .value(accepted.warmup_steps)
      .key("total_steps")
      .value(accepted.total_steps)
      .key("decay_ratio");
  if (accepted.decay_ratio) {
    out.value(*accepted.decay_ratio);
  } else {
    out.null();
  }
  out.key("decay_type").value(accepted.decay_type).key("min_lr_factor").value(accepted.min_lr_factor).end();
  out.line().end();
  return std::move(out).finish();
}

std::string encode_data_position(const DataPosition& position) {
  JsonWriter out;
  out.begin().line().key("samples").value(position.samples).line().key("epoch_base").value(position.epoch_base);
  out.line().key("first_epoch").value(position.first_epoch).line().key("seed").value(std::to_string(position.seed));
  out.line().key("shuffle").value(position.shuffle).line().key("seq_len").value(position.seq_len);
  out.line().key("sample_stride").value(position.sample_stride);
  out.line().key("samples_per_epoch").value(position.samples_per_epoch);
  out.line().key("kind").value(position.kind).line().key("tokenizer").value(position.tokenizer);
  out.line().key("files").begin_list();
  for (const DataFile& file : position.files)
    out.line()
        .begin()
        .key("name")
        .value(file.name)
        .key("bytes")
        .value(file.bytes)
        .key("blocks")
        .value(file.blocks)
        .end();
  out.line().end_list();
  if (!position.excluded.empty()) {
    out.line().key("excluded").begin_list();
    for (const SampleRange& range : position.excluded)
      out.begin().key("first").value(range.first).key("count").value(range.count).end();
    out.end_list();
  }
  out.line().end();
  return std::move(out).finish();
}

std::string encode_train_state(const TrainState& state) {
  JsonWriter out;
  out.begin().line().key("step").value(state.step).line().key("tokens").value(state.tokens);
  out.line().key("seed").value(std::to_string(state.seed)).line().key("origin").value(state.origin);
  out.line().key("wall_time_s").value(state.wall_time_s).line().key("attempts").begin_list();
  for (const Attempt& attempt : state.attempts) {
    out.line().begin().key("number").value(attempt.number).key("started").value(attempt.started);
    out.key("first_step").value(attempt.first_step).key("last_step").value(attempt.last_step);
    out.key("dp").value(attempt.dp).key("pp").value(attempt.pp).key("schedule").value(attempt.schedule);
    out.key("version")
        .value(attempt.version)
        .key("environment")
        .value(attempt.environment)
        .key("policy")
        .value(attempt.policy);
    out.key("changed").string_list(attempt.changed).key("notes").string_list(attempt.notes).end();
  }
  out.line().end_list().line().key("accepted").string_map(state.accepted);
  out.line().key("environment").string_map(state.environment).line().end();
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
  read_object(in, "the data position", JsonField{"samples", position.samples},
              JsonField{"epoch_base", position.epoch_base}, JsonField{"first_epoch", position.first_epoch},
              JsonField{"seed", [&] { position.seed = in.u64_string(); }}, JsonField{"shuffle", position.shuffle},
              JsonField{"seq_len", position.seq_len}, JsonField{"sample_stride", position.sample_stride},
              JsonField{"samples_per_epoch", position.samples_per_epoch}, JsonField{"kind", position.kind},
              JsonField{"tokenizer", position.tokenizer}, JsonField{"files", files},
              JsonField{"excluded", excluded, /*required=*/false});
  if (in.ok() &&
      (!is_in_order(position.excluded) || ahead_of(position.excluded, position.samples) != position.excluded))
    in.fail("the ranges of samples that are left out do not ascend from the position on");
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
