#include "ckpt/base/hash.h"
#include "ckpt/base/printed.h"
#include "cli/titan_ckpt/verbs.h"

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/ops/sign.h"
#include "ckpt/run/run_resolve.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/output.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/kit/work.h"
#include "converters/list.h"

namespace titan::cli {
namespace {

ckpt::Result<ckpt::SignOptions> read_options(const Request& request) {
  const Command& command = request.command;
  ckpt::SignOptions options;
  TITAN_ASSIGN_OR_RETURN(
      options.path, ckpt::resolve_checkpoint(request.fs, convert::resolve_any(request.fs, command.positionals[0])));
  TITAN_ASSIGN_OR_RETURN(const ckpt::FileInfo info, request.fs.stat(options.path));
  if (info.type == ckpt::FileType::kFile)
    return ckpt::unsupported(options.path + " is one file: signatures of those are not supported yet")
        .with_hint("sign its folder");
  // Refuses a folder that is neither a Titan checkpoint nor one of a known format.
  if (!request.fs.stat(ckpt::join_path(options.path, ckpt::kManifestFile)).ok()) {
    TITAN_ASSIGN_OR_RETURN(const convert::Format* const format, convert::detect_format(request.fs, options.path));
    if (format == nullptr)
      return convert::explained(request.fs, options.path, ckpt::no_manifest(request.fs, options.path));
  }
  if (const std::optional<std::string> key = command.value("key")) options.key = *key;
  TITAN_ASSIGN_OR_RETURN(options.threads, thread_count(command));
  return options;
}

std::string sign_json(const ckpt::SignReport& report) {
  JsonOut json("titan.sign/1");
  json.path("path", report.path);
  json.path("signature", report.signature);
  json.members("key", ckpt::hex_of(report.key), "files", report.files, "bytes", report.bytes);
  return json.document();
}

std::string check_json(const ckpt::SignatureCheck& check) {
  JsonOut json("titan.signature-check/1");
  json.path("path", check.path);
  json.path("signature", check.signature);
  json.members("ok", check.wrong.empty(), "key", ckpt::hex_of(check.key), "wrong", check.wrong, "files", check.files,
               "bytes", check.bytes);
  return json.document();
}

std::string check_text(const ckpt::SignatureCheck& check, const TextStyle& style) {
  const Palette& palette = style.palette;
  if (check.wrong.empty())
    return palette.paint(Role::kOk, "signed") + "  " + escape(check.path) + "  by " + ckpt::hex_of(check.key) + ": " +
           ckpt::counted(check.files, "file") + ", " + format_bytes(check.bytes, style.exact_bytes) + "\n";
  std::string out = palette.paint(Role::kError, "not as signed") + "  " + escape(check.path) + "\n";
  for (const std::string& why : check.wrong) out += "  " + escape(why) + "\n";
  return out;
}

}  // namespace

ckpt::Result<Answer> run_sign(const Request& request) {
  if (!request.command.has("key"))
    return ckpt::invalid("`sign` needs `--key KEY`, an Ed25519 private key as PEM")
        .with_hint("`openssl genpkey -algorithm ed25519 -out KEY.pem` makes one");
  TITAN_ASSIGN_OR_RETURN(ckpt::SignOptions options, read_options(request));
  if (const std::optional<std::string> out = request.command.value("output")) options.signature = *out;
  options.force = request.command.has("force");
  const Work work(request, options, "sign " + options.path);
  TITAN_ASSIGN_OR_RETURN(const ckpt::SignReport report, ckpt::sign_checkpoint(request.fs, options));
  if (request.json) return Answer{.text = sign_json(report)};
  return Answer{.text = request.style.palette.paint(Role::kOk, "signed") + "  " + escape(report.path) + "  by " +
                        ckpt::hex_of(report.key) + ": " + ckpt::counted(report.files, "file") + ", " +
                        format_bytes(report.bytes, request.style.exact_bytes) + "; " + escape(report.signature) + "\n"};
}

bool asks_for_signature(const Command& command) { return command.has("key") || command.has("signature"); }

ckpt::Result<Answer> run_check_signature(const Request& request) {
  if (asks_for_repair(request.command))
    return ckpt::invalid("`--key` compares with a signature, and `--repair` makes another checkpoint")
        .with_hint("verify what a repair has made");
  if (!request.command.has("key"))
    return ckpt::invalid("`--signature` is for `verify --key PUB`")
        .with_hint("`titan-ckpt verify CKPT --key PUB --signature FILE` compares with what was signed");
  TITAN_ASSIGN_OR_RETURN(ckpt::SignOptions options, read_options(request));
  if (const std::optional<std::string> file = request.command.value("signature")) options.signature = *file;
  const Work work(request, options, "verify " + options.path);
  TITAN_ASSIGN_OR_RETURN(const ckpt::SignatureCheck check, ckpt::check_signature(request.fs, options));
  return Answer{.text = request.json ? check_json(check) : check_text(check, request.style),
                .exit_code = check.wrong.empty() ? 0 : 1};
}

}  // namespace titan::cli
