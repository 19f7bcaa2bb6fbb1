#pragma once
// The program titan-ckpt: its verbs and flags, and the function of each verb.
#include "cli/kit/verb.h"

namespace titan::cli {

/// Every verb and flag.
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
/// `pin`, and `unpin` by the verb's name.
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

/// `verify --repair`, and whether flags of a repair were typed.
ckpt::Result<Answer> run_repair(const Request& request);
bool asks_for_repair(const Command& command);
/// `verify CKPT --key PUB`, and whether flags of that were typed.
ckpt::Result<Answer> run_check_signature(const Request& request);
bool asks_for_signature(const Command& command);

/// Adds the next command to an error: the one that lists all damage, or the one that converts the checkpoint.
void explain_error(const Request& request, ckpt::Status& error);

}  // namespace titan::cli
