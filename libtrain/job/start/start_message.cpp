#include "libtrain/job/start/start_message.h"

#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/manifest_decode.h"
#include "ckpt/format/member_names.h"
#include "ckpt/read/reader.h"
#include "libtrain/job/control/message.h"

namespace titan::train {

std::string encode_start(const StartMessage& word) {
  const StartDecision& decision = word.decision;
  MessageWriter out;
  out.number(static_cast<std::uint64_t>(decision.mode))
      .text(decision.path)
      .number(decision.step)
      .text(decision.origin)
      .number(decision.may_fall_back ? 1 : 0)
      .number(decision.near ? 1 : 0)
      .number(decision.durable ? 1 : 0)
      .number(word.seed)
      .text(word.processor);
  out.number(decision.manifest ? 1 : 0);
  if (decision.manifest) out.number(decision.manifest->minor).text(ckpt::encode_manifest(*decision.manifest));
  for (const auto& [component, text] : word.json) out.text(component).text(text);
  return out.take();
}

ckpt::Result<StartMessage> decode_start(std::string_view bytes) {
  MessageReader in(bytes);
  StartMessage word;
  StartDecision& decision = word.decision;
  decision.mode = static_cast<StartMode>(in.number());
  decision.path = in.text();
  decision.step = in.number();
  decision.origin = in.text();
  decision.may_fall_back = in.number() != 0;
  decision.near = in.number() != 0;
  decision.durable = in.number() != 0;
  word.seed = in.number();
  word.processor = in.text();
  if (in.number() != 0) {
    const auto minor = static_cast<std::uint32_t>(in.number());
    auto manifest = ckpt::decode_manifest(decision.path + "/" + ckpt::kManifestFile, in.text());
    // The message is damaged, not the checkpoint: an older step would not help.
    if (!manifest.ok()) return ckpt::failed(manifest.status().message).wrapped("the manifest that rank 0 sent");
    decision.manifest = std::move(*manifest);
    decision.manifest->minor = minor;  // the text has the lowest minor version that suffices, not the one of the file
  }
  while (!in.at_end()) {
    std::string component = in.text();
    word.json[std::move(component)] = in.text();
  }
  return word;
}

ckpt::Result<std::map<std::string, std::string>> json_texts(const ckpt::CheckpointReader& reader) {
  std::map<std::string, std::string> texts;
  for (const char* component : {ckpt::kLrScheduler, ckpt::kDataloader, ckpt::kTrainState}) {
    if (reader.manifest().component(component) == nullptr) continue;
    TITAN_ASSIGN_OR_RETURN(texts[component], reader.json_text(component));
  }
  return texts;
}

}  // namespace titan::train
