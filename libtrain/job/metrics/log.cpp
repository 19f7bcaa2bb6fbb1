#include "libtrain/job/metrics/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/path.h"
#include "ckpt/base/printable.h"
#include "ckpt/base/table_line.h"
#include "libtrain/job/metrics/background_writer.h"

namespace titan::train {
namespace {

using Logger = std::shared_ptr<spdlog::logger>;

constexpr std::chrono::seconds kGoodbye{2};  // for a store that does not answer

std::mutex g_mutex;
Logger g_logger;
std::function<void(LogLevel, const std::string&)> g_show;

/// Passes messages on, without time and rank.
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

/// A log file that other processes may append to as well.
class LogFile {
 public:
  explicit LogFile(std::string path)
      : path_(std::move(path)), fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {}
  ~LogFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  /// Why opening the file or the last write failed.
  ckpt::Status failure() const {
    ckpt::Status status = ckpt::failed(path_ + ": " + std::strerror(errno));
    status.error = errno;
    return status;
  }
  bool is_open() const { return fd_ >= 0; }
  /// Appends `line` from byte `at` on; advances `at` by the bytes written.
  ckpt::Status append(const std::string& line, std::size_t& at) const {
    while (at < line.size()) {
      const ssize_t count = ::write(fd_, line.data() + at, line.size() - at);
      if (count < 0 && errno != EINTR) return failure();
      if (count > 0) at += static_cast<std::size_t>(count);
    }
    return ckpt::ok_status();
  }

 private:
  const std::string path_;
  const int fd_;
};

/// Writes lines from a background thread, so that a hanging store blocks no logging thread.
class FileSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  FileSink(std::shared_ptr<LogFile> file, BackgroundWriter::Options options)
      : file_(std::move(file)), background_(std::move(options)) {}
  /// Waits for the logged lines, but not for a store that accepts nothing.
  void finish() {
    (void)background_.sync([] { return ckpt::ok_status(); }, kGoodbye);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    background_.add(BackgroundWriter::Keep::kWhileThereIsRoom, text.size(),
                    [file = file_, line = std::string(text.data(), text.size()),
                     at = std::make_shared<std::size_t>(0)] { return file->append(line, *at); });
  }
  void flush_() override {}

 private:
  std::shared_ptr<LogFile> file_;
  BackgroundWriter background_;
};

std::shared_ptr<FileSink> g_file;  // the file of g_logger; guarded by g_mutex

/// Null if the file cannot be opened.
std::shared_ptr<FileSink> open_file_sink(const std::string& path, const spdlog::sink_ptr& console, std::string* error) {
  const ckpt::Status made = ckpt::make_dirs(ckpt::posix_fs(), ckpt::parent_path(path));
  const auto file = std::make_shared<LogFile>(path);
  if (!file->is_open()) {
    *error = "no log file: " + (made.ok() ? file->failure() : made).message;  // training continues without it
    return nullptr;
  }
  BackgroundWriter::Options options;
  options.what = path;
  // Not through the logger: the message would be queued after the lines that it is about.
  options.say = [console](const std::string& line) {
    console->log({spdlog::source_loc{}, "titan", spdlog::level::warn, ckpt::printable(line)});
  };
  return std::make_shared<FileSink>(file, std::move(options));
}

// The caller holds g_mutex.
Logger make_logger(int rank, const std::string& run_dir, std::string* file_error) {
  spdlog::sink_ptr console = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (g_show) console = std::make_shared<ShowSink>(g_show);
  console->set_level(rank == 0 ? spdlog::level::info : spdlog::level::warn);
  auto logger = std::make_shared<spdlog::logger>("titan", console);
  g_file = run_dir.empty() ? nullptr : open_file_sink(rank_log(rank, run_dir), console, file_error);
  if (g_file) logger->sinks().push_back(g_file);
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::debug);
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

void flush_log() {
  logger()->flush();
  std::shared_ptr<FileSink> file;
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    file = g_file;
  }
  if (file) file->finish();
}

std::string log_text(const ckpt::Status& status) {
  std::string text = status.message;
  for (const std::string& cause : status.causes)
    text += ckpt::is_table_line(cause) ? "; " + ckpt::cause_text(cause) : "; caused by: " + cause;
  return status.hint.empty() ? text : text + "; hint: " + status.hint;
}

}  // namespace titan::train
