#include "ckpt/store/output_file.h"

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/store/destination.h"
#include "ckpt/store/put_file.h"

namespace titan::ckpt {

OutputFile::OutputFile(Fs& fs, const std::string& out)
    : fs_(fs), made_(fs), out_(out), temporary_(temporary_path(out)) {}

Result<std::unique_ptr<OutputFile>> OutputFile::create(Fs& fs, const std::string& out) {
  TITAN_RETURN_IF_ERROR(check_output_file(fs, out));
  TITAN_ASSIGN_OR_RETURN(const Parent parent, find_parent(fs, out));
  std::unique_ptr<OutputFile> file(new OutputFile(fs, out));
  TITAN_RETURN_IF_ERROR(file->made_.make(parent));
  Result<std::unique_ptr<File>> made = fs.create(file->temporary_);
  if (!made.ok()) return as_wrong_path(made.status(), out);
  file->file_ = std::move(*made);
  return file;
}

Status write_output(Fs& fs, const std::string& out, std::string_view text) {
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> file, OutputFile::create(fs, out));
  TITAN_RETURN_IF_ERROR(file->append(std::as_bytes(std::span(text))));
  return file->publish();
}

OutputFile::~OutputFile() {
  if (file_ && !published_) (void)fs_.remove_file(temporary_);
}

Status OutputFile::append(std::span<const std::byte> bytes) {
  TITAN_RETURN_IF_ERROR(file_->pwrite(offset_, bytes));
  offset_ += bytes.size();
  return ok_status();
}

Status OutputFile::publish() {
  TITAN_RETURN_IF_ERROR(file_->datasync());
  TITAN_RETURN_IF_ERROR(file_->close());
  TITAN_RETURN_IF_ERROR(check_output_file(fs_, out_));
  TITAN_RETURN_IF_ERROR(fs_.rename(temporary_, out_));
  published_ = true;
  return fs_.sync_dir(parent_path(out_));
}

}  // namespace titan::ckpt
