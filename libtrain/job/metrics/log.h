#pragma once
// Log lines "2026-01-02T03:04:05.678Z I r0 message key=value" on stderr and in logs/rank-N.log. Only log.cpp uses
// spdlog.
#include <functional>
#include <string>

#include "ckpt/base/status.h"

namespace titan::train {

/// Sets up this process's log. stderr: info and above on rank 0, warnings and above on other ranks. If `run_dir` is not
/// empty, `<run_dir>/logs/rank-N.log` gets everything from debug on, written by a background thread. Call it again to
/// change the setup. Returns why the log file could not be opened; else, and without `run_dir`, an empty text. A run
/// continues without the file.
std::string init_log(int rank, const std::string& run_dir);
enum class LogLevel { kInfo, kWarn, kError };
/// From the next init_log() on, messages for stderr go to `show` instead, for a program that draws on the terminal
/// itself. `show` is called by one thread at a time.
void show_log(std::function<void(LogLevel, const std::string& message)> show);
/// The path of a rank's log; empty without a run folder.
std::string rank_log(int rank, const std::string& run_dir);
/// Log a message as one line; control characters in it are escaped.
void log_debug(const std::string& message);
void log_info(const std::string& message);
void log_warn(const std::string& message);
void log_error(const std::string& message);
/// Waits until the log file has all messages, but at most 2 s, and not for a store that refuses them.
void flush_log();
/// Message, causes and hint of `status` as one log line.
std::string log_text(const ckpt::Status& status);

}  // namespace titan::train
