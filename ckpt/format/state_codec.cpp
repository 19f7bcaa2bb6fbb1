#include "ckpt/format/state_codec.h"

#include "ckpt/format/json_reader.h"
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
  SeenKeys seen(in, "a phase");
  in.object([&](std::string_view key) {
    if (seen.is(key, 0, "first"))
      phase.first = in.u64();
    else if (seen.is(key, 1, "kind"))
      phase.kind = read_kind(in);
    else if (seen.is(key, 2, "start"))
      phase.start = in.real();
    else if (seen.is(key, 3, "end"))
      phase.end = in.real();
    else if (seen.is(key, 4, "origin"))
      phase.origin = in.real();
    else if (seen.is(key, 5, "length"))
      phase.length = in.real();
    else
      in.skip();
  });
  unsigned bit = 0;
  for (const char* name : {"first", "kind", "start", "end", "origin", "length"}) seen.require(bit++, name);
  return phase;
}

LrSettings read_settings(JsonReader& in) {
  LrSettings settings;
  SeenKeys seen(in, "accepted");
  in.object([&](std::string_view key) {
    if (seen.is(key, 0, "peak"))
      settings.peak = in.real();
    else if (seen.is(key, 1, "warmup_steps"))
      settings.warmup_steps = in.u64();
    else if (seen.is(key, 2, "total_steps"))
      settings.total_steps = in.u64();
    else if (seen.is(key, 3, "decay_ratio")) {
      if (!in.null()) settings.decay_ratio = in.real();
    } else if (seen.is(key, 4, "decay_type"))
      settings.decay_type = in.text();
    else if (seen.is(key, 5, "min_lr_factor"))
      settings.min_lr_factor = in.real();
    else
      in.skip();
  });
  unsigned bit = 0;
  for (const char* name : {"peak", "warmup_steps", "total_steps", "decay_ratio", "decay_type", "min_lr_factor"})
    seen.require(bit++, name);
  return settings;
}

DataFile read_data_file(JsonReader& in) {
  DataFile file;
  SeenKeys seen(in, "a data file");
  in.object([&](std::string_view key) {
    if (seen.is(key, 0, "name"))
      file.name = in.text();
    else if (seen.is(key, 1, "bytes"))
      file.bytes = in.u64();
    else if (seen.is(key, 2, "blocks"))
      file.blocks = in.digest();
    else
      in.skip();
  });
  unsigned bit = 0;
  for (const char* name : {"name", "bytes", "blocks"}) seen.require(bit++, name);
  return file;
}

Attempt read_attempt(JsonReader& in) {
  Attempt attempt;
  SeenKeys seen(in, "an attempt");
  in.object([&](std::string_view key) {
    if (seen.is(key, 0, "number"))
      attempt.number = in.u32();
    else if (seen.is(key, 1, "started"))
      attempt.started = in.text();
    else if (seen.is(key, 2, "first_step"))
      attempt.first_step = in.u64();
    else if (seen.is(key, 3, "last_step"))
      attempt.last_step = in.u64();
    else if (seen.is(key, 4, "dp"))
      attempt.dp = in.u32();
    else if (seen.is(key, 5, "pp"))
      attempt.pp = in.u32();
    else if (seen.is(key, 6, "schedule"))
      attempt.schedule = in.text();
    else if (seen.is(key, 7, "version"))
      attempt.version = in.text();
    else if (seen.is(key, 8, "environment"))
      attempt.environment = in.text();
    else if (seen.is(key, 9, "policy"))
      attempt.policy = in.text();
    else if (seen.is(key, 10, "changed"))
      attempt.changed = in.string_list();
    else if (seen.is(key, 11, "notes"))
      attempt.notes = in.string_list();
    else
      in.skip();
  });
  unsigned bit = 0;
  for (const char* name : {"number", "started", "first_step", "last_step", "dp", "pp", "schedule", "version",
                           "environment", "policy", "changed", "notes"}) {
    seen.require(bit++, name);
  }
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
  out.line().end_list().line().end();
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
  SeenKeys seen(in, "the LR schedule");
  in.object([&](std::string_view key) {
    if (seen.is(key, 0, "phases"))
      in.array([&](std::size_t) { schedule.phases.push_back(read_phase(in)); });
    else if (seen.is(key, 1, "accepted"))
      schedule.accepted = read_settings(in);
    else
      in.skip();
  });
  seen.require(0, "phases");
  seen.require(1, "accepted");
  for (std::size_t i = 1; i < schedule.phases.size(); ++i) {
    if (schedule.phases[i].first < schedule.phases[i - 1].first) in.fail("the first steps of the phases descend");
  }
  return finished(in, std::move(schedule));
}

Result<DataPosition> decode_data_position(const std::string& what, std::string_view text) {
  JsonReader in(what, text);
  DataPosition position;
  SeenKeys seen(in, "the data position");
  in.object([&](std::string_view key) {
    if (seen.is(key, 0, "samples"))
      position.samples = in.u64();
    else if (seen.is(key, 1, "epoch_base"))
      position.epoch_base = in.u64();
    else if (seen.is(key, 2, "first_epoch"))
      position.first_epoch = in.u64();
    else if (seen.is(key, 3, "seed"))
      position.seed = in.u64_string();
    else if (seen.is(key, 4, "shuffle"))
      position.shuffle = in.boolean();
    else if (seen.is(key, 5, "seq_len"))
      position.seq_len = in.u64();
    else if (seen.is(key, 6, "sample_stride"))
      position.sample_stride = in.u64();
    else if (seen.is(key, 7, "samples_per_epoch"))
      position.samples_per_epoch = in.u64();
    else if (seen.is(key, 8, "kind"))
      position.kind = in.text();
    else if (seen.is(key, 9, "tokenizer"))
      position.tokenizer = in.text();
    else if (seen.is(key, 10, "files"))
      in.array([&](std::size_t) { position.files.push_back(read_data_file(in)); });
    else
      in.skip();
  });
  unsigned bit = 0;
  for (const char* name : {"samples", "epoch_base", "first_epoch", "seed", "shuffle", "seq_len", "sample_stride",
                           "samples_per_epoch", "kind", "tokenizer", "files"}) {
    seen.require(bit++, name);
  }
  return finished(in, std::move(position));
}

Result<TrainState> decode_train_state(const std::string& what, std::string_view text) {
  JsonReader in(what, text);
  TrainState state;
  SeenKeys seen(in, "the train state");
  in.object([&](std::string_view key) {
    if (seen.is(key, 0, "step"))
      state.step = in.u64();
    else if (seen.is(key, 1, "tokens"))
      state.tokens = in.u64();
    else if (seen.is(key, 2, "seed"))
      state.seed = in.u64_string();
    else if (seen.is(key, 3, "origin"))
      state.origin = in.text();
    else if (seen.is(key, 4, "wall_time_s"))
      state.wall_time_s = in.real();
    else if (seen.is(key, 5, "attempts"))
      in.array([&](std::size_t) { state.attempts.push_back(read_attempt(in)); });
    else if (seen.is(key, 6, "accepted"))
      state.accepted = in.string_map();
    else if (seen.is(key, 7, "environment"))
      state.environment = in.string_map();
    else
      in.skip();
  });
  unsigned bit = 0;
  for (const char* name : {"step", "tokens", "seed", "origin", "wall_time_s", "attempts", "accepted", "environment"})
    seen.require(bit++, name);
  return finished(in, std::move(state));
}

}  // namespace titan::ckpt
