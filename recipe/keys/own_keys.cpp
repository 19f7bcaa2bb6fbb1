// Keys with an effect, in the order of full.toml.
#include "recipe/keys/config.h"
#include "recipe/keys/key_table.h"

namespace titan::recipe {
namespace {

// The name of a key and the place of its value, from the path of its member in Config.
#define TITAN_KEY(path) #path, [](Config & c) -> ValuePointer { return &c.path; }

constexpr double kMaxCount = 1'000'000'000;  // limit of counts (micro-batches are counted in 32 bits) and seconds
constexpr double kMaxDim = 1'048'576;

Range at_least(double min) { return {.min = min}; }
Range at_least_or(double min, double also) { return {.min = min, .also = also}; }
Range between(double min, double max) { return {.min = min, .max = max}; }
Range count() { return between(1, kMaxCount); }
Range positive() { return {.min = 0, .open = true}; }
Range seconds() { return {.min = 0, .max = kMaxCount, .open = true}; }

Key key(const char* name, ValuePointer (*value_in)(Config&), KeyClass cls, const char* doc, KeyFacts facts = {}) {
  return {std::move(facts), name, cls, value_in, doc};
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
      key(TITAN_KEY(job.description), kLogging, "a description for readers; it has no effect"),
      key(TITAN_KEY(job.dump_folder), kSaving, "run folder: checkpoints, metrics, logs",
          {.of_machine = true, .aliases = {"dump_folder"}}),
      key(TITAN_KEY(job.print_config), kLogging, "print the resolved configuration at the start",
          {.aliases = {"debug.print_config", "job.print_args"}}),
      key(TITAN_KEY(job.threads_per_rank), kEnvironment,
          "compute threads of a rank; 0: cores / local ranks at the first start, afterwards the number in the "
          "checkpoint",
          {.range = between(0, 4096)}),

      key(TITAN_KEY(model.name), kCurve, "model family; decides which flavours exist and which defaults the model has",
          {.choices = {"llama3", "qwen3"}, .unsupported = {"llama4", "deepseek_v3", "gpt_oss", "flux"}}),
      key(TITAN_KEY(model.flavor), kCurve,
          "size of the model (dimensions and RoPE) by its name in torchtitan; keys of [model] that are set "
          "override it; unset: debugmodel's dimensions, RoPE not scaled",
          {.choices = {"debugmodel", "0.6B", "1.7B", "4B", "8B", "14B", "32B", "70B", "405B"},
           .unsupported = {"debugmodel_flex_attn", "debugmodel_varlen_attn", "8B_flex", "8B_varlen"},
           .acts_through = "model.*"}),
      key(TITAN_KEY(model.tokenizer), kCurve,
          "tokenizer for training.dataset = \"text\". \"byte\": each byte is a token (256 ids); else the path of "
          "a tokenizer.json or of its folder",
          {.allow_as = "training.dataset", .row_note = "the tokenizer's digest", .of_machine = true}),
      key(TITAN_KEY(model.hf_assets_path), kCurve,
          "torchtitan's key for the path of a tokenizer.json or of its folder; used if model.tokenizer is "
          "\"byte\"",
          {.acts_through = "model.tokenizer",
           .of_machine = true,
           .aliases = {"hf_assets_path", "model.tokenizer_path"}}),
      key(TITAN_KEY(model.dim), kCurve,
          "width of the model (hidden size); unset: the loaded checkpoint's, else the flavour's",
          {.range = between(1, kMaxDim)}),
      key(TITAN_KEY(model.n_layers), kCurve,
          "number of decoder layers; unset: the loaded checkpoint's, else the flavour's",
          {.range = between(1, 100'000)}),
      key(TITAN_KEY(model.n_heads), kCurve, "number of query heads; unset: the loaded checkpoint's, else the flavour's",
          {.range = between(1, kMaxDim), .transfer = TransferRule::kNever}),
      key(TITAN_KEY(model.n_kv_heads), kCurve,
          "number of key and value heads; unset: the loaded checkpoint's, else the flavour's, or n_heads if that "
          "is set",
          {.range = between(1, kMaxDim), .transfer = TransferRule::kNever}),
      key(TITAN_KEY(model.head_dim), kCurve,
          "dimension of an attention head, an even number; unset: the loaded checkpoint's, else dim / n_heads "
          "(llama3), or the flavour's (qwen3: 128)",
          {.range = between(2, kMaxDim), .transfer = TransferRule::kNever}),
      key(TITAN_KEY(model.ffn_dim), kCurve,
          "hidden size of the feed-forward network; unset: the loaded checkpoint's, else torchtitan's rule with "
          "the flavour's multiple_of and multiplier",
          {.range = between(1, 16 * kMaxDim)}),
      key(TITAN_KEY(model.vocab_size), kCurve,
          "number of token ids; the byte tokenizer needs 256; unset: the loaded checkpoint's, else the flavour's",
          {.range = between(1, 16 * kMaxDim)}),
      key(TITAN_KEY(model.norm_eps), kCurve,
          "epsilon of RMSNorm; unset: the loaded checkpoint's, else the flavour's (1e-5)",
          {.range = positive(), .transfer = TransferRule::kPermission}),
      key(TITAN_KEY(model.rope_theta), kCurve,
          "base frequency of RoPE; unset: the loaded checkpoint's, else the flavour's (500000)",
          {.range = positive(), .transfer = TransferRule::kPermission}),
      key(TITAN_KEY(model.rope_scaling), kCurve,
          "scaling of RoPE: \"llama3:8:1:4:8192\", \"yarn:4:32768\", \"linear:4\", \"dynamic:2:4096\" or "
          "\"longrope:...\" (docs/training.md); \"none\": no scaling; unset: the loaded checkpoint's, else a "
          "given llama3 flavour's (\"llama3:8:1:4:8192\"), else \"none\"",
          {.none_is_value = true, .transfer = TransferRule::kPermission}),
      key(TITAN_KEY(model.tied_embeddings), kCurve,
          "the output head shares the weight of the token embedding; unset: the loaded checkpoint's, else the "
          "flavour's (false)"),
      key(TITAN_KEY(model.qkv_bias), kCurve,
          "the query, key and value projections have a bias, as in Qwen2; unset: the loaded checkpoint's, else "
          "the flavour's (false)"),
      key(TITAN_KEY(model.qk_norm), kCurve,
          "queries and keys are normalised per head, before RoPE, as in Qwen3; unset: the loaded checkpoint's, "
          "else the flavour's (llama3: false, qwen3: true)"),
      key(TITAN_KEY(model.whole_qk_norm), kCurve,
          "these norms are computed over all heads of a token together, as in OLMo 2; unset: the loaded "
          "checkpoint's, else false",
          {.row_if_set = true}),
      key(TITAN_KEY(model.post_norm), kCurve,
          "the outputs of attention and feed-forward are normalised, instead of their inputs, as in OLMo 2; "
          "unset: the loaded checkpoint's, else false",
          {.row_if_set = true}),
      key(TITAN_KEY(model.n_experts), kCurve,
          "experts per layer, each a feed-forward network of hidden size ffn_dim, as in Mixtral; 0: a model "
          "without experts; unset: the loaded checkpoint's, else 0",
          {.range = between(0, 65536), .row_if_set = true}),
      key(TITAN_KEY(model.experts_per_token), kCurve,
          "experts to which each token is routed; unset: the loaded checkpoint's",
          {.range = between(0, 65536), .transfer = TransferRule::kNever, .row_if_set = true}),
      key(TITAN_KEY(model.route_norm), kCurve,
          "the routing weights of a token are divided by their sum over its experts, as in Mixtral; unset: the "
          "loaded checkpoint's, else false",
          {.transfer = TransferRule::kNever, .row_if_set = true}),
      key(TITAN_KEY(model.sliding_window), kCurve,
          "tokens that a token attends to, itself included, as in Mistral 7B v0.1; 0: all preceding ones; unset: "
          "the loaded checkpoint's, else 0",
          {.range = between(0, 2147483648.0), .transfer = TransferRule::kPermission, .row_if_set = true}),
      key(TITAN_KEY(model.sliding_window_layers), kCurve,
          "layers with the sliding window, counted from 0: \"all\", or such as \"0-3, 8\"; unset: the loaded "
          "checkpoint's, else \"all\"",
          {.transfer = TransferRule::kPermission, .row_if_set = true}),
  };
}

[[gnu::noinline]] std::vector<Key> training_keys() {
  using enum KeyClass;
  using enum ChangeEffect;
  return {
      key(TITAN_KEY(optimizer.name), kCurve, "optimizer algorithm", {.choices = {"AdamW"}, .unsupported = {"Adam"}}),
      key(TITAN_KEY(optimizer.lr), kCurve, "peak learning rate", {.range = between(0, 1e6), .effect = kSchedule}),
      key(TITAN_KEY(optimizer.beta1), kCurve, "decay rate of the first moment",
          {.range = between(0, 0.9999999999), .effect = kInPlace}),
      key(TITAN_KEY(optimizer.beta2), kCurve, "decay rate of the second moment",
          {.range = between(0, 0.9999999999), .effect = kInPlace}),
      key(TITAN_KEY(optimizer.eps), kCurve, "added to the square root of the second moment",
          {.range = between(0, 1), .effect = kInPlace}),
      key(TITAN_KEY(optimizer.weight_decay), kCurve,
          "decoupled weight decay of all parameters to which optimizer.rules give no other",
          {.range = between(0, 1e6), .effect = kInPlace}),
      key(TITAN_KEY(optimizer.rules), kCurve,
          "other settings for parameters by name; the first match counts: [\"*norm* weight_decay=0\"], or "
          "[[optimizer.rules]] with pattern, weight_decay, lr_factor",
          {.effect = kInPlace, .row_note = "in one form"}),

      key(TITAN_KEY(lr_scheduler.warmup_steps), kCurve, "steps of the linear warm-up of the learning rate",
          {.range = at_least(0), .effect = kSchedule, .aliases = {"training.warmup_steps"}}),
      key(TITAN_KEY(lr_scheduler.total_steps), kCurve,
          "length of the LR schedule in steps; if set, the schedule stays the same when training.steps changes; "
          "unset: training.steps",
          {.range = at_least(1), .effect = kSchedule, .unset_follows = "training.steps"}),
      key(TITAN_KEY(lr_scheduler.decay_ratio), kCurve,
          "share of the LR schedule in which the rate decays; unset: all after the warm-up",
          {.range = between(0, 1), .effect = kSchedule}),
      key(TITAN_KEY(lr_scheduler.decay_type), kCurve, "shape of the decay of the learning rate",
          {.choices = {"linear", "sqrt", "cosine"}, .effect = kSchedule}),
      key(TITAN_KEY(lr_scheduler.min_lr_factor), kCurve,
          "smallest learning rate of the decay, as a share of optimizer.lr",
          {.range = between(0, 1), .effect = kSchedule, .aliases = {"lr_scheduler.lr_min"}}),
      key(TITAN_KEY(lr_scheduler.on_change), kStart,
          "how the LR schedule continues after a change of its settings that --allow permits; unset: such a "
          "change is refused, with a preview of each policy",
          {.choices = {"keep", "rescale", "extend", "rewarm", "config"}}),
      key(TITAN_KEY(lr_scheduler.rewarm_from), kStart,
          "learning rate at which the policy \"rewarm\" starts: the present one, or zero",
          {.choices = {"present", "zero"}}),

      key(TITAN_KEY(training.dataset), kCurve,
          "\"text\": UTF-8 files; \"tokens\": token ids, in raw files of training.token_dtype or in the other "
          "forms of docs/data.md",
          {.choices = {"text", "tokens"},
           .unsupported = {"c4", "c4_test", "c4_validation"},
           .hint = "set training.dataset = \"text\" and training.dataset_path to your own files",
           .ignore_if = names_a_corpus,
           .instead = "nothing is downloaded: the files of training.dataset_path are read as text",
           .effect = kNewEpoch,
           .opens = {"training.dataset_path", "training.datasets", "training.token_dtype", "training.text_field",
                     "model.tokenizer"}}),
      key(TITAN_KEY(training.dataset_path), kCurve,
          "a file, a folder (all its files, sorted by name), a pattern (*.jsonl), or a comma-separated list of these; "
          "unset: an error at the start",
          {.effect = kNewEpoch,
           .allow_as = "training.dataset",
           .opens = {"training.dataset", "training.datasets", "training.token_dtype", "training.text_field",
                     "model.tokenizer"},
           .row_note = "the files' sizes and contents",
           .of_machine = true}),
      key(TITAN_KEY(training.datasets), kCurve,
          "several data sets, instead of dataset_path: [[training.datasets]] with path, weight, epochs, "
          "exhausted, or \"path=FILE weight=0.7\" each (docs/data.md)",
          {.effect = kNewEpoch,
           .opens = {"training.dataset_path"},
           .row_note = "shares, ends and contents",
           .of_machine = true}),
      key(TITAN_KEY(training.token_dtype), kCurve, "integer type of the ids in raw token files, little-endian",
          {.choices = {"uint16", "uint32"}, .effect = kNewEpoch, .allow_as = "training.dataset"}),
      key(TITAN_KEY(training.text_field), kCurve, "name of the member with the text, in files of JSON lines",
          {.effect = kNewEpoch, .allow_as = "training.dataset"}),
      key(TITAN_KEY(training.document_mask), kCurve,
          "keep the documents of a sample apart: no attention across documents, positions from 0 in each, and "
          "its first token is no target",
          {.effect = kInPlace}),
      key(TITAN_KEY(training.pack), kCurve,
          "\"cut\": samples are cut from the token stream; \"whole\": samples hold whole documents, and padding, "
          "which is not trained on",
          {.choices = {"cut", "whole"}, .effect = kNewEpoch}),
      key(TITAN_KEY(training.document_end), kCurve,
          "token id that ends each document; for raw token files, and Megatron's and nanotron's in place of "
          "their index; unset: the ends that a token folder or index records, else the end of each file",
          {.range = between(0, 16 * kMaxDim), .effect = kInPlace}),
      key(TITAN_KEY(training.shuffle), kCurve, "shuffle the samples, anew in each epoch", {.effect = kNewEpoch}),
      key(TITAN_KEY(training.sample_stride), kCurve,
          "distance in tokens between the first tokens of consecutive samples; unset: seq_len",
          {.range = count(), .effect = kNewEpoch, .unset_follows = "training.seq_len"}),
      key(TITAN_KEY(training.local_batch_size), kCurve,
          "sequences of a micro-batch (unless parallelism.pipeline_parallel_microbatch_size is set)",
          {.range = count(),
           .effect = kInPlace,
           .row_note = "parallelism.pipeline_parallel_microbatch_size when that is given",
           .aliases = {"training.batch_size"}}),
      key(TITAN_KEY(training.global_batch_size), kCurve,
          "sequences per step, over all ranks; -1: local_batch_size x data-parallel degree at the first start, "
          "afterwards the number in the checkpoint",
          {.range = {1, kMaxCount, -1}, .effect = kGlobalBatch, .row_note = "sequences per step"}),
      key(TITAN_KEY(training.seq_len), kCurve, "tokens of a sequence",
          {.range = between(1, 16 * kMaxDim),
           .effect = kNewEpoch,
           .opens = {"training.sample_stride"},
           .aliases = {"training.max_context_length"}}),
      key(TITAN_KEY(training.steps), kCurve,
          "last step of the run; also the length of the LR schedule unless lr_scheduler.total_steps is set",
          {.range = at_least(1), .effect = kSchedule, .acts_through = "lr_scheduler.total_steps"}),
      key(TITAN_KEY(training.max_norm), kCurve,
          "the gradient of all parameters together is clipped to this norm; 0: no clipping",
          {.range = at_least(0), .effect = kInPlace}),
      key(TITAN_KEY(training.norm_type), kCurve,
          "p of the p-norm by which the gradient is clipped, and which is logged; inf: the largest absolute "
          "value",
          {.range = {.min = 1, .max = 16, .also = std::numeric_limits<double>::infinity(), .whole = true},
           .effect = kInPlace}),
      key(TITAN_KEY(training.router_aux_loss), kCurve,
          "weight of the loss that balances the load of experts, in models with experts (docs/training.md); "
          "unset: the resumed checkpoint's, else 0.001",
          {.range = between(0, 1e6), .effect = kInPlace, .row_if_set = true}),
      key(TITAN_KEY(training.ema), kCurve,
          "decay of an exponential moving average of the parameters, which every checkpoint has in addition to "
          "them; 0: no average",
          {.range = {.min = 0, .max = 0.9999999}, .effect = kInPlace}),
      key(TITAN_KEY(training.on_nonfinite), kSaving,
          "if the loss or gradient norm is not finite: \"abort\"; \"skip\": leave out the samples of the step; "
          "\"rollback\": the same, from the newest checkpoint",
          {.choices = {"abort", "skip", "rollback"}}),
      key(TITAN_KEY(training.max_skips), kSaving, "most consecutive steps that are skipped; one more ends the run",
          {.range = count()}),
      key(TITAN_KEY(training.max_rollbacks), kSaving, "most rollbacks; one more ends the run", {.range = count()}),
      key(TITAN_KEY(training.exclude_samples), kCurve,
          "samples to leave out, numbered from the start of the run: [\"32-39\", \"64\"]",
          {.effect = kInPlace, .row_note = "in order"}),
      key(TITAN_KEY(training.dtype), kCurve, "type of parameters and optimizer state",
          {.choices = {"float32"}, .unsupported = {"bfloat16"}}),
      key(TITAN_KEY(training.mixed_precision_param), kCurve, "type in which the forward and backward passes compute",
          {.choices = {"bfloat16", "float32"}, .effect = kInPlace}),
      key(TITAN_KEY(training.mixed_precision_reduce), kCurve, "type in which gradients are summed",
          {.choices = {"float32"}, .unsupported = {"bfloat16"}}),
      key(TITAN_KEY(training.reduction), kCurve,
          "order in which gradients are summed: \"canonical\" gives the same bits on every layout",
          {.choices = {"canonical"}, .unsupported = {"fast"}, .effect = kInPlace}),
      key(TITAN_KEY(training.device), kEnvironment,
          "where to compute; \"auto\": one GPU per rank if there is a GPU driver, else the CPU",
          {.choices = {"auto", "cpu", "cuda"}, .unsupported = {"rocm"}}),
      key(TITAN_KEY(training.attention), kEnvironment,
          "attention kernel on a GPU, which affects the bits; \"auto\": flash, but math in float32; cudnn needs "
          "debug.deterministic = false",
          {.choices = {"auto", "flash", "cudnn", "math"}}),
      key(TITAN_KEY(training.cpu_gemm), kEnvironment,
          "library for fp32 matrix products on the CPU, which affects the bits; \"auto\": as in the checkpoint, "
          "else onednn on AMD family 26 (Zen 5) and later, else mkl",
          {.choices = {"auto", "mkl", "onednn"}}),
      key(TITAN_KEY(training.loss_chunk), kCurve,
          "tokens whose logits are in memory at once, in the head and the loss; 0: all of a micro-batch",
          {.range = between(0, kMaxCount), .effect = kInPlace}),
  };
}

[[gnu::noinline]] std::vector<Key> layout_keys() {
  using enum KeyClass;
  using enum ChangeEffect;
  return {
      key(TITAN_KEY(parallelism.data_parallel_replicate_degree), kLayout,
          "the data-parallel degree is this x data_parallel_shard_degree", {.range = between(1, 1'000'000)}),
      key(TITAN_KEY(parallelism.data_parallel_shard_degree), kLayout,
          "the other factor of the data-parallel degree; -1: number of ranks / the other degrees",
          {.range = {1, 1'000'000, -1}}),
      key(TITAN_KEY(parallelism.pipeline_parallel_degree), kLayout, "ranks of a pipeline",
          {.range = between(1, 1'000'000)}),
      key(TITAN_KEY(parallelism.pipeline_parallel_schedule), kLayout,
          "order of forward and backward passes in the pipeline; does not change results",
          {.choices = {"GPipe", "1F1B", "ZB-H1", "Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble",
                       "ZBVZeroBubble", "DualPipeV"},
           .other_choices = {"PipelineScheduleSingle", "PipelineScheduleMulti"},
           .any_case = true}),
      key(TITAN_KEY(parallelism.pipeline_parallel_schedule_csv), kLayout,
          "file with the schedule: a row per rank with cells such as 0F1; pipeline_parallel_schedule (also "
          "PipelineScheduleSingle, PipelineScheduleMulti) places stages",
          {.of_machine = true}),
      key(TITAN_KEY(parallelism.pipeline_parallel_layers_per_stage), kLayout,
          "layers per stage, if ranks have several stages; embedding and head count as one layer each; unset: "
          "two stages per rank",
          {.range = count()}),
      key(TITAN_KEY(parallelism.pipeline_parallel_layout), kLayout,
          "the stages in Megatron's notation: \"Et*3|t*4|t*3L\" (E embedding, t layer, L norm, head and loss); "
          "unset: cut by cost"),
      key(TITAN_KEY(parallelism.module_fqns_per_model_part), kLayout,
          "the stages in torchtitan's notation, the modules of each: [[\"tok_embeddings\", \"layers.0\"], "
          "[\"layers.1\", \"norm\", \"output\"]]",
          {.lists = true}),
      key(TITAN_KEY(parallelism.pipeline_parallel_first_stage_less_layers), kLayout,
          "cut stages by number of layers, as torchtitan does; the first stage gets so many layers fewer; unset: "
          "cut by cost",
          {.range = at_least(0)}),
      key(TITAN_KEY(parallelism.pipeline_parallel_last_stage_less_layers), kLayout, "the same for the last stage",
          {.range = at_least(0)}),
      key(TITAN_KEY(parallelism.stage_cost), kLayout,
          "cost by which stages are cut: \"flops\", \"params\", \"uniform\" (all parts equal), \"measured\" (by "
          "plan --measure), or \"embedding=0,layer=1,head=3.5\""),
      key(TITAN_KEY(parallelism.stage_pins), kLayout, "layers that must be on a given stage: [\"layers.4=1\"]"),
      key(TITAN_KEY(parallelism.min_layers_per_stage), kLayout, "least number of layers of a stage",
          {.range = count()}),
      key(TITAN_KEY(parallelism.max_layers_per_stage), kLayout, "largest number of layers of a stage",
          {.range = count()}),
      key(TITAN_KEY(parallelism.memory_limit), kLayout,
          "most memory that a rank may need by the estimate of `plan`, such as \"24GiB\"; stages are cut to fit; "
          "unset: no limit"),
      key(TITAN_KEY(parallelism.pipeline_parallel_microbatch_size), kCurve,
          "sequences of a micro-batch on every layout; unset: training.local_batch_size",
          {.range = count(), .effect = kInPlace, .acts_through = "training.local_batch_size"}),
      key(TITAN_KEY(parallelism.data_parallel_sharding), kLayout,
          "what is sharded over data-parallel ranks: \"zero1\": the optimizer state; \"zero2\": also the sums of "
          "gradients",
          {.choices = {"zero1", "zero2"}, .unsupported = {"none", "fsdp"}}),
      key(TITAN_KEY(parallelism.gradient_exchange), kLayout,
          "when data-parallel ranks exchange gradients: \"late\": once per step; \"always\": after each "
          "micro-batch; \"node\": as always within a node, as late between nodes",
          {.choices = {"late", "node", "always"}}),
      key(TITAN_KEY(parallelism.exchange_parts), kLayout,
          "parts in which gradients and weights are sent, to overlap with computing; 1: no overlap; 0: 1 on "
          "CPUs, a number chosen by size on GPUs",
          {.range = between(0, 1024)}),

      key(TITAN_KEY(activation_checkpoint.mode), kLayout,
          "layers whose activations are recomputed in the backward pass: \"none\", \"full\" (all) or "
          "\"selective\" (torchtitan's default: selective)",
          {.choices = {"none", "full", "selective"}, .unsupported = {"memory_budget"}, .ignore_if = always}),
      key(TITAN_KEY(activation_checkpoint.selective_ac_option), kLayout,
          "with mode \"selective\": \"n\" recomputes every n-th layer", {.unsupported = {"op"}, .ignore_if = always}),
  };
}

[[gnu::noinline]] std::vector<Key> saving_keys() {
  using enum KeyClass;
  using enum ChangeEffect;
  return {
      key(TITAN_KEY(checkpoint.enable), kSaving, "save checkpoints and resume from them (torchtitan's default: false)",
          {.aliases = {"checkpoint.enable_checkpoint"}}),
      key(TITAN_KEY(checkpoint.folder), kSaving, "folder of the checkpoints, in job.dump_folder", {.of_machine = true}),
      key(TITAN_KEY(checkpoint.interval), kSaving,
          "steps between two saves, or a time; \"continuous\": save again when the last save is durable; "
          "\"auto\": least time lost by saves and failures together"),
      key(TITAN_KEY(checkpoint.mtbf_seconds), kSaving,
          "mean time between failures of the whole job, in seconds; for the interval \"auto\"", {.range = seconds()}),
      key(TITAN_KEY(checkpoint.keep_latest_k), kSaving, "number of newest steps to keep; 0: all",
          {.range = at_least(0)}),
      key(TITAN_KEY(checkpoint.keep_every), kSaving,
          "also keep steps whose number is a multiple of this; 0: no such steps", {.range = at_least(0)}),
      key(TITAN_KEY(checkpoint.keep_best), kSaving, "also keep so many steps with the lowest validation loss; 0: none",
          {.range = at_least(0)}),
      key(TITAN_KEY(checkpoint.on_publish), kSaving,
          "shell command that rank 0 runs in the background after each publish, with TITAN_CHECKPOINT and "
          "TITAN_STEP; never stored in checkpoints; unset: none",
          {.of_machine = true}),
      key(TITAN_KEY(checkpoint.on_publish_timeout_seconds), kSaving,
          "an on_publish command that takes longer is killed; a run that has ended waits for it at most this "
          "long",
          {.range = seconds()}),
      key(TITAN_KEY(checkpoint.enable_first_step_checkpoint), kSaving, "also save step 1, to test the storage"),
      key(TITAN_KEY(checkpoint.last_save_model_only), kSaving,
          "make the last save weights only, without what a resume needs; not supported (torchtitan's default: "
          "true)",
          {.unsupported = {"true"},
           .hint = "set it to false: the last save is resumable",
           .ignore_if = always,
           .instead = "the last save is complete",
           .aliases = {"checkpoint.last_save_model_weights_only", "checkpoint.model_weights_only"}}),
      key(TITAN_KEY(checkpoint.compression), kSaving, "compression of shard files; lossless; ids do not depend on it",
          {.choices = {"none", "zstd"}}),
      key(TITAN_KEY(checkpoint.verify_compression), kSaving,
          "decode and compare each compressed leaf before it is written"),
      key(TITAN_KEY(checkpoint.verify_after_write), kSaving,
          "what a save reads back from the disk before it is published: \"sampled\": all but derived files and "
          "99 % of the leaves; \"all\": every byte",
          {.choices = {"off", "sampled", "all"}}),
      key(TITAN_KEY(checkpoint.parity), kSaving,
          "number of files of a step that may be lost or damaged: `titan-ckpt verify --repair` rebuilds them "
          "from parity files",
          {.range = between(0, 4)}),
      key(TITAN_KEY(checkpoint.near), kSaving,
          "fast folder (tmpfs, a local disk) that all ranks see, where saves are published first; they are "
          "copied to the run folder in the background; unset: none",
          {.of_machine = true}),
      key(TITAN_KEY(checkpoint.async_mode), kSaving,
          "\"async\": training continues while a save is written, except for the last save and the save of a "
          "stop; \"async_with_pinned_mem\" is the same",
          {.choices = {"disabled", "async", "async_with_pinned_mem"}}),
      key(TITAN_KEY(checkpoint.staging_bytes), kSaving,
          "largest buffer per rank for values that the optimizer would overwrite before an async save has "
          "written them; if it is full, the optimizer waits",
          {.range = between(0, 1ull << 50)}),
      key(TITAN_KEY(checkpoint.files_per_host), kSaving,
          "most files with weights, and most with moments, per host and step; if there are more ranks, they "
          "share files; 0, or with compression: one per rank",
          {.range = between(0, 1 << 20)}),
      key(TITAN_KEY(checkpoint.on_save_error), kSaving,
          "if the storage refuses a save (no space, I/O error, unreachable server): \"continue\" keeps training "
          "and saves once the storage works; \"stop\" ends the run",
          {.choices = {"stop", "continue"}}),
      key(TITAN_KEY(checkpoint.max_save_failures), kSaving,
          "consecutive failed saves after which the run ends, with on_save_error = \"continue\"",
          {.range = at_least(1)}),
      key(TITAN_KEY(checkpoint.on_drift), kStart,
          "if a key that shapes the curve differs on resume: \"error\"; \"policy\": training.steps, "
          "lr_scheduler.* and optimizer.lr follow lr_scheduler.on_change",
          {.choices = {"error", "policy"}}),
      key(TITAN_KEY(checkpoint.on_read_error), kStart,
          "if the newest step cannot be read (EIO): \"stop\" ends the start; \"fallback\" takes an older step, "
          "if a second reader gets the same error",
          {.choices = {"stop", "fallback"}}),
      key(TITAN_KEY(checkpoint.load_step), kStart, "step to resume from; -1: the newest valid one",
          {.range = at_least_or(1, -1)}),
      key(TITAN_KEY(checkpoint.initial_load_path), kStart,
          "checkpoint from which a new run starts (--init-from); ignored once the run folder has a step; unset: "
          "none"),
      key(TITAN_KEY(checkpoint.initial_load_model_only), kStart,
          "take only the weights from initial_load_path; false: all components, as --resume PATH does",
          {.aliases = {"checkpoint.initial_load_model_weights_only"}}),
      key(TITAN_KEY(checkpoint.initial_load_map), kStart,
          "file with rules for initial_load_path (--init-map): skip = [..], create = [..], [rename] from = to; unset: "
          "names are the same"),
      key(TITAN_KEY(checkpoint.initial_load_skip), kStart,
          "name patterns of weights of initial_load_path to leave out (--skip); * also matches dots"),
      key(TITAN_KEY(checkpoint.initial_load_rename), kStart,
          "new names for weights of initial_load_path, \"FROM=TO\" each (--rename); applied before the rules of "
          "initial_load_map"),
      key(TITAN_KEY(checkpoint.initial_load_rows), kStart,
          "order of the rows of query and key projections in initial_load_path (--rows); unset: the order that "
          "the tensor names imply",
          {.choices = {"hf", "interleaved"}}),
      key(TITAN_KEY(checkpoint.exclude_from_loading), kStart,
          "components that a resume resets instead of loading them, once in a run: moments to zero, LR policy to "
          "config, data to sample 0",
          {.choices = {"optimizer", "lr_scheduler", "dataloader"}}),
      key(TITAN_KEY(checkpoint.io_timeout_seconds), kEnvironment,
          "timeout of a collective operation during a save or a load", {.range = seconds()}),
  };
}

[[gnu::noinline]] std::vector<Key> report_keys() {
  using enum KeyClass;
  using enum ChangeEffect;
  return {
      key(TITAN_KEY(validation.enable), kLogging, "evaluate every validation.freq steps and at the end",
          {.aliases = {"validation.enabled", "validator.enable"}}),
      key(TITAN_KEY(validation.dataset_path), kLogging,
          "validation data, as training.dataset_path; unset: the held-out tail of the training data",
          {.of_machine = true, .aliases = {"validator.dataset_path"}}),
      key(TITAN_KEY(validation.holdout), kCurve,
          "share of the training data, at its end, that is held out for validation; used if validation.enable is "
          "set without a dataset_path",
          {.range = {0, 0.5, std::nullopt, true},
           .row_note = "in force while validation is on without a dataset_path",
           .own_concept = true}),
      key(TITAN_KEY(validation.local_batch_size), kLogging, "sequences that are evaluated at once",
          {.range = count(), .aliases = {"validator.local_batch_size"}}),
      key(TITAN_KEY(validation.seq_len), kLogging, "tokens of a sequence; unset: training.seq_len",
          {.range = between(1, 16 * kMaxDim), .aliases = {"validator.seq_len"}}),
      key(TITAN_KEY(validation.freq), kLogging, "steps between two evaluations",
          {.range = at_least(1), .aliases = {"validator.freq"}}),
      key(TITAN_KEY(validation.steps), kLogging, "batches per evaluation; -1: all",
          {.range = at_least_or(1, -1), .aliases = {"validator.steps"}}),

      key(TITAN_KEY(metrics.log_freq), kLogging,
          "steps between two console lines, and between two TensorBoard points; metrics.jsonl has every step",
          {.range = at_least(1)}),
      key(TITAN_KEY(metrics.log_rank), kLogging,
          "rank whose console shows the steps (the loss is the same on all ranks)", {.range = at_least(0)}),
      key(TITAN_KEY(metrics.parameter_norms), kLogging,
          "steps between two lines of metrics.jsonl with the gradient norm of each parameter; 0: no such lines",
          {.range = at_least(0)}),
      key(TITAN_KEY(metrics.disable_color_printing), kLogging, "console lines without colours"),
      key(TITAN_KEY(metrics.enable_tensorboard), kLogging, "also write TensorBoard event files"),
      key(TITAN_KEY(metrics.save_tb_folder), kLogging,
          "folder of the TensorBoard files, in job.dump_folder; all starts of a run give one curve",
          {.of_machine = true}),
      key(TITAN_KEY(metrics.peak_tflops), kLogging,
          "peak TFLOP/s of a rank's device, for mfu; unset: looked up by the GPU's name, no mfu on other devices",
          {.range = positive()}),
      key(TITAN_KEY(metrics.status_file), kLogging,
          "file with step, loss, tokens/s, last durable step and failures for Prometheus, rewritten at most once "
          "a second; a path in job.dump_folder, or absolute; unset: none",
          {.of_machine = true}),

      key(TITAN_KEY(profiling.enable_profiling), kLogging,
          "write a Chrome trace of every profiling.profile_freq-th step, with the measured actions of all ranks",
          {.aliases = {"profiler.enable_profiling"}}),
      key(TITAN_KEY(profiling.save_traces_folder), kLogging, "folder of the traces, in job.dump_folder",
          {.of_machine = true, .aliases = {"profiler.save_traces_folder"}}),
      key(TITAN_KEY(profiling.profile_freq), kLogging, "steps between two traces",
          {.range = at_least(1), .aliases = {"profiler.profile_freq"}}),

      key(TITAN_KEY(comm.init_timeout_seconds), kEnvironment,
          "timeout for all ranks to connect; also the timeout of the first step, if it is longer than "
          "train_timeout_seconds",
          {.range = seconds()}),
      key(TITAN_KEY(comm.train_timeout_seconds), kEnvironment, "timeout of a collective operation after the first step",
          {.range = seconds()}),
      key(TITAN_KEY(comm.exchange_bytes), kLayout,
          "largest total size of the buffers for the gradient exchange, in bytes per rank",
          {.range = between(1, 1ull << 50)}),

      key(TITAN_KEY(debug.deterministic), kEnvironment,
          "the same bits in every run and on every layout, also on a GPU; on a CPU they are always the same",
          {.aliases = {"training.deterministic"}}),
      key(TITAN_KEY(debug.seed), kCurve,
          "seed of initial weights and shuffling; unset: drawn at random once, and stored in checkpoints",
          {.range = at_least(0), .own_concept = true, .aliases = {"training.seed"}}),
      key(TITAN_KEY(debug.stop_at_step), kSaving,
          "save at this step and exit with code 75; the LR schedule does not change; unset: never",
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
