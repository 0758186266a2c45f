#include "core/workbench/cli/answers.h"

#include <algorithm>
#include <cstddef>

#include <ATen/ops/empty.h>

#include "core/kernel/config/trainable.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/distributed/together.h"
#include "core/workbench/infer/generate.h"
#include "core/workbench/score/bleu.h"
#include "core/workbench/score/chrf.h"
#include "core/workbench/train/all_stages.h"
#include "core/workbench/train/data_parallel.h"

namespace switchyard::cli {
namespace {

// Those of the first rank. Answers of one may take longer than ranks otherwise wait for each other.
void agree_on(const distributed::Mesh& mesh, at::Tensor& scores) {
    auto& world = mesh.world();
    const auto number = world.store().add("answers/" + std::to_string(world.rank()), 1);
    distributed::meet(world.store(), world.place(), "answered " + std::to_string(number), "",
                      train::long_wait_seconds);
    world.broadcast(scores, 0);
}

}  // namespace

std::string answers_problem(const train::Session& session, const std::vector<data::TextPair>& pairs) {
    if (auto problem = infer::model_problem(session.config(), session.tokenizer()); !problem.empty())
        return problem;
    for (const auto& pair : pairs) {
        const auto problem = infer::prompt_problem(session.config(), session.tokenizer(), pair.source);
        if (!problem.empty()) return "'" + pair.source.substr(0, 60) + "...': " + problem;
    }
    return "";
}

std::optional<score::Metrics> score_answers(
    train::Session& session, const std::vector<data::TextPair>& pairs,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress,
    const std::function<bool()>& stop_asked) {
    infer::GenerateOptions greedy;
    greedy.sampling.temperature = 0.0;
    infer::RowsOptions with;
    auto* const parts = session.model_parts();
    if (parts != nullptr) with.ranks = parts->tensor_ranks();
    const auto* const mesh = session.mesh();
    // One that ended alone would leave the others waiting for it.
    const auto stop = mesh != nullptr ? std::function<bool()>() : stop_asked;
    std::optional<train::AllStages> all;
    if (parts != nullptr && parts->mesh().pipeline() != nullptr)
        all = train::all_stages(session.config(), session.plan(), *parts);
    const auto& config = all ? all->config : session.config();
    const auto& model = all ? *all->model : session.model();
    const auto rows = infer::make_rows(config, session.plan(), model, session.tokenizer(), with);
    infer::Generator generator(config, session.tokenizer(), *rows, greedy, {stop, {}});
    score::Bleu bleu;
    score::Chrf chrf;
    const auto batch = static_cast<std::size_t>(session.config().batch.size);
    for (std::size_t first = 0; first < pairs.size(); first += batch) {
        const auto last = std::min(first + batch, pairs.size());
        std::vector<std::string> sources;
        for (auto i = first; i < last; ++i) sources.push_back(pairs[i].source);
        const auto answers = generator.generate(sources);
        if (stop && stop()) return std::nullopt;
        for (auto i = first; i < last; ++i) {
            const auto& text = answers[i - first].front().text;
            bleu.add(text, std::vector{pairs[i].target});
            chrf.add(text, std::vector{pairs[i].target});
        }
        if (progress) progress(static_cast<std::int64_t>(last), static_cast<std::int64_t>(pairs.size()));
    }
    // Ranks decide by them, each for itself: of a float8 policy each has the scales of its own layers.
    auto scores = at::empty({2}, at::kDouble);
    scores.mutable_data_ptr<double>()[0] = bleu.score();
    scores.mutable_data_ptr<double>()[1] = chrf.score();
    if (mesh != nullptr) agree_on(*mesh, scores);
    const auto* const agreed = scores.const_data_ptr<double>();
    return score::Metrics{{"bleu", agreed[0]}, {"chrf", agreed[1]}};
}

std::vector<data::TextPair> pairs_to_answer(const train::Session& session, std::string& note) {
    const auto& config = session.config();
    if (config.train.eval_answers == 0 || session.data().eval == nullptr) return {};
    auto pairs = data::read_text_pairs(config.data, session.tokenizer(),
                                       static_cast<std::size_t>(config.train.eval_answers));
    const auto all = pairs.size();
    const std::string key = config::told_at(config, "train.eval_answers");
    if (auto problem = infer::model_problem(config, session.tokenizer()); !problem.empty())
        throw Failure(key + problem);
    std::erase_if(pairs, [&](const data::TextPair& pair) {
        return !infer::prompt_problem(config, session.tokenizer(), pair.source).empty();
    });
    if (pairs.empty())
        throw Failure(key + "none of the " + counted(all, "text") +
                      " to evaluate on can be answered: all are longer than batch.max_length has room for");
    if (pairs.size() < all)
        note = "note: train.eval_answers: " + counted(all - pairs.size(), "text") + " of " +
               std::to_string(all) + " too long to be answered\n";
    return pairs;
}

}  // namespace switchyard::cli
