// Data loaders that compose batches in an order of their own.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include <switchyard/conformance/data_loader_run.h>
#include <switchyard/conformance/data_loader_samples.h>
#include <switchyard/reference/collate.h>

namespace switchyard::conformance {
namespace {

using Numbers = std::vector<std::int64_t>;
using Rank = std::vector<Batch>;  // what one rank takes in an epoch

at::Tensor widened(const at::Tensor& rows, std::int64_t width, std::int64_t filler) {
    if (!rows.defined() || rows.dim() != 2 || rows.size(1) >= width) return rows;
    return at::cat({rows, at::full({rows.size(0), width - rows.size(1)}, filler, rows.options())}, 1);
}

void widen(TokenBatch& side, const TokenBatch& found, std::int64_t pad_id) {
    if (!side.ids.defined() || !found.ids.defined() || side.ids.dim() != 2 || found.ids.dim() != 2) return;
    const auto before = side.ids.size(1), width = found.ids.size(1);
    if (width <= before) return;
    side.ids = widened(side.ids, width, pad_id);
    side.token_type_ids = widened(side.token_type_ids, width, 0);
    if (!side.tokens.lengths.defined())
        side.tokens.lengths =
            at::full({side.ids.size(0)}, before, side.ids.options().dtype(at::ScalarType::Int));
}

// What the reference makes of the same samples, in rows as long as those that were found.
Batch as_wide_as(const Batch& found, Batch expected, const LoaderParams& params) {
    widen(expected.source, found.source, params.pad_id);
    widen(expected.target, found.target, params.pad_id);
    if (expected.labels.defined() && found.labels.defined() && found.labels.dim() == 2)
        expected.labels = widened(expected.labels, found.labels.size(1), -100);
    return expected;
}

class OwnRun {
public:
    OwnRun(const LoaderSpec& spec, const std::shared_ptr<const DataLoaderRequest>& request,
           Findings& findings)
        : spec_(spec), source_(spec), request_(request), findings_(findings) {}

    void run() {
        std::vector<std::vector<Rank>> all(loader_epochs);  // [epoch][rank]
        for (std::int64_t rank = 0; rank < spec_.params.world_size; ++rank) {
            Binding binding(findings_.component(), request_);
            DataLoader& loader = start(binding, rank);
            for (std::int64_t epoch = 0; epoch < loader_epochs && !findings_.any(); ++epoch)
                all[static_cast<std::size_t>(epoch)].push_back(read_epoch(loader, epoch));
            if (findings_.any()) return;
            if (!all.front().back().empty()) findings_.check_executed(binding);
        }
        for (std::size_t epoch = 0; epoch < all.size() && !findings_.any(); ++epoch)
            check_epoch(all[epoch], static_cast<std::int64_t>(epoch));
        if (!findings_.any()) check_order(all);
        const auto last = spec_.params.world_size - 1;
        if (!findings_.any()) return_into_epochs(all[0].back(), all[1].back(), last);
    }

private:
    DataLoader& start(Binding& binding, std::int64_t rank) {
        auto& loader = *static_cast<DataLoader*>(binding.interface());
        LoaderParams params = spec_.params;
        params.rank = rank;
        loader.start(source_, params);
        return loader;
    }

    void add(const char* code, std::string detail) { findings_.add(code, std::move(detail)); }

    static std::string text_of(const LoaderPosition& place) {
        return "epoch " + std::to_string(place.epoch) + ", batch " + std::to_string(place.batch);
    }

    void expect_position(const DataLoader& loader, const LoaderPosition& expected) {
        const auto found = loader.position();
        if (found.epoch == expected.epoch && found.batch == expected.batch) return;
        add("wrong_position", "the position is " + text_of(found) + ", expected " + text_of(expected));
    }

    // Samples of a batch; several documents of one are named once.
    Numbers samples_of(const Batch& batch) const {
        Numbers samples = batch.samples;
        if (spec_.documents) samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
        return samples;
    }

    Rank read_epoch(DataLoader& loader, std::int64_t epoch) {
        Rank batches;
        const auto count = loader.batches(epoch);
        expect_position(loader, {epoch, 0});
        for (Batch batch; !findings_.any() && loader.next(batch); batch = {}) {
            check_batch(batch, {epoch, std::ssize(batches)});
            batches.push_back(std::move(batch));
            if (std::ssize(batches) > count) break;
            expect_position(loader, {epoch, std::ssize(batches)});
        }
        if (findings_.any()) return batches;
        if (std::ssize(batches) != count)
            add("wrong_batch", "batches(" + std::to_string(epoch) + ") is " + std::to_string(count) +
                                   ", but the epoch has " + std::to_string(batches.size()) + " or more");
        else
            expect_position(loader, {epoch + 1, 0});
        return batches;
    }

    void check_batch(const Batch& batch, const LoaderPosition& place) {
        const auto samples = samples_of(batch);
        for (const auto index : samples) {
            if (index < 0 || index >= spec_.size)
                return add("wrong_batch", text_of(place) + " names the sample " + std::to_string(index) +
                                              " of " + std::to_string(spec_.size));
        }
        if (std::ssize(samples) > spec_.params.batch_size)
            return add("wrong_batch", text_of(place) + " has " + std::to_string(samples.size()) +
                                          " samples, of which batch_size allows " +
                                          std::to_string(spec_.params.batch_size));
        check_budget(batch, samples, place);
        const auto expected = as_wide_as(
            batch, reference::make_batch(source_, samples, place.epoch, spec_.params, spec_.labels_per_token),
            spec_.params);
        const Fault fault = difference_of(batch, expected);
        if (!fault.code.empty()) add(fault.code.c_str(), text_of(place) + ": " + fault.detail);
    }

    void check_budget(const Batch& batch, const Numbers& samples, const LoaderPosition& place) {
        if (spec_.params.token_budget == 0 || samples.size() < 2) return;
        const auto places = batch.source.ids.numel() +
                            (batch.target.ids.defined() ? batch.target.ids.numel() : std::int64_t{0});
        if (places <= spec_.params.token_budget) return;
        add("over_budget", text_of(place) + " has " + std::to_string(places) +
                               " tokens with its padding, of which token_budget allows " +
                               std::to_string(spec_.params.token_budget));
    }

    // Each sample once over all ranks; where samples do not come out even for the ranks, fewer than ranks are
    // may come again.
    void check_epoch(const std::vector<Rank>& ranks, std::int64_t epoch) {
        const std::string name = "epoch " + std::to_string(epoch);
        std::map<std::int64_t, int> times;
        std::int64_t again = 0;
        for (const auto& rank : ranks) {
            if (rank.size() != ranks.front().size())
                return add("wrong_batch", name + " has " + std::to_string(rank.size()) +
                                              " batches on one rank and " +
                                              std::to_string(ranks.front().size()) + " on another");
            for (const auto& batch : rank) {
                for (const auto index : samples_of(batch)) again += times[index]++ > 0 ? 1 : 0;
            }
        }
        const bool dropping = spec_.params.drop_last;
        if (again > (dropping ? 0 : spec_.params.world_size - 1))
            return add("duplicate_sample",
                       name + " has " + std::to_string(again) + " samples more than once");
        if (!dropping && std::ssize(times) < spec_.size)
            add("lost_sample", name + " misses " + std::to_string(spec_.size - std::ssize(times)) +
                                   " of its " + std::to_string(spec_.size) + " samples");
    }

    Numbers visited(const std::vector<Rank>& ranks) const {
        Numbers all;
        for (const auto& rank : ranks) {
            for (const auto& batch : rank) {
                const auto own = samples_of(batch);
                all.insert(all.end(), own.begin(), own.end());
            }
        }
        return all;
    }

    // Another epoch and another seed are another order, unless samples are not shuffled; few batches may come
    // in the same order by chance, or hold the same samples sorted by length.
    void check_order(const std::vector<std::vector<Rank>>& all) {
        const auto first = visited(all[0]), second = visited(all[1]);
        if (!spec_.params.shuffle) {
            if (first != second) add("wrong_order", "epochs differ, though samples are not to be shuffled");
            return;
        }
        if (all[0][0].size() < 8 || spec_.params.world_size > 1) return;
        if (first == second) add("wrong_order", "both epochs visit the samples in the same order");
        LoaderSpec other = spec_;
        other.params.seed += std::uint64_t{1} << 40;
        Findings ignored(findings_.component(), findings_.facts());
        OwnRun run(other, request_, ignored);
        Binding binding(findings_.component(), request_);
        const std::vector<Rank> seeded{run.read_epoch(run.start(binding, 0), 0)};
        if (visited(seeded) == first) add("wrong_order", "another seed visits the samples in the same order");
    }

    // Saved positions, taken up by a loader that was made anew.
    void return_into_epochs(const Rank& first, const Rank& second, std::int64_t rank) {
        Binding binding(findings_.component(), request_);
        DataLoader& loader = start(binding, rank);
        const auto at_middle = [](const Rank& of) { return std::ssize(of) / 2; };
        const std::pair<LoaderPosition, const Rank*> places[] = {{{1, at_middle(second)}, &second},
                                                                 {{0, at_middle(first)}, &first},
                                                                 {{1, 0}, &second},
                                                                 {{0, std::ssize(first)}, &first}};
        for (const auto& [place, expected] : places) {
            loader.seek(place);
            expect_position(loader, place);
            for (auto number = place.batch;
                 number < std::min<std::int64_t>(place.batch + 2, std::ssize(*expected)); ++number) {
                Batch batch;
                const auto when = "after a seek to " + text_of(place);
                if (!loader.next(batch))
                    return add("wrong_position",
                               when + " the epoch ends before batch " + std::to_string(number));
                const auto& before = (*expected)[static_cast<std::size_t>(number)];
                if (batch.samples != before.samples || !difference_of(batch, before).code.empty())
                    return add("wrong_position",
                               when + " batch " + std::to_string(number) + " is another than before");
            }
            if (findings_.any()) return;
        }
        Batch batch;
        if (loader.next(batch))
            add("wrong_position", "a seek to the end of an epoch gives a further batch of it");
    }

    const LoaderSpec spec_;
    CountedSamples source_;
    std::shared_ptr<const DataLoaderRequest> request_;
    Findings& findings_;
};

}  // namespace

void run_own_composition(const LoaderSpec& spec, const std::shared_ptr<const DataLoaderRequest>& request,
                         Findings& findings) {
    OwnRun(spec, request, findings).run();
}

}  // namespace switchyard::conformance
