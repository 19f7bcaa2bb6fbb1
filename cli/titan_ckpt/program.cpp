#include "cli/titan_ckpt/program.h"

#include "ckpt/run/run_resolve.h"
#include "cli/kit/completion.h"
#include "cli/kit/notices.h"
#include "cli/titan_ckpt/advise.h"
#include "cli/titan_ckpt/cat.h"
#include "cli/titan_ckpt/convert.h"
#include "cli/titan_ckpt/diff.h"
#include "cli/titan_ckpt/du.h"
#include "cli/titan_ckpt/explain_error.h"
#include "cli/titan_ckpt/inspect.h"
#include "cli/titan_ckpt/log.h"
#include "cli/titan_ckpt/lr.h"
#include "cli/titan_ckpt/ls.h"
#include "cli/titan_ckpt/merge.h"
#include "cli/titan_ckpt/parity.h"
#include "cli/titan_ckpt/pin.h"
#include "cli/titan_ckpt/plot.h"
#include "cli/titan_ckpt/prune.h"
#include "cli/titan_ckpt/reshard.h"
#include "cli/titan_ckpt/scrub.h"
#include "cli/titan_ckpt/strip.h"
#include "cli/titan_ckpt/tokenize.h"
#include "cli/titan_ckpt/verify.h"
#include "converters/view.h"
#include "recipe/record/best_step.h"

namespace titan::cli {
namespace {

std::string meant_by_path(const std::string& path) {
  const bool is_run = ckpt::resolve_run(ckpt::posix_fs(), path).ok();
  return is_run ? "titan-ckpt ls " + path + "` or `titan-ckpt inspect " + path + "@latest"
                : "titan-ckpt inspect " + path;
}

}  // namespace

Program titan_ckpt_program() {
  const Flag force{"force", "", "replace DST where it is a checkpoint itself"};
  const Flag verify_first{
      "verify", "", "check every digest of SRC first (always with --force); else its files are taken over unread"};
  const Flag dry_run{"dry-run", "", "show what would be done, write nothing"};
  const auto only_after = [](const char* word, Flag flag) {
    flag.after = word;
    return flag;
  };
  const Flag threads{"threads", "N", "threads that read and compute; by default as many as suit disk and cores"};
  return {
      "titan-ckpt",
      "looks into checkpoints; CKPT is a checkpoint folder, RUN@step, RUN@latest, or RUN@best by validation loss",
      {
          {"ls",
           {{"RUN", Names::kRun, Takes::kForeign}},
           "steps of a run; the one that a resume takes, and why not the others",
           {},
           run_ls},
          {"inspect",
           {{"CKPT", Names::kSource, Takes::kForeign}},
           "components, mesh, stages, LR schedule, data position, tensors",
           {{"tensors", "GLOB", "list the tensors whose names match"},
            {"stats", "", "read them: minimum, maximum, mean, deviation, norm, zeros, non-finite values"},
            {"sort", "norm|max|name", "with --stats: largest norm, or largest absolute value, first"},
            {"top", "N|all", "with --stats: show so many of them (all)"},
            {"config", "", "show the resolved configuration"},
            threads},
           run_inspect},
          {"verify",
           {{"CKPT|RUN", Names::kSource, Takes::kForeign}},
           "check every digest; name file, tensor, leaf and offset of any damage",
           {{"repair", "", "make a whole checkpoint of a damaged one, with its id, and verify it"},
            {"from", "OTHER", "with --repair: a step, copy or export that may have what is damaged", 0, Repeat::kMany},
            {"output", "DST", "with --repair: the checkpoint to be made", 'o'},
            {"force", "", "with --repair: replace DST where it is a checkpoint itself"},
            threads},
           run_verify},
          {"scrub",
           {{"RUN", Names::kRun}},
           "verify the steps of a run one after another at a bounded rate; the next call goes on where one was stopped",
           {{"rate", "MB/s", "read no more than that"},
            {"status", "FILE", "how it stands, in Prometheus' text format (RUN/scrub.prom)"},
            {"threads", "N", "threads that read and compute (1)"}},
           run_scrub},
          {"parity",
           {{"CKPT", Names::kSource}},
           "parity files, from which `verify --repair` makes lost or damaged files anew; the id stays",
           {{"files", "P", "so many files of the checkpoint may be lost, any of them: 0 (none) to 4"}, threads},
           run_parity},
          {"diff",
           {{"A", Names::kSource, Takes::kForeign}, {"B", Names::kSource, Takes::kForeign}},
           "what differs in the state; layout, configuration and history are notes",
           {{"only", "GLOB", "compare the tensors whose names match, and nothing else"},
            {"rtol", "R", "with --atol: |a - b| <= A + R x |b| counts as equal"},
            {"atol", "A", "see --rtol; each is 0 when only the other is given"},
            {"sort", "change|norm|name", "order of the tensors: relative change (default), |a - b|, name"},
            {"top", "N|all", "show so many of them (20)"},
            {"moments", "", "the optimizer's tensors, too"},
            {"stats", "", "also show means of the differences, and the first place that differs"},
            {"config", "", "let the notes count as differences, and list all of them"},
            threads},
           run_diff},
          {"cat",
           {{"CKPT", Names::kSource, Takes::kForeign}, {"TENSOR", Names::kTensor}},
           "one tensor or a slice of it (`NAME[0:10, :]`), whatever its sharding",
           {{"output", "FILE.npy", "write it as a NumPy file", 'o'}},
           run_cat},
          {"reshard",
           {{"SRC", Names::kSource}, {"DST", Names::kDestination}},
           "the same checkpoint for another mesh, other stages or another compression",
           {{"dp", "D", "data-parallel degree"},
            {"pp", "P", "pipeline degree; stages are cut by cost"},
            {"stages", "LAYOUT", "cut stages like this: Et*2|t*2L (E embedding, t layer, L norm, head and loss)"},
            {"placement", "loop|v", "several stages a rank, in turn or in a V: two, or those of --stages"},
            {"compression", "none|zstd", "recode every leaf; else each keeps its form"},
            {"dry-run", "", "show files, bytes, ranges and memory; write nothing"},
            {"force", "", "replace DST if it is a checkpoint"},
            {"memory", "BYTES", "bound of buffers and tables (256MiB)"},
            {"threads", "N", "threads that move leaves (4); fewer where --memory has no room for them"}},
           run_reshard},
          {"strip",
           {{"SRC", Names::kSource}, {"DST", Names::kDestination}},
           "drop the optimizer state; what stays is hard-linked where the file system can",
           {{"keep", "model", "keep the parameters alone, without schedule, data position and history"},
            {"dtype", "bf16|f32", "convert the parameters, rounding to nearest, ties to even"},
            verify_first,
            force,
            dry_run},
           run_strip},
          {"lr",
           {{"show|set"}, {"CKPT", Names::kSource}, {"DST", Names::kDestination, Takes::kOurs, false}},
           "show CKPT: the curve, the resume point marked; set SRC DST: a checkpoint with another schedule, previewed "
           "first",
           {only_after("show", {"config", "CONFIG", "what each policy would make of this configuration"}),
            only_after("set", {"steps", "N", "the new end of curve and training"}),
            only_after("set", {"policy", "keep|rescale|extend|rewarm|config", "what becomes of the curve"}),
            only_after("set", {"peak", "X", "new optimizer.lr"}),
            only_after("set", {"warmup", "N", "new lr_scheduler.warmup_steps"}),
            only_after("set", {"decay-ratio", "R|none", "new lr_scheduler.decay_ratio"}),
            only_after("set", {"decay-type", "linear|sqrt|cosine", "new lr_scheduler.decay_type"}),
            only_after("set", {"min-factor", "M", "new lr_scheduler.min_lr_factor"}),
            only_after("set", {"rewarm-from", "zero|present", "where the policy rewarm starts"}),
            only_after("set", verify_first), only_after("set", force), only_after("set", dry_run)},
           run_lr},
          {"merge",
           {{.name = "SRC...", .names = Names::kSource, .takes = Takes::kForeign, .many = true}},
           "the weighted sum of the parameters of several checkpoints: RUN@300..400, RUN@*00, folders",
           {{"output", "DST", "the checkpoint to be made, of parameters alone", 'o'},
            {"weights", "W",
             "mean, or as if the rate had decayed meanwhile: linear, 1-sqrt, cosine; or a number for each source: "
             "1,2,1"},
            {"ema", "BETA", "weights of an exponential average instead: the newest counts 1 - BETA"},
            threads,
            force,
            dry_run},
           run_merge},
          {"convert",
           {{"SRC", Names::kSource, Takes::kForeign}, {"DST", Names::kDestination, Takes::kForeign}},
           "from and to other formats",
           {{"from", "titan|hf|dcp|mistral|gguf|nanotron|deepspeed", "format of SRC; detected when left out"},
            {"to", "titan|hf|dcp|gguf|nanotron", "format of DST; titan when left out and SRC is foreign"},
            {"names", "torchtitan|torchtitan-0.3|hf",
             "with --to dcp: whose names the tensors have (torchtitan: 0.2.2)"},
            {"dry-run", "", "show what would be done and write nothing"},
            {"skip", "GLOB", "leave out the tensors of SRC whose names match", 0, Repeat::kMany},
            {"rename", "FROM=TO", "what tensors of a foreign SRC are called instead; * stands for a part without dots",
             0, Repeat::kMany},
            {"rows", "hf|interleaved", "how rows of queries and keys lie in a foreign SRC, whatever their names say"},
            {"dtype", "f32|bf16|f16|q8_0", "cast (not with --to titan); q8_0: --to gguf alone"},
            {"max-shard-size", "SIZE", "of one file: bytes, 5GB, 512MiB (hf: 5GB)"},
            {"untie", "", "write a tied head as a tensor of its own"},
            {"ema", "", "the average of the parameters that the run kept (training.ema), in their place"},
            {"config", "FILE.toml",
             "the configuration of a DCP checkpoint's run, torchtitan's or ours, to go on with it"},
            {"set", "SECTION.KEY=VALUE", "with --config: override a key of it, or add one (model.n_heads)", 0,
             Repeat::kMany},
            {"lr-from-config", "", "with --to dcp: take the learning rate's curve from --config"},
            {"force", "", "replace DST where it is a checkpoint of the format to be written, and nothing else"}},
           run_convert},
          {"prune",
           {{"RUN", Names::kRun}},
           "delete or thin the steps that no rule keeps; never the newest whole one, and never pinned or invalid ones",
           {{"keep-last", "N", "keep the newest N full steps"},
            {"keep-every", "N", "keep steps that N divides"},
            {"keep", "STEP[,STEP]", "keep these", 0, Repeat::kMany},
            {"thin", "N",
             "all but the newest N full steps keep their model alone; pinned ones and those of --keep stay whole"},
            {"damaged", "",
             "also free the damaged steps that saves moved aside (.damaged-step-N-*), except pinned ones"},
            {"dry-run", "", "say what would go and what stays, and delete nothing"}},
           run_prune},
          {"pin",
           {{.name = "CKPT...", .names = Names::kSource, .many = true}},
           "keep steps whatever the rules of retention and prune say: RUN@step, RUN@300..400; also of a live run",
           {},
           run_pin},
          {"unpin",
           {{.name = "CKPT...", .names = Names::kSource, .many = true}},
           "let rules delete these steps again",
           {},
           run_pin},
          {"log",
           {{"RUN", Names::kRun}},
           "the starts of a run: steps, layouts, settings and what was allowed, LR policies, skips, tools",
           {},
           run_log},
          {"blame",
           {{"RUN", Names::kRun}, {"KEY"}},
           "which start of a run set this key, with old and new values",
           {},
           run_blame},
          {"du",
           {{.name = "RUN...", .names = Names::kRun, .many = true}},
           "what the space of runs is made of, shared files once, and what each way of thinning frees",
           {},
           run_du},
          {"tokenize",
           {{.name = "FILE...", .many = true}},
           "token ids of texts, for training: text, JSON lines, both packed (.gz, .zst), folders of them, - for "
           "standard input",
           {{"output", "DATA", "the folder that is made", 'o'},
            {"tokenizer", "DIR", "a folder that holds tokenizer.json of Hugging Face, or that file"},
            {"field", "NAME", "the member of a line of JSON that is the text (text)"},
            {"completions", "", "lines of JSON have prompt and completion, and the completion alone is trained on"},
            {"messages", "FILE", "lines of JSON have messages; FILE says what stands around those of each role"},
            {"format", "text|jsonl", "what all files are; else names and contents say it"},
            {"split", "TEXT", "what stands between the documents of a text file (\\n\\n); else each file is one"},
            {"bos", "TOKEN|none", "begins each document; else what the tokenizer puts there"},
            {"eos", "TOKEN|none", "ends each document; else the tokenizer's eos_token"},
            {"replace-malformed", "", "put U+FFFD where bytes are no UTF-8, instead of giving up"},
            {"shard-size", "SIZE", "of a file of tokens (1GiB)"},
            {"threads", "N", "threads that encode; one a core when left out"},
            {"dry-run", "", "read and count, write nothing"},
            {"force", "", "replace DATA where it is a folder of tokens"}},
           run_tokenize},
          {"tokens",
           {{"DATA"}},
           "what a folder of tokens, or a file of ids, holds",
           {{"show", "N", "the first N documents as text"},
            {"tokenizer", "DIR", "with --show: the tokenizer of the ids; a folder of tokens has it, too"},
            {"token-dtype", "uint16|uint32", "of raw ids, little-endian (uint16)"},
            {"verify", "", "read all of it and compare every digest; of a file: every id and its index"}},
           run_tokens},
          completion_verb(),
          {"advise",
           {{"RUN", Names::kRun}},
           "save interval, cost of saves, disk needed, retention that fits a budget",
           {{"mtbf", "TIME", "a failure comes every so often on average: 90s, 45m, 6h, 3d (24h)"},
            {"budget", "SIZE", "disk for the steps of the run, for keep_latest_k and prune: 100GB, 512MiB"}},
           run_advise},
          {"plot",
           {{.name = "RUN...", .names = Names::kRun, .many = true}},
           "loss, learning rate, gradient norm and throughput of one run or several",
           {{"x", "step|tokens", "the x axis (step)"},
            {"y", "NAME[,NAME]", "panels: loss, lr, grad_norm, tps (all four)"},
            {"smooth", "W", "weight of an exponential average, 0 to below 1; raw values stay, faint"},
            {"from", "X", "leave out what lies before: a step, or tokens with --x tokens (200k, 1.5e9)"},
            {"to", "X", "leave out what lies behind"},
            {"log", "x|y|xy", "logarithmic axes"},
            {"ascii", "", "no braille dots; the default where the locale is not UTF-8"},
            {"output", "FILE.svg|FILE.html", "a picture, or a page with values under the pointer; replaces FILE", 'o'}},
           run_plot},
      },
      {
          {"json", "", "one JSON document on stdout; errors as JSON on stderr"},
          {"color", "auto|always|never", "auto: NO_COLOR, CLICOLOR_FORCE and the terminal decide"},
          {"bytes", "", "sizes as exact numbers of bytes"},
      },
      nullptr,
      explain_error,
      meant_by_path,
      {
          {{"list", "dir", "steps"}, "titan-ckpt ls RUN"},
          {{"show", "info", "describe", "print", "view", "stat", "stats"}, "titan-ckpt inspect CKPT"},
          {{"check", "validate", "fsck", "test"}, "titan-ckpt verify RUN"},
          {{"compare", "cmp"}, "titan-ckpt diff A B"},
          {{"dump", "get", "extract", "read"}, "titan-ckpt cat CKPT TENSOR"},
          {{"export"}, "titan-ckpt convert SRC DST --to hf"},
          {{"import"}, "titan-ckpt convert SRC DST"},
          {{"consolidate", "unshard", "gather"}, "titan-ckpt reshard SRC DST --dp 1 --pp 1"},
          {{"average", "avg", "soup", "ema", "lawa"}, "titan-ckpt merge RUN@300..400 -o DST"},
          {{"keep", "lock", "protect"}, "titan-ckpt pin RUN@step"},
          {{"split", "shard", "repartition"}, "titan-ckpt reshard SRC DST --dp D --pp P"},
          {{"compress"}, "titan-ckpt reshard SRC DST --compression zstd"},
          {{"slim", "weights"}, "titan-ckpt strip SRC DST --keep model"},
          {{"rm", "delete", "clean", "gc", "remove"}, "titan-ckpt prune RUN --keep-last N"},
          {{"schedule", "curve"}, "titan-ckpt lr show CKPT"},
          {{"run", "train", "resume"}, "titan-train run CONFIG.toml"},
          {{"sample", "generate", "chat"}, "titan-train sample CKPT --prompt TEXT"},
          {{"history", "attempts"}, "titan-ckpt log RUN"},
          {{"usage", "space", "disk"}, "titan-ckpt du RUN"},
          {{"graph", "chart"}, "titan-ckpt plot RUN"},
          {{"rewrite"}, "titan-ckpt reshard SRC DST, titan-ckpt lr set SRC DST"},
          {{"plan", "config", "eval"}, "titan-train --help"},
      },
      recipe::resolve_best,
      kNoticesOfTitanCkpt,
      {convert::words_after_run, convert::tensor_names},
  };
}

}  // namespace titan::cli
