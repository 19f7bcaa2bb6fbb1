#include <algorithm>
#include <string>

#include "ckpt/base/printed.h"
#include "ckpt/base/quoting.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/json_out.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"
#include "cli/titan_ckpt/verbs.h"
#include "recipe/history/advise.h"

namespace titan::cli {
namespace {

using recipe::AdviseReport;
using recipe::IntervalAdvice;

std::string parameters_text(std::uint64_t count) {
  return count >= 1'000'000'000 ? format_rounded(static_cast<double>(count) / 1e9, 3) + "B" : format_count(count);
}

/// `text` wrapped at `width` columns; the first line is indented by two blanks, the others by four.
std::string folded(const std::string& text, std::size_t width) {
  std::string out, line = " ";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (display_width(line) + 1 + display_width(word) > width && begin > 0) {
      out += line + "\n";
      line = "   ";
    }
    line += " " + word;
    begin = end + 1;
  }
  return out + line + "\n";
}

class Text {
 public:
  Text(const AdviseReport& report, const std::string& run, bool mtbf_given, const TextStyle& style)
      : report_(report), run_(run), mtbf_given_(mtbf_given), style_(style) {}

  std::string text() {
    record();
    disk();
    budget();
    std::string out = facts_.render(style_.palette) + intervals() + larger() + paste();
    if (report_.not_known.empty()) return out;
    out += heading(style_.palette, "not known");
    for (const std::string& line : report_.not_known) out += folded(escape(line), 80);
    return out;
  }

 private:
  std::string size(std::uint64_t bytes) const { return format_bytes(bytes, style_.exact_bytes); }

  void record() {
    const recipe::SaveRecord& record = report_.record;
    std::string run = "no step yet";
    if (record.last_step > 0)
      run = "steps " + format_count(record.first_step) + " to " + format_count(record.last_step);
    if (record.resumes > 0)
      run += ", resumed " + ckpt::counted(record.resumes, "time") + " (planned stops are among them)";
    facts_.add("run", run);
    if (record.step_s)
      facts_.add("a step",
                 format_rounded(*record.step_s, 3) + " s, median of the last " + format_count(record.step_median_of));
    if (record.saves == 0) return;
    std::string saves = format_count(record.saves);
    if (record.failed > 0) saves += ", " + format_count(record.failed) + " failed";
    if (record.save_s) saves += ", one takes " + format_rounded(*record.save_s, 3) + " s";
    if (record.stall_s) saves += ", of which training waits " + format_rounded(*record.stall_s, 3) + " s";
    if (record.saves_total_s > 0 && record.steps_total_s > 0)
      saves += "; " + format_share(record.saves_total_s / (record.saves_total_s + record.steps_total_s), 2) +
               " of the time so far";
    facts_.add("saves", saves);
  }

  void disk() {
    std::string there = ckpt::counted(report_.steps_there, "step") + ", " + size(report_.bytes_there);
    if (report_.free) there += "; free: " + size(*report_.free);
    facts_.add("on disk", there);
    if (report_.one_save) facts_.add("one save", size(*report_.one_save));
    if (report_.needed) {
      facts_.add("needed", size(*report_.needed) + " for keep_latest_k = " + std::to_string(report_.keep_latest_k) +
                               ", and one more while it is written");
      if (report_.free && *report_.needed > *report_.free + report_.bytes_there)
        facts_.add("", "there is not so much space");
    } else if (report_.has_settings && report_.saves_enabled && report_.keep_latest_k == 0 && report_.one_save) {
      facts_.add("needed", "keep_latest_k = 0 keeps all: " + size(*report_.one_save) + " more with each save");
    }
  }

  void budget() {
    if (!report_.fit) return;
    const recipe::RetentionFit& fit = *report_.fit;
    if (fit.keep_last == 0) {
      facts_.add("budget",
                 size(*report_.budget) + " is too little: one step and the next save take " + size(fit.least_budget));
    } else {
      facts_.add("budget", size(*report_.budget) + ": keep " + ckpt::counted(fit.keep_last, "step") + "; at most " +
                               size(fit.most_bytes) + " while one more is written");
    }
    if (fit.keep_last == 1) facts_.add("", "one step alone: if it is damaged, there is no older one to resume");
    if (fit.fixed_bytes > 0) facts_.add("", size(fit.fixed_bytes) + " of that are in steps that no rule deletes");
  }

  std::string intervals() const {
    if (!report_.best) return "";
    Table table({{},
                 {"every", Align::kRight},
                 {"", Align::kRight},
                 {"loses", Align::kRight},
                 {"saving", Align::kRight},
                 {"done again", Align::kRight}});
    const auto row = [&](const char* name, const IntervalAdvice& one) {
      table.row({name, ckpt::counted(one.steps, "step"), format_duration(one.seconds), format_share(one.lost.sum(), 2),
                 format_share(one.lost.saves, 2), format_share(one.lost.again, 2)});
    };
    if (report_.now) row("now", *report_.now);
    row("best", *report_.best);
    return heading(style_.palette, "save interval, for a failure every " + format_duration(report_.mtbf_s) +
                                       " on average" + (mtbf_given_ ? "" : " (--mtbf says yours)")) +
           table.render(style_.palette, "  ");
  }

  std::string larger() const {
    if (report_.larger.empty()) return "";
    const bool timed = report_.larger.front().save_s.has_value();
    std::vector<Column> columns{{"parameters", Align::kRight}, {"a save", Align::kRight}};
    if (timed) columns.insert(columns.end(), {{"takes", Align::kRight}, {"save every", Align::kRight}});
    Table table(columns);
    for (const recipe::LargerRun& row : report_.larger) {
      std::vector<Cell> cells{parameters_text(row.parameters), size(row.save_bytes)};
      if (timed) {
        cells.push_back(format_duration(row.save_s.value_or(0)));
        cells.push_back(format_duration(row.interval_s.value_or(0)));
      }
      table.row(cells);
    }
    return heading(style_.palette,
                   "a larger model, saved like this one (" + parameters_text(report_.parameters) + " parameters)") +
           table.render(style_.palette, "  ");
  }

  std::string paste() const {
    const bool keeps = report_.fit && report_.fit->keep_last > 0;
    if (!report_.best && !keeps) return "";
    std::string out = heading(style_.palette, "to paste") + "  [checkpoint]\n";
    if (report_.best) {
      out += "  interval = " + std::to_string(report_.best->steps) + "\n";
      if (report_.steps > 0 && report_.best->steps >= report_.steps)
        out +=
            "  # not before the end of this run (" + ckpt::counted(report_.steps, "step") + "), which always saves\n";
    }
    if (!keeps) return out;
    const recipe::RetentionFit& fit = *report_.fit;
    out += "  keep_latest_k = " + std::to_string(fit.keep_last) + "\n";
    if (fit.steps_to_delete == 0) return out + "  # nothing to delete now\n";
    return out + "  # frees " + size(fit.bytes_to_delete) + " now, " + ckpt::counted(fit.steps_to_delete, "step") +
           ":\n  titan-ckpt prune " + escape(ckpt::shell_word(run_)) + " --keep-last " + std::to_string(fit.keep_last) +
           "\n";
  }

  const AdviseReport& report_;
  const std::string& run_;
  bool mtbf_given_;
  const TextStyle& style_;
  Facts facts_;
};

/// `run`: the run as typed, for command lines to paste. `mtbf_given`: the user has given the mean time between
/// failures.
std::string advise_text(const AdviseReport& report, const std::string& run, bool mtbf_given, const TextStyle& style) {
  return Text(report, run, mtbf_given, style).text();
}

void interval(JsonOut& json, const char* key, const std::optional<recipe::IntervalAdvice>& advice) {
  if (!advice) return json.null(key);
  json.object(key, "steps", advice->steps, "seconds", advice->seconds, "lost_saving", advice->lost.saves, "lost_again",
              advice->lost.again);
}

void fit(JsonOut& json, const std::optional<recipe::RetentionFit>& fit) {
  if (!fit) return json.null("retention");
  json.object("retention", "keep_last", fit->keep_last, "fixed_bytes", fit->fixed_bytes, "most_bytes", fit->most_bytes,
              "least_budget", fit->least_budget, "steps_to_delete", fit->steps_to_delete, "bytes_to_delete",
              fit->bytes_to_delete);
}

std::string advise_json(const recipe::AdviseReport& report) {
  const recipe::SaveRecord& record = report.record;
  JsonOut json("titan.advise/1");
  json.path("metrics", report.metrics);
  json.members("first_step", record.first_step, "last_step", record.last_step, "resumes", record.resumes, "step_s",
               record.step_s);
  json.object("saves", "count", record.saves, "failed", record.failed, "seconds", record.save_s, "stall_s",
              record.stall_s, "total_s", record.saves_total_s, "steps_total_s", record.steps_total_s);
  json.real("mtbf_s", report.mtbf_s);
  interval(json, "now", report.now);
  interval(json, "best", report.best);
  json.object("disk", "steps", report.steps_there, "bytes", report.bytes_there, "one_save", report.one_save, "needed",
              report.needed, "free", report.free);
  json.count("budget", report.budget);
  fit(json, report.fit);
  json.count("parameters", report.parameters);
  json.each("larger", report.larger, [&](const recipe::LargerRun& row) {
    json.members("parameters", row.parameters, "save_bytes", row.save_bytes);
    json.members("save_s", row.save_s, "interval_s", row.interval_s);
  });
  json.list("not_known", report.not_known);
  return json.document();
}

}  // namespace

ckpt::Result<Answer> run_advise(const Request& request) {
  recipe::AdviseOptions options;
  options.run = request.command.positionals[0];
  TITAN_RETURN_IF_ERROR(
      read_flag(request.command, "mtbf", "a time: 90s, 45m, 6h, 1.5d", parse_duration, options.mtbf_s));
  TITAN_RETURN_IF_ERROR(
      read_flag(request.command, "budget", "a size: 100GB, 512MiB, or bytes", parse_bytes, options.budget));
  TITAN_ASSIGN_OR_RETURN(const recipe::AdviseReport report, recipe::advise_run(request.fs, options));
  return Answer{.text = request.json ? advise_json(report)
                                     : advise_text(report, options.run, request.command.has("mtbf"), request.style)};
}

}  // namespace titan::cli
