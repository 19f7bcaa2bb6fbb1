// Keys with an effect, in the order of full.toml.
#include "recipe/keys/key_list.h"

namespace titan::recipe {
namespace {

#define TITAN_FIELD(path) [](Config& c) -> Slot { return &c.path; }

constexpr double kMaxCount = 1'000'000'000;  // micro-batches of a step are counted in 32 bits
constexpr double kMaxDim = 1'048'576;

Range at_least(double min) { return {.min = min}; }
Range at_least_or(double min, double also) { return {.min = min, .also = also}; }
Range between(double min, double max) { return {.min = min, .max = max}; }
Range count() { return between(1, kMaxCount); }
Range positive() { return {.min = 0, .open = true}; }
Range seconds() { return {.min = 0, .max = kMaxCount, .open = true}; }

Key flag(const char* name, KeyClass cls, Slot (*slot)(Config&), const char* doc) { return {name, cls, slot, doc}; }
Key number(const char* name, KeyClass cls, Slot (*slot)(Config&), Range range, const char* doc) {
  return {name, cls, slot, doc, range};
}
/// A key of which some values come later.
Key text(const char* name, KeyClass cls, Slot (*slot)(Config&), const char* doc, std::vector<std::string> choices = {},
         std::vector<std::string> later = {}, const char* hint = "", bool (*pass_over)(Config&, const Value&) = nullptr,
         const char* instead = "") {
  Key key{name, cls, slot, doc, {}, std::move(choices), std::move(later), {}, false, hint};
  key.pass_over = pass_over;
  key.instead = instead;
  return key;
}

// Of torchtitan's files: values that may be passed over (Key::pass_over).
bool always(Config&, const Value&) { return true; }
bool without_stages(Config& config, const Value&) { return config.parallelism.pipeline_parallel_degree == 1; }
bool names_a_corpus(Config& config, const Value& value) {
  config.training.corpus = *value.as<std::string>();
  return true;
}
/// A key of which "none" is a value that differs from unset.
Key with_none(Key key) {
  key.none_is_value = true;
  return key;
}

}  // namespace

std::vector<Key> own_keys() {
  using enum KeyClass;
  return {
      text("job.description", kLogging, TITAN_FIELD(job.description), "free text for people"),
      text("job.dump_folder", kSaving, TITAN_FIELD(job.dump_folder), "run folder: checkpoints, metrics, logs"),
      flag("job.print_config", kLogging, TITAN_FIELD(job.print_config),
           "print the resolved configuration at the start"),
      number("job.threads_per_rank", kEnvironment, TITAN_FIELD(job.threads_per_rank), between(0, 4096),
             "compute threads of a rank; 0: cores / local ranks at the first start, then what the checkpoint says"),

      text("model.name", kCurve, TITAN_FIELD(model.name), "model family", {"llama3"},
           {"llama4", "qwen3", "deepseek_v3", "gpt_oss", "flux"}),
      text("model.flavor", kCurve, TITAN_FIELD(model.flavor),
           "dimensions and RoPE of torchtitan's llama3 of that name; explicit keys below win; "
           "unset: debugmodel's dimensions, RoPE not scaled",
           {"debugmodel", "8B", "70B", "405B"},
           {"debugmodel_flex_attn", "debugmodel_varlen_attn", "8B_flex", "8B_varlen"}),
      text("model.tokenizer", kCurve, TITAN_FIELD(model.tokenizer),
           "\"byte\": 256 ids, one a byte; a tokenizer.json comes later", {"byte"}, {"*"}),
      number("model.dim", kCurve, TITAN_FIELD(model.dim), between(1, kMaxDim),
             "model dimension; unset: the loaded checkpoint's, else the flavour's"),
      number("model.n_layers", kCurve, TITAN_FIELD(model.n_layers), between(1, 100'000),
             "decoder layers; unset: the loaded checkpoint's, else the flavour's"),
      number("model.n_heads", kCurve, TITAN_FIELD(model.n_heads), between(1, kMaxDim),
             "query heads; unset: the loaded checkpoint's, else the flavour's"),
      number("model.n_kv_heads", kCurve, TITAN_FIELD(model.n_kv_heads), between(1, kMaxDim),
             "key and value heads; unset: the loaded checkpoint's, else the flavour's, or n_heads when that is given"),
      number("model.head_dim", kCurve, TITAN_FIELD(model.head_dim), between(2, kMaxDim),
             "even; unset: the loaded checkpoint's, else dim / n_heads"),
      number("model.ffn_dim", kCurve, TITAN_FIELD(model.ffn_dim), between(1, 16 * kMaxDim),
             "width of the feed-forward; unset: the loaded checkpoint's, else torchtitan's rule with the flavour's "
             "multiple_of and multiplier"),
      number("model.vocab_size", kCurve, TITAN_FIELD(model.vocab_size), between(1, 16 * kMaxDim),
             "token ids; the byte tokenizer uses 256; unset: the loaded checkpoint's, else the flavour's"),
      number("model.norm_eps", kCurve, TITAN_FIELD(model.norm_eps), positive(),
             "of RMSNorm; unset: the loaded checkpoint's, else the flavour's (1e-5)"),
      number("model.rope_theta", kCurve, TITAN_FIELD(model.rope_theta), positive(),
             "base of RoPE; unset: the loaded checkpoint's, else the flavour's (500000)"),
      with_none(
          text("model.rope_scaling", kCurve, TITAN_FIELD(model.rope_scaling),
               "\"llama3:FACTOR:LOW:HIGH:ORIGINAL\" stretches RoPE as Llama 3.1 and later do, \"none\" leaves it; "
               "unset: the loaded checkpoint's, else a given flavour's (\"llama3:8:1:4:8192\"), else \"none\"")),
      flag("model.tied_embeddings", kCurve, TITAN_FIELD(model.tied_embeddings),
           "the head uses the embedding's weight; unset: the loaded checkpoint's, else the flavour's (false)"),
      flag("model.qkv_bias", kCurve, TITAN_FIELD(model.qkv_bias),
           "the projections of queries, keys and values have a bias, as in Qwen2; unset: the loaded checkpoint's, else "
           "the flavour's (false)"),

      text("optimizer.name", kCurve, TITAN_FIELD(optimizer.name), "optimizer", {"AdamW"}, {"Adam"}),
      number("optimizer.lr", kCurve, TITAN_FIELD(optimizer.lr), between(0, 1e6), "peak learning rate"),
      number("optimizer.beta1", kCurve, TITAN_FIELD(optimizer.beta1), between(0, 0.9999999999),
             "decay of the first moment"),
      number("optimizer.beta2", kCurve, TITAN_FIELD(optimizer.beta2), between(0, 0.9999999999),
             "decay of the second moment"),
      number("optimizer.eps", kCurve, TITAN_FIELD(optimizer.eps), between(0, 1),
             "added to the root of the second moment"),
      number("optimizer.weight_decay", kCurve, TITAN_FIELD(optimizer.weight_decay), between(0, 1e6),
             "decoupled decay, on every parameter"),

      number("lr_scheduler.warmup_steps", kCurve, TITAN_FIELD(lr_scheduler.warmup_steps), at_least(0),
             "linear warm-up"),
      number("lr_scheduler.total_steps", kCurve, TITAN_FIELD(lr_scheduler.total_steps), at_least(1),
             "length of the curve; unset: training.steps; set it to pin the curve while training.steps changes"),
      number("lr_scheduler.decay_ratio", kCurve, TITAN_FIELD(lr_scheduler.decay_ratio), between(0, 1),
             "share of the curve that decays; unset: all after the warm-up"),
      text("lr_scheduler.decay_type", kCurve, TITAN_FIELD(lr_scheduler.decay_type), "shape of the decay",
           {"linear", "sqrt", "cosine"}),
      number("lr_scheduler.min_lr_factor", kCurve, TITAN_FIELD(lr_scheduler.min_lr_factor), between(0, 1),
             "floor, as a share of optimizer.lr"),
      text("lr_scheduler.on_change", kStart, TITAN_FIELD(lr_scheduler.on_change),
           "policy for an allowed change of the LR schedule; unset: such a change is refused with a preview of each",
           {"keep", "rescale", "extend", "rewarm", "config"}),
      text("lr_scheduler.rewarm_from", kStart, TITAN_FIELD(lr_scheduler.rewarm_from),
           "where the rewarm policy starts: the present learning rate, or zero", {"present", "zero"}),

      text("training.dataset", kCurve, TITAN_FIELD(training.dataset),
           "\"text\": UTF-8 files; \"tokens\": raw token ids of training.token_dtype", {"text", "tokens"},
           {"c4", "c4_test", "c4_validation"},
           "set training.dataset = \"text\" and training.dataset_path to your own files", names_a_corpus,
           "nothing is downloaded: the files of training.dataset_path are read as text"),
      text("training.dataset_path", kCurve, TITAN_FIELD(training.dataset_path),
           "a file, a folder (its files by name), or a comma-separated list; unset: an error at the start"),
      text("training.token_dtype", kCurve, TITAN_FIELD(training.token_dtype), "of raw token files, little-endian",
           {"uint16", "uint32"}),
      flag("training.shuffle", kCurve, TITAN_FIELD(training.shuffle), "permute the samples anew in each epoch"),
      number("training.sample_stride", kCurve, TITAN_FIELD(training.sample_stride), count(),
             "distance between the first tokens of two samples; unset: seq_len"),
      number("training.local_batch_size", kCurve, TITAN_FIELD(training.local_batch_size), count(),
             "sequences of a micro-batch (unless parallelism.pipeline_parallel_microbatch_size is given)"),
      number("training.global_batch_size", kCurve, TITAN_FIELD(training.global_batch_size), {1, kMaxCount, -1},
             "sequences per step; -1: local_batch_size x DP degree of the first start, then what the checkpoint says"),
      number("training.seq_len", kCurve, TITAN_FIELD(training.seq_len), between(1, 16 * kMaxDim),
             "tokens of a sequence"),
      number("training.steps", kCurve, TITAN_FIELD(training.steps), at_least(1),
             "last step; alone it shapes nothing while lr_scheduler.total_steps is set"),
      number("training.max_norm", kCurve, TITAN_FIELD(training.max_norm), at_least(0),
             "gradients are clipped to this global L2 norm; 0: never"),
      text("training.dtype", kCurve, TITAN_FIELD(training.dtype), "of parameters and optimizer state", {"float32"},
           {"bfloat16"}),
      text("training.mixed_precision_param", kCurve, TITAN_FIELD(training.mixed_precision_param), "compute dtype",
           {"bfloat16", "float32"}),
      text("training.mixed_precision_reduce", kCurve, TITAN_FIELD(training.mixed_precision_reduce),
           "dtype in which gradients are summed", {"float32"}, {"bfloat16"}),
      text("training.reduction", kCurve, TITAN_FIELD(training.reduction),
           "how gradients are summed: \"canonical\" gives the same bits on every layout", {"canonical"}, {"fast"}),
      text("training.device", kEnvironment, TITAN_FIELD(training.device), "where to compute", {"auto", "cpu"},
           {"cuda"}),

      number("parallelism.data_parallel_replicate_degree", kLayout,
             TITAN_FIELD(parallelism.data_parallel_replicate_degree), between(1, 1'000'000),
             "DP degree = replicate x shard"),
      number("parallelism.data_parallel_shard_degree", kLayout, TITAN_FIELD(parallelism.data_parallel_shard_degree),
             {1, 1'000'000, -1}, "-1: the ranks that the other degrees leave"),
      number("parallelism.pipeline_parallel_degree", kLayout, TITAN_FIELD(parallelism.pipeline_parallel_degree),
             between(1, 1'000'000), "pipeline stages"),
      text("parallelism.pipeline_parallel_schedule", kLayout, TITAN_FIELD(parallelism.pipeline_parallel_schedule),
           "order of work in the pipeline; does not change results", {"GPipe", "1F1B"},
           {"Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"}, "", without_stages),
      number("parallelism.pipeline_parallel_microbatch_size", kCurve,
             TITAN_FIELD(parallelism.pipeline_parallel_microbatch_size), count(),
             "sequences of a micro-batch on every layout; unset: training.local_batch_size"),
      text("parallelism.data_parallel_sharding", kLayout, TITAN_FIELD(parallelism.data_parallel_sharding),
           "what data-parallel ranks divide: \"zero1\", the optimizer state", {"zero1"}, {"none", "fsdp"}),

      flag("checkpoint.enable", kSaving, TITAN_FIELD(checkpoint.enable), "save and resume (torchtitan: false)"),
      text("checkpoint.folder", kSaving, TITAN_FIELD(checkpoint.folder), "below job.dump_folder"),
      number("checkpoint.interval", kSaving, TITAN_FIELD(checkpoint.interval), at_least(1), "steps between two saves"),
      number("checkpoint.keep_latest_k", kSaving, TITAN_FIELD(checkpoint.keep_latest_k), at_least(0),
             "published steps to keep; 0: all"),
      flag("checkpoint.enable_first_step_checkpoint", kSaving, TITAN_FIELD(checkpoint.enable_first_step_checkpoint),
           "also save step 1, to test the storage"),
      text("checkpoint.last_save_model_only", kSaving, TITAN_FIELD(checkpoint.last_save_model_only),
           "a last save with weights only cannot be resumed (torchtitan: true)", {}, {"true"},
           "set it to false: the last save is resumable", always, "the last save is complete"),
      text("checkpoint.compression", kSaving, TITAN_FIELD(checkpoint.compression),
           "of shard files; lossless, and no id depends on it", {"none", "zstd"}),
      flag("checkpoint.verify_compression", kSaving, TITAN_FIELD(checkpoint.verify_compression),
           "decode each compressed leaf and compare it before it is written"),
      text("checkpoint.on_save_error", kSaving, TITAN_FIELD(checkpoint.on_save_error),
           "a save that the store refuses (no space, quota, I/O error): \"stop\" ends the run; \"continue\" goes on "
           "and saves again at the next interval",
           {"stop", "continue"}),
      text("checkpoint.on_drift", kStart, TITAN_FIELD(checkpoint.on_drift),
           "what a resume does when a key that shapes the curve differs; \"policy\": training.steps, lr_scheduler.* "
           "and optimizer.lr follow lr_scheduler.on_change",
           {"error", "policy"}),
      text("checkpoint.on_read_error", kStart, TITAN_FIELD(checkpoint.on_read_error),
           "what a resume does when the store cannot give back a part of the newest step (EIO); \"fallback\": it "
           "passes over that step when a second reader meets the "
           "same, and leaves it as it is",
           {"stop", "fallback"}),
      number("checkpoint.load_step", kStart, TITAN_FIELD(checkpoint.load_step), at_least_or(1, -1),
             "step to resume from; -1: the newest valid one"),
      text("checkpoint.initial_load_path", kStart, TITAN_FIELD(checkpoint.initial_load_path),
           "checkpoint that a new run starts from (--init-from); the run's own steps come first; unset: none"),
      flag("checkpoint.initial_load_model_only", kStart, TITAN_FIELD(checkpoint.initial_load_model_only),
           "take the weights only from initial_load_path; false: everything, as --resume PATH"),
      text("checkpoint.initial_load_map", kStart, TITAN_FIELD(checkpoint.initial_load_map),
           "file with rules for initial_load_path (--init-map): skip = [..], create = [..], [rename] from = to; unset: "
           "names are the same"),
      text("checkpoint.exclude_from_loading", kStart, TITAN_FIELD(checkpoint.exclude_from_loading),
           "components that a resume starts anew, each once: zero moments, policy config, sample 0",
           {"optimizer", "lr_scheduler", "dataloader"}),
      number("checkpoint.io_timeout_seconds", kEnvironment, TITAN_FIELD(checkpoint.io_timeout_seconds), seconds(),
             "deadline of a collective during a save or a load"),

      flag("validation.enable", kLogging, TITAN_FIELD(validation.enable),
           "evaluate every validation.freq steps and at the end"),
      text("validation.dataset_path", kLogging, TITAN_FIELD(validation.dataset_path),
           "as training.dataset_path; unset: the tail held back from the training data"),
      number("validation.holdout", kCurve, TITAN_FIELD(validation.holdout), {0, 0.5, std::nullopt, true},
             "share of the token stream, at its end, that training never sees while validation is on without its own "
             "data"),
      number("validation.local_batch_size", kLogging, TITAN_FIELD(validation.local_batch_size), count(),
             "sequences evaluated at once"),
      number("validation.seq_len", kLogging, TITAN_FIELD(validation.seq_len), between(1, 16 * kMaxDim),
             "tokens of a sequence; unset: training.seq_len"),
      number("validation.freq", kLogging, TITAN_FIELD(validation.freq), at_least(1), "steps between two evaluations"),
      number("validation.steps", kLogging, TITAN_FIELD(validation.steps), at_least_or(1, -1),
             "batches per evaluation; -1: all"),

      number("metrics.log_freq", kLogging, TITAN_FIELD(metrics.log_freq), at_least(1),
             "steps between two console lines; metrics.jsonl always has every step"),
      flag("metrics.disable_color_printing", kLogging, TITAN_FIELD(metrics.disable_color_printing),
           "plain console lines"),

      number("comm.init_timeout_seconds", kEnvironment, TITAN_FIELD(comm.init_timeout_seconds), seconds(),
             "deadline for all ranks to arrive, and of the first step"),
      number("comm.train_timeout_seconds", kEnvironment, TITAN_FIELD(comm.train_timeout_seconds), seconds(),
             "deadline of a collective after the first step"),

      number("debug.seed", kCurve, TITAN_FIELD(debug.seed), at_least(0),
             "of initial weights and shuffling; unset: drawn once and stored"),
      number("debug.stop_at_step", kSaving, TITAN_FIELD(debug.stop_at_step), at_least(1),
             "save there and exit 75, without touching the schedule; unset: never"),
  };
}

#undef TITAN_FIELD

}  // namespace titan::recipe
