#include "libtrain/metrics/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <memory>
#include <mutex>

#include "ckpt/base/fs.h"
#include "ckpt/base/printable.h"
#include "ckpt/base/table_line.h"

namespace titan::train {
namespace {

using Logger = std::shared_ptr<spdlog::logger>;

std::mutex g_mutex;
Logger g_logger;
std::function<void(LogLevel, const std::string&)> g_show;

/// Hands messages on, without time and rank.
class ShowSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit ShowSink(std::function<void(LogLevel, const std::string&)> show) : show_(std::move(show)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& line) override {
    const LogLevel level = line.level >= spdlog::level::err    ? LogLevel::kError
                           : line.level >= spdlog::level::warn ? LogLevel::kWarn
                                                               : LogLevel::kInfo;
    show_(level, std::string(line.payload.data(), line.payload.size()));
  }
  void flush_() override {}

 private:
  std::function<void(LogLevel, const std::string&)> show_;
};

// Under g_mutex.
Logger make_logger(int rank, const std::string& run_dir, std::string* file_error) {
  spdlog::sink_ptr console = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (g_show) console = std::make_shared<ShowSink>(g_show);
  console->set_level(rank == 0 ? spdlog::level::info : spdlog::level::warn);
  auto logger = std::make_shared<spdlog::logger>("titan", console);
  if (!run_dir.empty()) {
    const std::string path = rank_log(rank, run_dir);
    // Folders that spdlog makes are closed to the group, whatever the umask says.
    const ckpt::Status made = ckpt::make_dirs(ckpt::posix_fs(), ckpt::parent_path(path));
    try {
      if (!made.ok()) throw spdlog::spdlog_ex(made.message);
      auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);  // appends
      file->set_level(spdlog::level::debug);
      logger->sinks().push_back(file);
    } catch (const spdlog::spdlog_ex& error) {
      *file_error = "no log file: " + std::string(error.what());  // training goes on without
    }
  }
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::debug);  // lines are few, and a rank may be killed at any time
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      "%Y-%m-%dT%H:%M:%S.%eZ %L r" + std::to_string(rank) + " %v", spdlog::pattern_time_type::utc));
  return logger;
}

/// The present logger; before init_log() that of rank 0 without a file.
Logger logger() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  std::string ignored;
  if (!g_logger) g_logger = make_logger(0, "", &ignored);
  return g_logger;
}

void log(spdlog::level::level_enum level, const std::string& message) {
  // The overload without format arguments: braces in a message are text.
  // Messages name settings and paths that others wrote: a line break or an escape sequence in them must not forge a
  // line.
  logger()->log(level, spdlog::string_view_t(ckpt::printable(message)));
}

}  // namespace

void show_log(std::function<void(LogLevel, const std::string& message)> show) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_show = std::move(show);
}

std::string init_log(int rank, const std::string& run_dir) {
  std::string file_error;
  const std::lock_guard<std::mutex> lock(g_mutex);
  Logger fresh = make_logger(rank, run_dir, &file_error);
  if (g_logger) g_logger->flush();
  g_logger = std::move(fresh);
  return file_error;
}

std::string rank_log(int rank, const std::string& run_dir) {
  return run_dir.empty() ? "" : run_dir + "/logs/rank-" + std::to_string(rank) + ".log";
}

void log_debug(const std::string& message) { log(spdlog::level::debug, message); }
void log_info(const std::string& message) { log(spdlog::level::info, message); }
void log_warn(const std::string& message) { log(spdlog::level::warn, message); }
void log_error(const std::string& message) { log(spdlog::level::err, message); }
void flush_log() { logger()->flush(); }

std::string log_text(const ckpt::Status& status) {
  std::string text = status.message;
  for (const std::string& cause : status.causes)
    text += ckpt::is_table_line(cause) ? "; " + ckpt::cause_text(cause) : "; caused by: " + cause;
  return status.hint.empty() ? text : text + "; hint: " + status.hint;
}

}  // namespace titan::train
