#include <switchyard/conformance/data_loader_run.h>

#include <algorithm>
#include <map>
#include <sstream>

#include <switchyard/conformance/data_loader_samples.h>
#include <switchyard/reference/collate.h>
#include <switchyard/reference/epoch_order.h>

namespace switchyard::conformance {
namespace {

using Numbers = std::vector<std::int64_t>;

std::string text_of(const Numbers& numbers) {
    std::ostringstream text;
    text << at::IntArrayRef(numbers);
    return text.str();
}

std::string text_of(const LoaderPosition& position) {
    return "epoch " + std::to_string(position.epoch) + ", batch " + std::to_string(position.batch);
}

// An epoch's samples never come twice in a row but as several documents of one.
Numbers samples_of(const Batch& batch, const LoaderSpec& spec) {
    Numbers samples = batch.samples;
    if (spec.documents) samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
    return samples;
}

std::string first_difference(const Numbers& found, const Numbers& expected) {
    const auto count = std::min(found.size(), expected.size());
    for (std::size_t i = 0; i < count; ++i) {
        if (found[i] == expected[i]) continue;
        return "visits sample " + std::to_string(found[i]) + " at place " + std::to_string(i) +
               ", expected " + std::to_string(expected[i]);
    }
    return "visits " + std::to_string(found.size()) + " samples, expected " + std::to_string(expected.size());
}

// One rank's loader and what it gives.
class RankRun {
public:
    RankRun(const LoaderSpec& spec, std::int64_t rank,
            const std::shared_ptr<const DataLoaderRequest>& request, Findings& findings)
        : spec_(spec),
          source_(spec),
          params_(spec.params),
          findings_(findings),
          request_(request),
          binding_(findings.component(), request) {
        params_.rank = rank;
        loader().start(source_, params_);
        batches_ = reference::epoch_batches(spec.size, params_);
    }

    // The samples of the first epoch.
    Numbers run() {
        const Numbers first = read_epoch(0);
        if (loader().batches(0) != batches_) {
            add("wrong_batch", "batches(0) is " + std::to_string(loader().batches(0)) + ", expected " +
                                   std::to_string(batches_));
        }
        for (std::int64_t epoch = 1; epoch < loader_epochs && !findings_.any(); ++epoch) read_epoch(epoch);
        if (batches_ > 0) findings_.check_executed(binding_);
        if (!findings_.any()) return_into_epochs();
        return first;
    }

private:
    DataLoader& loader() { return *static_cast<DataLoader*>(binding_.interface()); }

    void add(const std::string& code, const std::string& detail) {
        const bool several = params_.world_size > 1;
        findings_.add(code.c_str(), (several ? "rank " + std::to_string(params_.rank) + ": " : "") + detail);
    }

    void expect_position(const DataLoader& loader, const LoaderPosition& expected, const std::string& when) {
        const LoaderPosition found = loader.position();
        if (found.epoch == expected.epoch && found.batch == expected.batch) return;
        add("wrong_position",
            when + " the position is " + text_of(found) + ", expected " + text_of(expected));
    }

    Numbers expected_order(std::int64_t epoch) const {
        return reference::epoch_order(spec_.size, params_, epoch);
    }

    Batch make_batch(const Numbers& samples, std::int64_t epoch) const {
        return reference::make_batch(source_, samples, epoch, params_, spec_.labels_per_token);
    }

    // Values by the reference's collate of the samples that the batch itself names.
    void check_batch(const Batch& batch, const LoaderPosition& place) {
        for (const std::int64_t index : batch.samples) {
            if (index >= 0 && index < spec_.size) continue;
            return add("wrong_batch", text_of(place) + " names the sample " + std::to_string(index) + " of " +
                                          std::to_string(spec_.size));
        }
        const Numbers samples = samples_of(batch, spec_);
        const Fault fault = difference_of(batch, make_batch(samples, place.epoch));
        if (fault.code.empty()) return;
        for (std::int64_t other = 0; other < loader_epochs; ++other) {
            if (other == place.epoch || !difference_of(batch, make_batch(samples, other)).code.empty())
                continue;
            return add("wrong_batch",
                       text_of(place) + " holds its samples as they are in epoch " + std::to_string(other));
        }
        add(fault.code, text_of(place) + ": " + fault.detail);
    }

    Numbers read_epoch(std::int64_t epoch) {
        Numbers samples, sizes;
        const std::string name = "epoch " + std::to_string(epoch);
        expect_position(loader(), {epoch, 0}, "before " + name);
        std::int64_t count = 0;
        for (Batch batch; loader().next(batch); batch = {}) {
            if (count == batches_) {
                add("wrong_batch", name + " has more than " + std::to_string(batches_) + " batches");
                return samples;
            }
            check_batch(batch, {epoch, count});
            const Numbers own = samples_of(batch, spec_);
            samples.insert(samples.end(), own.begin(), own.end());
            sizes.push_back(static_cast<std::int64_t>(own.size()));
            expect_position(loader(), {epoch, count + 1}, "after batch " + std::to_string(count));
            ++count;
            if (findings_.any()) return samples;
        }
        expect_position(loader(), {epoch + 1, 0}, "at the end of " + name);
        check_samples(samples, epoch);
        if (!findings_.any()) check_sizes(sizes, epoch);
        return samples;
    }

    // Which samples, how often, and in which order.
    void check_samples(const Numbers& found, std::int64_t epoch) {
        Numbers expected = expected_order(epoch);
        if (params_.drop_last) expected.resize(static_cast<std::size_t>(batches_ * params_.batch_size));
        if (found == expected) return;
        const std::string name = "epoch " + std::to_string(epoch);
        std::map<std::int64_t, int> times;
        for (const std::int64_t index : found) {
            if (++times[index] == 2)
                return add("duplicate_sample",
                           name + " has sample " + std::to_string(index) + " more than once");
        }
        // With drop_last, or among ranks, another order takes other samples.
        const bool all = !params_.drop_last && params_.world_size == 1;
        for (const std::int64_t index : expected) {
            if (all && times.count(index) == 0)
                return add("lost_sample", name + " misses sample " + std::to_string(index));
        }
        if (found.size() < expected.size()) {
            return add("lost_sample", name + " has " + std::to_string(found.size()) + " samples, expected " +
                                          std::to_string(expected.size()));
        }
        add("wrong_order", name + " " + first_difference(found, expected));
    }

    void check_sizes(const Numbers& found, std::int64_t epoch) {
        const Numbers order = expected_order(epoch);
        Numbers expected;
        for (std::int64_t batch = 0; batch < batches_; ++batch)
            expected.push_back(
                static_cast<std::int64_t>(reference::batch_samples(order, params_, batch).size()));
        if (found == expected) return;
        add("wrong_batch", "epoch " + std::to_string(epoch) + " has batches of " + text_of(found) +
                               " samples, expected " + text_of(expected));
    }

    // Saved positions, taken up by another loader and by this one.
    void return_into_epochs() {
        Binding other_binding(findings_.component(), request_);
        auto& other = *static_cast<DataLoader*>(other_binding.interface());
        other.start(source_, params_);
        const std::int64_t middle = batches_ / 2;
        for (const LoaderPosition& place : {LoaderPosition{1, middle}, LoaderPosition{0, middle},
                                            LoaderPosition{1, 0}, LoaderPosition{5, middle}}) {
            for (DataLoader* one : {&other, &loader()}) {
                one->seek(place);
                expect_position(*one, place, "after a seek");
                continue_from(*one, place);
                if (findings_.any()) return;
            }
        }
        other.seek({2, batches_});
        Batch batch;
        if (other.next(batch))
            return add("wrong_position", "a seek to the end of an epoch gives a further batch of it");
        continue_from(other, {3, 0});
    }

    // Two batches, as far as the epoch has them.
    void continue_from(DataLoader& loader, const LoaderPosition& place) {
        const Numbers order = expected_order(place.epoch);
        for (std::int64_t number = place.batch; number < std::min(place.batch + 2, batches_); ++number) {
            Batch batch;
            const std::string when = "after a seek to " + text_of(place);
            if (!loader.next(batch))
                return add("wrong_position", when + " the epoch ends before batch " + std::to_string(number));
            const Numbers found = samples_of(batch, spec_);
            const Numbers expected = reference::batch_samples(order, params_, number);
            if (found != expected) {
                return add("wrong_position", when + " batch " + std::to_string(number) + " holds " +
                                                 text_of(found) + ", expected " + text_of(expected));
            }
            check_batch(batch, {place.epoch, number});
            expect_position(loader, {place.epoch, number + 1}, when + " and further batches");
        }
    }

    const LoaderSpec& spec_;
    CountedSamples source_;
    LoaderParams params_;
    Findings& findings_;
    std::shared_ptr<const DataLoaderRequest> request_;
    Binding binding_;
    std::int64_t batches_ = 0;
};

// Ranks may share only what fills up the last round.
void check_ranks(const LoaderSpec& spec, const std::vector<Numbers>& ranks, Findings& findings) {
    std::map<std::int64_t, int> seen;
    std::int64_t taken = 0;
    for (const Numbers& samples : ranks) {
        for (const std::int64_t index : samples) ++seen[index];
        taken += static_cast<std::int64_t>(samples.size());
    }
    const auto different = static_cast<std::int64_t>(seen.size());
    const std::int64_t expected = std::min(taken, spec.size);
    if (spec.params.world_size == 1 || different >= expected) return;
    findings.add("ranks_overlap", "the ranks take " + std::to_string(taken) + " samples, of which " +
                                      std::to_string(different) + " are different, expected " +
                                      std::to_string(expected));
}

}  // namespace

void run_data_loader(const LoaderSpec& spec, const std::shared_ptr<const DataLoaderRequest>& request,
                     Findings& findings) {
    std::vector<Numbers> ranks;
    for (std::int64_t rank = 0; rank < spec.params.world_size; ++rank) {
        RankRun run(spec, rank, request, findings);
        ranks.push_back(run.run());
    }
    check_ranks(spec, ranks, findings);
}

}  // namespace switchyard::conformance
