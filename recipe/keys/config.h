#pragma once
// The typed configuration: one member per key that has an effect, with the key's name. Defaults are only in this file;
// the table (key_table.h) adds documentation, range and class of each key.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipe/keys/interval.h"

namespace titan::recipe {

struct Config {
  struct Job {
    std::string config_file;
    std::string description = "default job";
    std::string dump_folder = "./outputs";
    bool print_config = false;
    std::int64_t threads_per_rank = 0;  ///< 0: cores / local ranks at the first start, later the checkpoint's value
  } job;

  struct Model {
    std::string name = "llama3";
    std::optional<std::string> flavor;
    std::string tokenizer = "byte";             ///< "byte" or the path of a tokenizer
    std::optional<std::string> hf_assets_path;  ///< torchtitan's key for the path of a tokenizer
    std::optional<std::int64_t> dim, n_layers, n_heads, n_kv_heads, head_dim, ffn_dim, vocab_size;
    std::optional<double> norm_eps, rope_theta;
    std::optional<std::string> rope_scaling;  ///< "none" differs from unset: if unset, a given flavour scales RoPE
    std::optional<bool> tied_embeddings, qkv_bias, qk_norm, whole_qk_norm, post_norm;
    std::optional<std::int64_t> n_experts, experts_per_token;
    std::optional<bool> route_norm;
    std::optional<std::int64_t> sliding_window;        ///< tokens; 0: no window
    std::optional<std::string> sliding_window_layers;  ///< "all", "0-3, 8"
  } model;

  struct Optimizer {
    std::string name = "AdamW";
    double lr = 8e-4, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
    std::vector<std::string> rules;  ///< each "PATTERN weight_decay=X lr_factor=Y"
  } optimizer;

  struct LrScheduler {
    std::int64_t warmup_steps = 200;
    std::optional<std::int64_t> total_steps;
    std::optional<double> decay_ratio;
    std::string decay_type = "linear";
    double min_lr_factor = 0.0;
    std::optional<std::string> on_change;  ///< keep, rescale, extend, rewarm, config
    std::string rewarm_from = "present";   ///< present, zero
  } lr_scheduler;

  struct Training {
    std::string dataset = "text";
    std::string corpus;  ///< the data set that torchtitan would download ("c4"); not a key, and nothing is read from it
    std::optional<std::string> dataset_path;  ///< file, folder, pattern, or comma-separated list
    std::vector<std::string> datasets;        ///< sets of a mixture, each "path=FILE weight=0.7 epochs=2"
    std::string token_dtype = "uint16";       ///< for raw token files: uint16, uint32
    std::string text_field = "text";          ///< the field with the text, for JSON lines
    bool document_mask = false;
    std::string pack = "cut";                  ///< cut, whole
    std::optional<std::int64_t> document_end;  ///< the token id that ends documents, for files without recorded ends
    bool shuffle = true;
    std::optional<std::int64_t> sample_stride;  ///< unset: seq_len
    std::int64_t local_batch_size = 8, global_batch_size = -1, seq_len = 2048, steps = 10000;
    double max_norm = 1.0;
    double norm_type = 2.0;              ///< 1 to 16, or infinity
    std::string on_nonfinite = "abort";  ///< abort, skip, rollback
    std::int64_t max_skips = 10;         ///< limit of consecutive skips
    std::int64_t max_rollbacks = 3;
    std::vector<std::string> exclude_samples;  ///< each "32-39" or "64"
    std::string dtype = "float32", mixed_precision_param = "bfloat16", mixed_precision_reduce = "float32";
    std::string reduction = "canonical";
    std::string device = "auto";
    std::string attention = "auto";  ///< on a GPU: auto, flash, cudnn, math
    std::string cpu_gemm = "auto";   ///< auto, mkl, onednn
    std::int64_t loss_chunk = 0;     ///< tokens; 0: the whole micro-batch
    /// Weight of the loss that balances experts; unset: the checkpoint's, else 0.001.
    std::optional<double> router_aux_loss;
    double ema = 0;  ///< decay of the EMA of the parameters; 0: no EMA
  } training;

  struct Parallelism {
    std::int64_t data_parallel_replicate_degree = 1, data_parallel_shard_degree = -1;
    std::int64_t pipeline_parallel_degree = 1;
    std::string pipeline_parallel_schedule = "1F1B";
    std::string pipeline_parallel_schedule_csv;  ///< path of a CSV file with a schedule; empty: none
    std::optional<std::int64_t> pipeline_parallel_layers_per_stage;
    std::optional<std::string> pipeline_parallel_layout;
    std::vector<std::string> module_fqns_per_model_part;  ///< per stage: module names with blanks between them
    std::optional<std::int64_t> pipeline_parallel_first_stage_less_layers, pipeline_parallel_last_stage_less_layers;
    std::string stage_cost = "flops";     ///< flops, params, uniform, measured, or "embedding=0,layer=1,head=3.5"
    std::vector<std::string> stage_pins;  ///< "layers.4=1"
    std::optional<std::int64_t> min_layers_per_stage, max_layers_per_stage;
    std::optional<std::string> memory_limit;  ///< per rank: "24GiB"
    std::optional<std::int64_t> pipeline_parallel_microbatch_size;
    std::string data_parallel_sharding = "zero1";
    std::string gradient_exchange = "late";  ///< late, node, always: ExchangeDomain (plan_values.h)
    std::int64_t exchange_parts = 0;         ///< number of parts of an exchange; 0: chosen for the device
    /// Number of torchtitan's ranks that share a batch (tensor x context parallel). Not a key: Titan has no such ranks.
    std::int64_t ranks_of_a_batch = 1;
  } parallelism;

  struct ActivationCheckpoint {
    std::string mode = "none";              ///< activation checkpointing: none, full, selective
    std::string selective_ac_option = "2";  ///< recompute every n-th layer
  } activation_checkpoint;

  struct Checkpoint {
    bool enable = true;
    std::string folder = "checkpoint";
    SaveInterval interval;
    double mtbf_seconds = 86400;  ///< mean time between failures in seconds, for the interval "auto"
    std::int64_t keep_latest_k = 10;
    std::int64_t keep_every = 0;            ///< steps; 0: no such rule
    std::int64_t keep_best = 0;             ///< number of steps with the lowest validation loss
    std::optional<std::string> on_publish;  ///< for this start only: not stored in checkpoints
    double on_publish_timeout_seconds = 600;
    bool enable_first_step_checkpoint = false;
    bool last_save_model_only = false;
    std::string compression = "none";
    bool verify_compression = true;
    std::string verify_after_write = "sampled";  ///< off, sampled, all
    std::int64_t parity = 0;                     ///< parity files per group of members: the number of lost members
                                                 ///< of a group that can be rebuilt
    std::string async_mode = "async";            ///< disabled, async, async_with_pinned_mem
    std::int64_t staging_bytes = 1 << 30;        ///< per rank
    std::int64_t files_per_host = 4;         ///< most uncompressed shard files of a component per host; 0: one per rank
    std::string on_save_error = "continue";  ///< stop, continue
    std::optional<std::string> near;         ///< folder on fast storage where saves appear first; unset: none
    std::int64_t max_save_failures = 3;      ///< limit of consecutive failures, for on_save_error "continue"
    std::string on_drift = "error";
    std::string on_read_error = "stop";
    std::int64_t load_step = -1;
    std::optional<std::string> initial_load_path;  ///< a checkpoint of another run
    bool initial_load_model_only = true;
    std::optional<std::string> initial_load_map;                      ///< file with rename and skip rules
    std::vector<std::string> initial_load_skip, initial_load_rename;  ///< patterns; "FROM=TO" each
    std::optional<std::string> initial_load_rows;
    std::vector<std::string> exclude_from_loading;
    double io_timeout_seconds = 1800;  ///< seconds: deadline of a collective during a save or a load
  } checkpoint;

  struct Validation {
    bool enable = false;
    std::optional<std::string> dataset_path;  ///< unset: the held-out end of the training data
    double holdout = 0.05;                    ///< held-out fraction of the token stream, at its end, never used for
                                              ///< training
    std::int64_t local_batch_size = 8, freq = 10, steps = -1;
    std::optional<std::int64_t> seq_len;  ///< unset: training.seq_len
  } validation;

  struct Metrics {
    std::int64_t log_freq = 10, log_rank = 0, parameter_norms = 0;
    bool disable_color_printing = false;
    bool enable_tensorboard = false;
    std::string save_tb_folder = "tb";
    std::optional<double> peak_tflops;       ///< unset: looked up by the device's name; unknown for CPUs
    std::optional<std::string> status_file;  ///< below job.dump_folder unless absolute; unset: not written
  } metrics;

  struct Profiling {
    bool enable_profiling = false;
    std::string save_traces_folder = "profile_traces";
    std::int64_t profile_freq = 10;
  } profiling;

  struct Comm {
    double init_timeout_seconds = 300, train_timeout_seconds = 100;
    std::int64_t exchange_bytes = 256 << 20;
  } comm;

  struct Debug {
    std::optional<std::int64_t> seed;
    std::optional<std::int64_t> stop_at_step;
    bool deterministic = true;  ///< on a GPU; the CPU is always deterministic
  } debug;
};

}  // namespace titan::recipe
