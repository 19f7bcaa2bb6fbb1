#include "cli/titan_ckpt/convert.h"

#include "ckpt/plan/lr_settings.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/progress.h"
#include "cli/kit/stop.h"
#include "cli/kit/units.h"
#include "cli/kit/values.h"
#include "cli/kit/version.h"
#include "cli/titan_ckpt/carried.h"
#include "cli/titan_ckpt/verbs.h"
#include "converters/convert.h"
#include "converters/list.h"
#include "recipe/keys/rows.h"

namespace titan::cli {
namespace {

using convert::ConversionReport;
using convert::TensorReport;

std::string convert_json(const ConversionReport& report) {
  JsonOut json("titan.convert/1");
  json.path("source", report.source);
  json.path("destination", report.destination);
  json.members("from", report.from_format, "to", report.to_format, "dry_run", report.dry_run, "step", report.step);
  if (report.id) json.text("id", report.id->hex());
  json.count("bytes", report.bytes);
  if (report.rounding) {
    json.begin_object("rounding");
    rounding_json(json, report.rounding->error, report.rounding->tensor);
    json.end_object();
  }
  json.list("files", report.files);
  json.each("tensors", report.tensors, [&](const TensorReport& tensor) {
    json.members("from", tensor.from, "to", tensor.to, "fate", convert::fate_name(tensor.fate));
    json.members("from_dtype", ckpt::dtype_name(tensor.from_dtype), "to_dtype", convert::type_name(tensor));
    json.members("shape", tensor.shape, "permuted", tensor.permuted);
  });
  json.list("notes", report.notes);
  return json.document();
}

std::optional<ckpt::DType> float_type(const std::string& text) {
  constexpr std::pair<const char*, ckpt::DType> kNames[] = {
      {"f32", ckpt::DType::kF32}, {"bf16", ckpt::DType::kBF16}, {"f16", ckpt::DType::kF16}};
  for (const auto& [name, value] : kNames)
    if (text == name || text == ckpt::dtype_name(value)) return value;
  return std::nullopt;
}

ckpt::Result<convert::ConvertOptions> read_options(const Request& request) {
  const Command& command = request.command;
  convert::ConvertOptions options;
  options.source = convert::resolve_any(request.fs, command.positionals[0]);
  options.destination = command.positionals[1];
  options.from = command.value("from").value_or("");
  options.to = command.value("to").value_or("");
  options.force = command.has("force");
  options.dry_run = command.has("dry-run");
  options.untie = command.has("untie");
  options.averages = command.has("ema");
  options.lr_from_config = command.has("lr-from-config");
  if (const auto path = command.value("config")) {
    TITAN_ASSIGN_OR_RETURN(options.config, recipe::read_rows(request.fs, *path));
  }
  if (const auto set = command.values.find("set"); set != command.values.end()) {
    if (!options.config)
      return ckpt::invalid("`--set` changes what `--config` says, which is not given")
          .with_hint("add --config torchtitan.toml");
    for (const std::string& text : set->second) {
      TITAN_ASSIGN_OR_RETURN(const ckpt::Settings::value_type row, recipe::parse_row(text));
      TITAN_RETURN_IF_ERROR(convert::check_config_key(row.first));
      // File and flag may use different names for one key: the flag wins.
      std::erase_if(*options.config, [&](const auto& other) {
        return recipe::canonical_name(other.first) == recipe::canonical_name(row.first);
      });
      options.config = ckpt::with_rows(std::move(*options.config), {row});
    }
  }
  options.skip = command.all("skip");
  for (const std::string& rule : command.all("rename"))
    TITAN_RETURN_IF_ERROR(recipe::parse_rename("--rename", rule, options.rules));
  if (const auto rows = command.value("rows")) {
    TITAN_ASSIGN_OR_RETURN(options.rules.rows, recipe::parse_head_rows("--rows", *rows));
  }
  options.q8_0 = command.value("dtype") == "q8_0";
  if (!options.q8_0)
    TITAN_RETURN_IF_ERROR(read_flag(command, "dtype", "f32, bf16, f16 or q8_0", float_type, options.dtype));
  TITAN_RETURN_IF_ERROR(read_flag(command, "names", "torchtitan, torchtitan-0.3 or hf",
                                  word_of<convert::DcpNames>({{"torchtitan", convert::DcpNames::kTorchtitan},
                                                              {"torchtitan-0.3", convert::DcpNames::kNewerTorchtitan},
                                                              {"hf", convert::DcpNames::kHuggingface}}),
                                  options.names));
  TITAN_RETURN_IF_ERROR(
      read_flag(command, "max-shard-size", "a size like 5GB, 512MiB or 1000000", parse_bytes, options.max_shard_bytes));
  options.created = format_utc(request.style.now);
  options.writer = version_line("titan-ckpt");
  return options;
}

}  // namespace

ckpt::Result<Answer> run_convert(const Request& request) {
  TITAN_ASSIGN_OR_RETURN(convert::ConvertOptions options, read_options(request));
  const ckpt::CancelToken cancel = stop_on_signals();
  Progress progress(!request.json);
  progress.begin("convert");
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    progress.update(done, total);
    return cancel.check();
  };
  TITAN_ASSIGN_OR_RETURN(const convert::ConversionReport report, convert::convert_checkpoint(request.fs, options));
  return Answer{.text = request.json ? convert_json(report) : convert_text(report, request.style)};
}

}  // namespace titan::cli
