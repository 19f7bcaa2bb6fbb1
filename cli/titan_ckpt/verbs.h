#pragma once
// The program titan-ckpt: its table of verbs and flags, and the function that runs each verb (run_VERB).
#include "cli/kit/verb.h"

namespace titan::cli {

/// The table of all verbs and flags.
Program titan_ckpt_program();

ckpt::Result<Answer> run_advise(const Request& request);
ckpt::Result<Answer> run_apply(const Request& request);
ckpt::Result<Answer> run_blame(const Request& request);
ckpt::Result<Answer> run_cat(const Request& request);
ckpt::Result<Answer> run_convert(const Request& request);
ckpt::Result<Answer> run_diff(const Request& request);
ckpt::Result<Answer> run_du(const Request& request);
ckpt::Result<Answer> run_inspect(const Request& request);
ckpt::Result<Answer> run_log(const Request& request);
ckpt::Result<Answer> run_lr(const Request& request);
ckpt::Result<Answer> run_ls(const Request& request);
ckpt::Result<Answer> run_merge(const Request& request);
ckpt::Result<Answer> run_parity(const Request& request);
ckpt::Result<Answer> run_patch(const Request& request);
/// The verbs `pin` and `unpin`.
ckpt::Result<Answer> run_pin(const Request& request);
ckpt::Result<Answer> run_plot(const Request& request);
ckpt::Result<Answer> run_prune(const Request& request);
ckpt::Result<Answer> run_reshard(const Request& request);
ckpt::Result<Answer> run_scrub(const Request& request);
ckpt::Result<Answer> run_sign(const Request& request);
ckpt::Result<Answer> run_strip(const Request& request);
ckpt::Result<Answer> run_tokenize(const Request& request);
ckpt::Result<Answer> run_tokens(const Request& request);
ckpt::Result<Answer> run_verify(const Request& request);

/// `verify --repair`.
ckpt::Result<Answer> run_repair(const Request& request);
/// Whether `command` has --repair or a flag that only a repair takes.
bool asks_for_repair(const Command& command);
/// `verify CKPT --key PUB`.
ckpt::Result<Answer> run_check_signature(const Request& request);
/// Whether `command` has --key or a flag that only the check of a signature takes.
bool asks_for_signature(const Command& command);

/// Adds a command to paste to the hint of an error. For damage: the command that lists all damaged places. For a verb
/// that cannot read the format of another program: the command that converts the checkpoint.
void explain_error(const Request& request, ckpt::Status& error);

}  // namespace titan::cli
