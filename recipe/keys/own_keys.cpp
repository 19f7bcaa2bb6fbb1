// Keys with an effect, in the order of full.toml.
#include "recipe/keys/key_list.h"

namespace titan::recipe {
namespace {

// The name and the slot of a key, from the path of its member in Config.
#define TITAN_KEY(path) #path, [](Config & c) -> Slot { return &c.path; }

constexpr double kMaxCount = 1'000'000'000;  // limit of counts (micro-batches are counted in 32 bits) and seconds
constexpr double kMaxDim = 1'048'576;

Range at_least(double min) { return {.min = min}; }
Range at_least_or(double min, double also) { return {.min = min, .also = also}; }
Range between(double min, double max) { return {.min = min, .max = max}; }
Range count() { return between(1, kMaxCount); }
Range positive() { return {.min = 0, .open = true}; }
Range seconds() { return {.min = 0, .max = kMaxCount, .open = true}; }

Key key(const char* name, Slot (*slot)(Config&), KeyClass cls, const char* doc, KeyFacts facts = {}) {
  return {std::move(facts), name, cls, slot, doc};
}

bool names_a_corpus(Config& config, const Value& value) {
  config.training.corpus = *value.as<std::string>();
  return true;
}

// Keys are built on the stack, so they are listed in parts: one list of all keys overflows the initial stack of a
// process, which cannot grow if memory is limited.
[[gnu::noinline]] std::vector<Key> model_keys() {
  using enum KeyClass;
  using enum ChangeEffect;
  return {
      key(TITAN_KEY(job.description), kLogging, "free text for people"),
      key(TITAN_KEY(job.dump_folder), kSaving, "run folder: checkpoints, metrics, logs",
          {.of_machine = true, .aliases = {"dump_folder"}}),
      key(TITAN_KEY(job.print_config), kLogging, "print the resolved configuration at the start",
          {.aliases = {"debug.print_config", "job.print_args"}}),
      key(TITAN_KEY(job.threads_per_rank), kEnvironment,
          "compute threads of a rank; 0: cores / local ranks at the first start, then what the checkpoint says",
          {.range = between(0, 4096)}),

      key(TITAN_KEY(model.name), kCurve, "model family: whose flavours and defaults",
          {.choices = {"llama3", "qwen3"}, .later = {"llama4", "deepseek_v3", "gpt_oss", "flux"}}),
      key(TITAN_KEY(model.flavor), kCurve,
          "dimensions and RoPE of the model of that name in torchtitan's family; explicit keys below win; "
          "unset: debugmodel's dimensions, RoPE not scaled",
          {.choices = {"debugmodel", "0.6B", "1.7B", "4B", "8B", "14B", "32B", "70B", "405B"},
           .later = {"debugmodel_flex_attn", "debugmodel_varlen_attn", "8B_flex", "8B_varlen"},
           .acts_through = "model.*"}),
      key(TITAN_KEY(model.tokenizer), kCurve,
          "of training.dataset = \"text\"; \"byte\": 256 ids, one a byte; else a tokenizer.json, or the folder that "
          "holds it",
          {.allow_as = "training.dataset", .row_note = "the tokenizer's digest", .of_machine = true}),
      key(TITAN_KEY(model.hf_assets_path), kCurve,
          "the same folder, as torchtitan names it; while model.tokenizer is \"byte\"",
          {.acts_through = "model.tokenizer",
           .of_machine = true,
           .aliases = {"hf_assets_path", "model.tokenizer_path"}}),
      key(TITAN_KEY(model.dim), kCurve, "model dimension; unset: the loaded checkpoint's, else the flavour's",
          {.range = between(1, kMaxDim)}),
      key(TITAN_KEY(model.n_layers), kCurve, "decoder layers; unset: the loaded checkpoint's, else the flavour's",
          {.range = between(1, 100'000)}),
      key(TITAN_KEY(model.n_heads), kCurve, "query heads; unset: the loaded checkpoint's, else the flavour's",
          {.range = between(1, kMaxDim), .transfer = TransferRule::kNever}),
      key(TITAN_KEY(model.n_kv_heads), kCurve,
          "key and value heads; unset: the loaded checkpoint's, else the flavour's, or n_heads when that is given",
          {.range = between(1, kMaxDim), .transfer = TransferRule::kNever}),
      key(TITAN_KEY(model.head_dim), kCurve,
          "even; unset: the loaded checkpoint's, else dim / n_heads (llama3), or the flavour's (qwen3: 128)",
          {.range = between(2, kMaxDim), .transfer = TransferRule::kNever}),
      key(TITAN_KEY(model.ffn_dim), kCurve,
          "width of the feed-forward; unset: the loaded checkpoint's, else torchtitan's rule with the flavour's "
          "multiple_of and multiplier",
          {.range = between(1, 16 * kMaxDim)}),
      key(TITAN_KEY(model.vocab_size), kCurve,
          "token ids; the byte tokenizer uses 256; unset: the loaded checkpoint's, else the flavour's",
          {.range = between(1, 16 * kMaxDim)}),
      key(TITAN_KEY(model.norm_eps), kCurve, "of RMSNorm; unset: the loaded checkpoint's, else the flavour's (1e-5)",
          {.range = positive(), .transfer = TransferRule::kPermission}),
      key(TITAN_KEY(model.rope_theta), kCurve,
          "base of RoPE; unset: the loaded checkpoint's, else the flavour's (500000)",
          {.range = positive(), .transfer = TransferRule::kPermission}),
      key(TITAN_KEY(model.rope_scaling), kCurve,
          "\"llama3:8:1:4:8192\", \"yarn:4:32768\", \"linear:4\", \"dynamic:2:4096\", \"longrope:...\" stretch RoPE "
          "(docs/training.md), \"none\" leaves it; "
          "unset: the loaded checkpoint's, else a given llama3 flavour's (\"llama3:8:1:4:8192\"), else \"none\"",
          {.none_is_value = true, .transfer = TransferRule::kPermission}),
      key(TITAN_KEY(model.tied_embeddings), kCurve,
          "the head uses the embedding's weight; unset: the loaded checkpoint's, else the flavour's (false)"),
      key(TITAN_KEY(model.qkv_bias), kCurve,
          "the projections of queries, keys and values have a bias, as in Qwen2; unset: the loaded checkpoint's, else "
          "the flavour's (false)"),
      key(TITAN_KEY(model.qk_norm), kCurve,
          "queries and keys are normed within each head, before RoPE, as in Qwen3; unset: the loaded checkpoint's, "
          "else "
          "the flavour's (llama3: false, qwen3: true)"),
      key(TITAN_KEY(model.whole_qk_norm), kCurve,
          "those norms are over all heads of a token at once, as in OLMo 2; unset: the loaded checkpoint's, else false",
          {.row_if_set = true}),
      key(TITAN_KEY(model.post_norm), kCurve,
          "norms are of what comes out of attention and feed-forward, not of what goes in, as in OLMo 2; unset: the "
          "loaded checkpoint's, else false",
          {.row_if_set = true}),
      key(TITAN_KEY(model.n_experts), kCurve,
          "experts of each layer, each a feed-forward of width ffn_dim, as in Mixtral; 0: none; unset: the loaded "
          "checkpoint's, else 0",
          {.range = between(0, 65536), .row_if_set = true}),
      key(TITAN_KEY(model.experts_per_token), kCurve, "experts that a token takes; unset: the loaded checkpoint's",
          {.range = between(0, 65536), .transfer = TransferRule::kNever, .row_if_set = true}),
      key(TITAN_KEY(model.route_norm), kCurve,
          "the weights of a token's experts are divided by their sum, as in Mixtral; unset: the loaded checkpoint's, "
          "else false",
          {.transfer = TransferRule::kNever, .row_if_set = true}),
      key(TITAN_KEY(model.sliding_window), kCurve,
          "tokens that a token sees, itself included, as in Mistral 7B v0.1; 0: all before it; unset: the loaded "
          "checkpoint's, else 0",
          {.range = between(0, 2147483648.0), .transfer = TransferRule::kPermission, .row_if_set = true}),
      key(TITAN_KEY(model.sliding_window_layers), kCurve,
          "layers that have the window, from 0: \"all\", or \"0-3, 8\"; unset: the loaded checkpoint's, else \"all\"",
          {.transfer = TransferRule::kPermission, .row_if_set = true}),
  };
}

[[gnu::noinline]] std::vector<Key> training_keys() {
  using enum KeyClass;
  using enum ChangeEffect;
  return {
      key(TITAN_KEY(optimizer.name), kCurve, "optimizer", {.choices = {"AdamW"}, .later = {"Adam"}}),
      key(TITAN_KEY(optimizer.lr), kCurve, "peak learning rate", {.range = between(0, 1e6), .effect = kSchedule}),
      key(TITAN_KEY(optimizer.beta1), kCurve, "decay of the first moment",
          {.range = between(0, 0.9999999999), .effect = kInPlace}),
      key(TITAN_KEY(optimizer.beta2), kCurve, "decay of the second moment",
          {.range = between(0, 0.9999999999), .effect = kInPlace}),
      key(TITAN_KEY(optimizer.eps), kCurve, "added to the root of the second moment",
          {.range = between(0, 1), .effect = kInPlace}),
      key(TITAN_KEY(optimizer.weight_decay), kCurve, "decoupled decay, where optimizer.rules say nothing else",
          {.range = between(0, 1e6), .effect = kInPlace}),
      key(TITAN_KEY(optimizer.rules), kCurve,
          "other settings for parameters by name, the first that fits: [\"*norm* weight_decay=0\"], or "
          "[[optimizer.rules]] with pattern, weight_decay, lr_factor",
          {.effect = kInPlace, .row_note = "in one form"}),

      key(TITAN_KEY(lr_scheduler.warmup_steps), kCurve, "linear warm-up",
          {.range = at_least(0), .effect = kSchedule, .aliases = {"training.warmup_steps"}}),
      key(TITAN_KEY(lr_scheduler.total_steps), kCurve,
          "length of the curve; unset: training.steps; set it to pin the curve while training.steps changes",
          {.range = at_least(1), .effect = kSchedule, .unset_follows = "training.steps"}),
      key(TITAN_KEY(lr_scheduler.decay_ratio), kCurve, "share of the curve that decays; unset: all after the warm-up",
          {.range = between(0, 1), .effect = kSchedule}),
      key(TITAN_KEY(lr_scheduler.decay_type), kCurve, "shape of the decay",
          {.choices = {"linear", "sqrt", "cosine"}, .effect = kSchedule}),
      key(TITAN_KEY(lr_scheduler.min_lr_factor), kCurve, "floor, as a share of optimizer.lr",
          {.range = between(0, 1), .effect = kSchedule, .aliases = {"lr_scheduler.lr_min"}}),
      key(TITAN_KEY(lr_scheduler.on_change), kStart,
          "policy for an allowed change of the LR schedule; unset: such a change is refused with a preview of each",
          {.choices = {"keep", "rescale", "extend", "rewarm", "config"}}),
      key(TITAN_KEY(lr_scheduler.rewarm_from), kStart,
          "where the rewarm policy starts: the present learning rate, or zero", {.choices = {"present", "zero"}}),

      key(TITAN_KEY(training.dataset), kCurve,
          "\"text\": UTF-8 files; \"tokens\": raw token ids of training.token_dtype",
          {.choices = {"text", "tokens"},
           .later = {"c4", "c4_test", "c4_validation"},
           .hint = "set training.dataset = \"text\" and training.dataset_path to your own files",
           .pass_over = names_a_corpus,
           .instead = "nothing is downloaded: the files of training.dataset_path are read as text",
           .effect = kNewEpoch,
           .opens = {"training.dataset_path", "training.datasets", "training.token_dtype", "training.text_field",
                     "model.tokenizer"}}),
      key(TITAN_KEY(training.dataset_path), kCurve,
          "a file, a folder (its files by name), or a comma-separated list; unset: an error at the start",
          {.effect = kNewEpoch,
           .allow_as = "training.dataset",
           .opens = {"training.dataset", "training.datasets", "training.token_dtype", "training.text_field",
                     "model.tokenizer"},
           .row_note = "the files' sizes and contents",
           .of_machine = true}),
      key(TITAN_KEY(training.datasets), kCurve,
          "several sets in place of dataset_path: [[training.datasets]] with path, weight, epochs, exhausted, or "
          "\"path=FILE weight=0.7\" each (docs/data.md)",
          {.effect = kNewEpoch,
           .opens = {"training.dataset_path"},
           .row_note = "shares, ends and contents",
           .of_machine = true}),
      key(TITAN_KEY(training.token_dtype), kCurve, "of raw token files, little-endian",
          {.choices = {"uint16", "uint32"}, .effect = kNewEpoch, .allow_as = "training.dataset"}),
      key(TITAN_KEY(training.text_field), kCurve, "of a line of JSON lines: the member that is the text",
          {.effect = kNewEpoch, .allow_as = "training.dataset"}),
      key(TITAN_KEY(training.document_mask), kCurve,
          "the documents of a sample are kept apart: attention, positions, and no prediction across their ends",
          {.effect = kInPlace}),
      key(TITAN_KEY(training.pack), kCurve,
          "\"cut\": samples are cut from the stream; \"whole\": they hold whole documents, and what fills one up is "
          "not "
          "trained on",
          {.choices = {"cut", "whole"}, .effect = kNewEpoch}),
      key(TITAN_KEY(training.document_end), kCurve,
          "the id that ends a document in raw token files; unset: folders and indexes say where, any other file is one",
          {.range = between(0, 16 * kMaxDim), .effect = kInPlace}),
      key(TITAN_KEY(training.shuffle), kCurve, "permute the samples anew in each epoch", {.effect = kNewEpoch}),
      key(TITAN_KEY(training.sample_stride), kCurve, "distance between the first tokens of two samples; unset: seq_len",
          {.range = count(), .effect = kNewEpoch, .unset_follows = "training.seq_len"}),
      key(TITAN_KEY(training.local_batch_size), kCurve,
          "sequences of a micro-batch (unless parallelism.pipeline_parallel_microbatch_size is given)",
          {.range = count(),
           .effect = kInPlace,
           .row_note = "parallelism.pipeline_parallel_microbatch_size when that is given",
           .aliases = {"training.batch_size"}}),
      key(TITAN_KEY(training.global_batch_size), kCurve,
          "sequences per step; -1: local_batch_size x DP degree of the first start, then what the checkpoint says",
          {.range = {1, kMaxCount, -1}, .effect = kGlobalBatch, .row_note = "sequences per step"}),
      key(TITAN_KEY(training.seq_len), kCurve, "tokens of a sequence",
          {.range = between(1, 16 * kMaxDim),
           .effect = kNewEpoch,
           .opens = {"training.sample_stride"},
           .aliases = {"training.max_context_length"}}),
      key(TITAN_KEY(training.steps), kCurve, "last step; alone it shapes nothing while lr_scheduler.total_steps is set",
          {.range = at_least(1), .effect = kSchedule, .acts_through = "lr_scheduler.total_steps"}),
      key(TITAN_KEY(training.max_norm), kCurve, "gradients are clipped to this global norm; 0: never",
          {.range = at_least(0), .effect = kInPlace}),
      key(TITAN_KEY(training.norm_type), kCurve, "p of the norm that is clipped by and logged; inf: the largest value",
          {.range = {.min = 1, .max = 16, .also = std::numeric_limits<double>::infinity(), .whole = true},
           .effect = kInPlace}),
      key(TITAN_KEY(training.router_aux_loss), kCurve,
          "weight of the loss that balances the experts of a model that has some (docs/training.md); unset: that of "
          "the checkpoint that is resumed, else 0.001",
          {.range = between(0, 1e6), .effect = kInPlace, .row_if_set = true}),
      key(TITAN_KEY(training.ema), kCurve,
          "decay of an exponential average of the parameters, which is kept and saved beside them; 0: none",
          {.range = {.min = 0, .max = 0.9999999}, .effect = kInPlace}),
      key(TITAN_KEY(training.on_nonfinite), kSaving,
          "where loss or gradient norm is not finite: \"abort\"; \"skip\", leave its samples out and go on; "
          "\"rollback\", the same from the newest checkpoint",
          {.choices = {"abort", "skip", "rollback"}}),
      key(TITAN_KEY(training.max_skips), kSaving, "steps in a row that are skipped before the run stops",
          {.range = count()}),
      key(TITAN_KEY(training.max_rollbacks), kSaving, "times that a run goes back before it stops", {.range = count()}),
      key(TITAN_KEY(training.exclude_samples), kCurve,
          "samples that are left out, by their numbers since the start of the run: [\"32-39\", \"64\"]",
          {.effect = kInPlace, .row_note = "in order"}),
      key(TITAN_KEY(training.dtype), kCurve, "of parameters and optimizer state",
          {.choices = {"float32"}, .later = {"bfloat16"}}),
      key(TITAN_KEY(training.mixed_precision_param), kCurve, "compute dtype",
          {.choices = {"bfloat16", "float32"}, .effect = kInPlace}),
      key(TITAN_KEY(training.mixed_precision_reduce), kCurve, "dtype in which gradients are summed",
          {.choices = {"float32"}, .later = {"bfloat16"}}),
      key(TITAN_KEY(training.reduction), kCurve,
          "how gradients are summed: \"canonical\" gives the same bits on every layout",
          {.choices = {"canonical"}, .later = {"fast"}, .effect = kInPlace}),
      key(TITAN_KEY(training.device), kEnvironment,
          "where to compute; \"auto\": on GPUs where there is a driver, one a rank, else on the CPU",
          {.choices = {"auto", "cpu", "cuda"}, .later = {"rocm"}}),
      key(TITAN_KEY(training.attention), kEnvironment,
          "kernel of attention on a GPU, which decides bits; \"auto\": flash, in float32 math; cudnn needs "
          "debug.deterministic = false",
          {.choices = {"auto", "flash", "cudnn", "math"}}),
      key(TITAN_KEY(training.cpu_gemm), kEnvironment,
          "library of fp32 matrix products, which decides bits; \"auto\": what the checkpoint says, else "
          "onednn on AMD's family 26 (Zen 5) and later, mkl elsewhere",
          {.choices = {"auto", "mkl", "onednn"}}),
      key(TITAN_KEY(training.loss_chunk), kCurve,
          "tokens whose logits exist at once in the head and the loss; 0: those of the whole micro-batch",
          {.range = between(0, kMaxCount), .effect = kInPlace}),
  };
}

[[gnu::noinline]] std::vector<Key> layout_keys() {
  using enum KeyClass;
  using enum ChangeEffect;
  return {
      key(TITAN_KEY(parallelism.data_parallel_replicate_degree), kLayout, "DP degree = replicate x shard",
          {.range = between(1, 1'000'000)}),
      key(TITAN_KEY(parallelism.data_parallel_shard_degree), kLayout, "-1: the ranks that the other degrees leave",
          {.range = {1, 1'000'000, -1}}),
      key(TITAN_KEY(parallelism.pipeline_parallel_degree), kLayout, "pipeline stages",
          {.range = between(1, 1'000'000)}),
      key(TITAN_KEY(parallelism.pipeline_parallel_schedule), kLayout,
          "order of work in the pipeline; does not change results",
          {.choices = {"GPipe", "1F1B", "ZB-H1", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble",
                       "ZBVZeroBubble", "DualPipeV"},
           .other_choices = {"PipelineScheduleSingle", "PipelineScheduleMulti"},
           .any_case = true}),
      key(TITAN_KEY(parallelism.pipeline_parallel_schedule_csv), kLayout,
          "file with the order of work, a row of cells such as 0F1 per rank; the schedule (or PipelineScheduleSingle, "
          "PipelineScheduleMulti) says where stages lie",
          {.of_machine = true}),
      key(TITAN_KEY(parallelism.pipeline_parallel_layers_per_stage), kLayout,
          "layers of a stage, where a rank may have several: embedding and head count as one each; unset: two stages a "
          "rank",
          {.range = count()}),
      key(TITAN_KEY(parallelism.pipeline_parallel_layout), kLayout,
          "the stages as Megatron writes them: \"Et*3|t*4|t*3L\" (E embedding, t layer, L norm, head and loss); unset: "
          "cut "
          "by cost"),
      key(TITAN_KEY(parallelism.module_fqns_per_model_part), kLayout,
          "the stages as torchtitan writes them, the modules of each: [[\"tok_embeddings\", \"layers.0\"], "
          "[\"layers.1\", \"norm\", \"output\"]]",
          {.lists = true}),
      key(TITAN_KEY(parallelism.pipeline_parallel_first_stage_less_layers), kLayout,
          "layers are dealt out by number as torchtitan does, so many fewer to the first stage; unset: cut by cost",
          {.range = at_least(0)}),
      key(TITAN_KEY(parallelism.pipeline_parallel_last_stage_less_layers), kLayout, "the same for the last stage",
          {.range = at_least(0)}),
      key(TITAN_KEY(parallelism.stage_cost), kLayout,
          "what stages are cut by: \"flops\", \"params\", \"uniform\" (all parts alike), \"measured\" (by plan "
          "--measure), or "
          "\"embedding=0,layer=1,head=3.5\""),
      key(TITAN_KEY(parallelism.stage_pins), kLayout, "layers that must be on a stage: [\"layers.4=1\"]"),
      key(TITAN_KEY(parallelism.min_layers_per_stage), kLayout, "layers that each stage has at least",
          {.range = count()}),
      key(TITAN_KEY(parallelism.max_layers_per_stage), kLayout, "layers that each stage has at most",
          {.range = count()}),
      key(TITAN_KEY(parallelism.memory_limit), kLayout,
          "what plan's estimate of a rank's memory may come to, such as \"24GiB\"; stages are cut to fit; unset: "
          "anything"),
      key(TITAN_KEY(parallelism.pipeline_parallel_microbatch_size), kCurve,
          "sequences of a micro-batch on every layout; unset: training.local_batch_size",
          {.range = count(), .effect = kInPlace, .acts_through = "training.local_batch_size"}),
      key(TITAN_KEY(parallelism.data_parallel_sharding), kLayout,
          "what data-parallel ranks divide: \"zero1\", the optimizer state; \"zero2\", the sums of gradients as well",
          {.choices = {"zero1", "zero2"}, .later = {"none", "fsdp"}}),
      key(TITAN_KEY(parallelism.gradient_exchange), kLayout,
          "when data-parallel ranks exchange gradients: \"late\", after the last micro-batch; \"always\", after each; "
          "\"node\", after each within a node, at the end between them",
          {.choices = {"late", "node", "always"}}),
      key(TITAN_KEY(parallelism.exchange_parts), kLayout,
          "parts in which gradients and weights travel, each while the rank computes the next; 1: none does; 0: 1 on "
          "CPUs, by size on GPUs",
          {.range = between(0, 1024)}),

      key(TITAN_KEY(activation_checkpoint.mode), kLayout,
          "layers whose activations are computed again in the backward pass: \"none\", \"full\" (all) or \"selective\" "
          "(torchtitan: selective)",
          {.choices = {"none", "full", "selective"}, .later = {"memory_budget"}, .pass_over = always}),
      key(TITAN_KEY(activation_checkpoint.selective_ac_option), kLayout,
          "of mode \"selective\": \"n\", every n-th layer", {.later = {"op"}, .pass_over = always}),
  };
}

[[gnu::noinline]] std::vector<Key> saving_keys() {
  using enum KeyClass;
  using enum ChangeEffect;
  return {
      key(TITAN_KEY(checkpoint.enable), kSaving, "save and resume (torchtitan: false)",
          {.aliases = {"checkpoint.enable_checkpoint"}}),
      key(TITAN_KEY(checkpoint.folder), kSaving, "below job.dump_folder", {.of_machine = true}),
      key(TITAN_KEY(checkpoint.interval), kSaving,
          "steps between two saves, or time; \"continuous\": when the last one is durable; \"auto\": where saves and "
          "failures together cost least"),
      key(TITAN_KEY(checkpoint.mtbf_seconds), kSaving,
          "seconds between two failures of the whole job, on average; of the interval \"auto\"", {.range = seconds()}),
      key(TITAN_KEY(checkpoint.keep_latest_k), kSaving, "published steps to keep; 0: all", {.range = at_least(0)}),
      key(TITAN_KEY(checkpoint.keep_every), kSaving,
          "steps that this number divides are kept besides the latest; 0: no such steps", {.range = at_least(0)}),
      key(TITAN_KEY(checkpoint.keep_best), kSaving,
          "so many steps with the lowest validation loss are kept besides the latest; 0: none", {.range = at_least(0)}),
      key(TITAN_KEY(checkpoint.on_publish), kSaving,
          "shell command that rank 0 runs beside training after each publish, with TITAN_CHECKPOINT and TITAN_STEP; "
          "never "
          "stored; unset: none",
          {.of_machine = true}),
      key(TITAN_KEY(checkpoint.on_publish_timeout_seconds), kSaving,
          "a command of on_publish that takes longer is ended; so long an exit waits for it", {.range = seconds()}),
      key(TITAN_KEY(checkpoint.enable_first_step_checkpoint), kSaving, "also save step 1, to test the storage"),
      key(TITAN_KEY(checkpoint.last_save_model_only), kSaving,
          "a last save with weights only cannot be resumed (torchtitan: true)",
          {.later = {"true"},
           .hint = "set it to false: the last save is resumable",
           .pass_over = always,
           .instead = "the last save is complete",
           .aliases = {"checkpoint.last_save_model_weights_only", "checkpoint.model_weights_only"}}),
      key(TITAN_KEY(checkpoint.compression), kSaving, "of shard files; lossless, and no id depends on it",
          {.choices = {"none", "zstd"}}),
      key(TITAN_KEY(checkpoint.verify_compression), kSaving,
          "decode each compressed leaf and compare it before it is written"),
      key(TITAN_KEY(checkpoint.verify_after_write), kSaving,
          "what a save reads again from the disk before it is published: \"sampled\", all but derived files and 99 % "
          "of "
          "the leaves; \"all\", every byte",
          {.choices = {"off", "sampled", "all"}}),
      key(TITAN_KEY(checkpoint.parity), kSaving,
          "so many files of a step may be lost or damaged: `titan-ckpt verify --repair` makes them anew from parity "
          "files",
          {.range = between(0, 4)}),
      key(TITAN_KEY(checkpoint.near), kSaving,
          "folder of this host (tmpfs, a local disk) in which saves are published first, and from which they are "
          "copied "
          "to the run folder beside training; unset: none",
          {.of_machine = true}),
      key(TITAN_KEY(checkpoint.async_mode), kSaving,
          "\"async\": training goes on while a save is written; the last save, and that of a stop, are waited for; "
          "\"async_with_pinned_mem\" is the same",
          {.choices = {"disabled", "async", "async_with_pinned_mem"}}),
      key(TITAN_KEY(checkpoint.staging_bytes), kSaving,
          "most bytes of the copies that an asynchronous save keeps of what the next optimizer step overtakes, per "
          "rank; "
          "what has no room there is waited for",
          {.range = between(0, 1ull << 50)}),
      key(TITAN_KEY(checkpoint.files_per_host), kSaving,
          "most files of weights, and of moments, that the ranks of a host write: more ranks share them; 0: one a "
          "rank, "
          "as compressed saves always have",
          {.range = between(0, 1 << 20)}),
      key(TITAN_KEY(checkpoint.on_save_error), kSaving,
          "a save that the store refuses (no space, I/O error, a server away): \"continue\" goes on and saves again "
          "when the store takes files; \"stop\" ends the run",
          {.choices = {"stop", "continue"}}),
      key(TITAN_KEY(checkpoint.max_save_failures), kSaving,
          "saves that fail in a row before on_save_error = \"continue\" ends the run, too", {.range = at_least(1)}),
      key(TITAN_KEY(checkpoint.on_drift), kStart,
          "what a resume does when a key that shapes the curve differs; \"policy\": training.steps, lr_scheduler.* "
          "and optimizer.lr follow lr_scheduler.on_change",
          {.choices = {"error", "policy"}}),
      key(TITAN_KEY(checkpoint.on_read_error), kStart,
          "the store cannot give back a part of the newest step (EIO): \"stop\" ends the start; \"fallback\" passes "
          "over "
          "the step when a second reader meets the same",
          {.choices = {"stop", "fallback"}}),
      key(TITAN_KEY(checkpoint.load_step), kStart, "step to resume from; -1: the newest valid one",
          {.range = at_least_or(1, -1)}),
      key(TITAN_KEY(checkpoint.initial_load_path), kStart,
          "checkpoint that a new run starts from (--init-from); the run's own steps come first; unset: none"),
      key(TITAN_KEY(checkpoint.initial_load_model_only), kStart,
          "take the weights only from initial_load_path; false: everything, as --resume PATH",
          {.aliases = {"checkpoint.initial_load_model_weights_only"}}),
      key(TITAN_KEY(checkpoint.initial_load_map), kStart,
          "file with rules for initial_load_path (--init-map): skip = [..], create = [..], [rename] from = to; unset: "
          "names are the same"),
      key(TITAN_KEY(checkpoint.initial_load_skip), kStart,
          "patterns of weights that initial_load_path leaves out (--skip); * crosses dots"),
      key(TITAN_KEY(checkpoint.initial_load_rename), kStart,
          "\"FROM=TO\" each: what weights are called instead (--rename), before the rules of initial_load_map"),
      key(TITAN_KEY(checkpoint.initial_load_rows), kStart,
          "how rows of queries and keys lie in the file (--rows); unset: as its names say",
          {.choices = {"hf", "interleaved"}}),
      key(TITAN_KEY(checkpoint.exclude_from_loading), kStart,
          "components that a resume starts anew, each once: zero moments, policy config, sample 0",
          {.choices = {"optimizer", "lr_scheduler", "dataloader"}}),
      key(TITAN_KEY(checkpoint.io_timeout_seconds), kEnvironment, "deadline of a collective during a save or a load",
          {.range = seconds()}),
  };
}

[[gnu::noinline]] std::vector<Key> report_keys() {
  using enum KeyClass;
  using enum ChangeEffect;
  return {
      key(TITAN_KEY(validation.enable), kLogging, "evaluate every validation.freq steps and at the end",
          {.aliases = {"validation.enabled", "validator.enable"}}),
      key(TITAN_KEY(validation.dataset_path), kLogging,
          "as training.dataset_path; unset: the tail held back from the training data",
          {.of_machine = true, .aliases = {"validator.dataset_path"}}),
      key(TITAN_KEY(validation.holdout), kCurve,
          "share of the token stream, at its end, that training never sees while validation is on without its own "
          "data",
          {.range = {0, 0.5, std::nullopt, true},
           .row_note = "in force while validation is on without a dataset_path",
           .own_concept = true}),
      key(TITAN_KEY(validation.local_batch_size), kLogging, "sequences evaluated at once",
          {.range = count(), .aliases = {"validator.local_batch_size"}}),
      key(TITAN_KEY(validation.seq_len), kLogging, "tokens of a sequence; unset: training.seq_len",
          {.range = between(1, 16 * kMaxDim), .aliases = {"validator.seq_len"}}),
      key(TITAN_KEY(validation.freq), kLogging, "steps between two evaluations",
          {.range = at_least(1), .aliases = {"validator.freq"}}),
      key(TITAN_KEY(validation.steps), kLogging, "batches per evaluation; -1: all",
          {.range = at_least_or(1, -1), .aliases = {"validator.steps"}}),

      key(TITAN_KEY(metrics.log_freq), kLogging,
          "steps between two console lines and two points of TensorBoard; metrics.jsonl always has every step",
          {.range = at_least(1)}),
      key(TITAN_KEY(metrics.log_rank), kLogging, "the rank whose console shows the steps: every rank knows the loss",
          {.range = at_least(0)}),
      key(TITAN_KEY(metrics.parameter_norms), kLogging,
          "steps between two lines of metrics.jsonl with the norm of each parameter's gradient; 0: none",
          {.range = at_least(0)}),
      key(TITAN_KEY(metrics.disable_color_printing), kLogging, "plain console lines"),
      key(TITAN_KEY(metrics.enable_tensorboard), kLogging, "write TensorBoard event files as well"),
      key(TITAN_KEY(metrics.save_tb_folder), kLogging,
          "of those, below job.dump_folder; all starts of a run make one curve there", {.of_machine = true}),
      key(TITAN_KEY(metrics.peak_tflops), kLogging,
          "TFLOP/s of a rank's device that mfu is the share of; unset: no mfu on a CPU", {.range = positive()}),
      key(TITAN_KEY(metrics.status_file), kLogging,
          "step, loss, tokens/s, last durable step and failures in Prometheus' text format, written anew at most once "
          "a "
          "second; below job.dump_folder unless absolute; unset: none",
          {.of_machine = true}),

      key(TITAN_KEY(profiling.enable_profiling), kLogging,
          "write a Chrome trace of every profiling.profile_freq-th step: the actions of all ranks as measured",
          {.aliases = {"profiler.enable_profiling"}}),
      key(TITAN_KEY(profiling.save_traces_folder), kLogging, "of those traces, below job.dump_folder",
          {.of_machine = true, .aliases = {"profiler.save_traces_folder"}}),
      key(TITAN_KEY(profiling.profile_freq), kLogging, "steps between two traces",
          {.range = at_least(1), .aliases = {"profiler.profile_freq"}}),

      key(TITAN_KEY(comm.init_timeout_seconds), kEnvironment,
          "deadline for all ranks to arrive, and of the first step where it is longer than train_timeout_seconds",
          {.range = seconds()}),
      key(TITAN_KEY(comm.train_timeout_seconds), kEnvironment, "deadline of a collective after the first step",
          {.range = seconds()}),
      key(TITAN_KEY(comm.exchange_bytes), kLayout, "most bytes in the buffers of the gradient exchange, per rank",
          {.range = between(1, 1ull << 50)}),

      key(TITAN_KEY(debug.deterministic), kEnvironment,
          "the same bits each time and on every layout, also on a GPU; the CPU gives them in any case",
          {.aliases = {"training.deterministic"}}),
      key(TITAN_KEY(debug.seed), kCurve, "of initial weights and shuffling; unset: drawn once and stored",
          {.range = at_least(0), .own_concept = true, .aliases = {"training.seed"}}),
      key(TITAN_KEY(debug.stop_at_step), kSaving, "save there and exit 75, without touching the schedule; unset: never",
          {.range = at_least(1)}),
  };
}

}  // namespace

std::vector<Key> own_keys() {
  std::vector<Key> keys;
  for (const auto list : {model_keys, training_keys, layout_keys, saving_keys, report_keys})
    for (Key& key : list()) keys.push_back(std::move(key));
  return keys;
}

#undef TITAN_KEY

}  // namespace titan::recipe
