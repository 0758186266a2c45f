// A right data loader, which makes each batch when it is asked for - and, with a mutation, one that is wrong
// in one way.
#include <algorithm>

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include <switchyard/interfaces/data_loader.h>
#include <switchyard/reference/collate.h>
#include <switchyard/reference/epoch_order.h>

#include "component.h"

namespace switchyard::test {
namespace {

using Numbers = std::vector<std::int64_t>;

class DataLoaderSample final : public DataLoader {
public:
    explicit DataLoaderSample(const CreateInfo& info)
        : DataLoader(info),
          mutation_(info),
          labels_per_token_(static_cast<const DataLoaderRequest*>(info.request)->labels_per_token) {}

    static Verdict supports(const DataLoaderRequest&, const HostInfo&, const Options&) { return {}; }

    void start(const SampleSource& source, const LoaderParams& params) override {
        source_ = &source;
        params_ = params;
        // A batch of one sample keeps to any budget.
        if (params_.token_budget > 0 && !is("ignores_budget")) params_.batch_size = 1;
        if (is("ignores_batch_size")) params_.batch_size *= 2;
        if (is("ignores_drop_last")) params_.drop_last = false;
        if (is("loses_last_batch")) params_.drop_last = true;
        if (is("ignores_seed")) params_.seed = 0;
        if (is("truncates_seed")) params_.seed &= 0xFFFFFFFFU;
        if (is("always_shuffles")) params_.shuffle = true;
        if (is("ranks_are_one")) params_.rank = 0;
        if (is("ignores_pad_multiple")) params_.pad_multiple = 1;
        if (is("never_cuts")) params_.max_length = 0;
        if (is("pads_with_0")) params_.pad_id = 0;
    }

    std::int64_t batches(std::int64_t) const override {
        return reference::epoch_batches(source_->size(), params_);
    }

    bool next(Batch& batch) override {
        if (position_.batch >= batches(0)) {
            if (!is("stays_at_end")) position_ = {position_.epoch + 1, 0};
            return false;
        }
        const Numbers order = order_of(is("same_order_each_epoch") ? 0 : position_.epoch);
        batch = make(part_of(order));
        spoil(batch);
        if (!is("not_counted")) executed(is("undeclared_variant") ? "third" : "");
        ++position_.batch;
        return true;
    }

    LoaderPosition position() const override {
        return is("position_counts_samples")
                   ? LoaderPosition{position_.epoch, position_.batch * params_.batch_size}
                   : position_;
    }

    void seek(const LoaderPosition& position) override {
        position_ = position;
        if (is("seek_off_by_one")) offset_ = 1;
        if (is("seek_stays_in_epoch")) order_epoch_ = 0;
    }

private:
    bool is(const char* name) const { return mutation_.is(name); }

    Numbers order_of(std::int64_t epoch) const {
        if (order_epoch_ >= 0) epoch = order_epoch_;
        Numbers order = reference::epoch_order(source_->size(), params_, epoch);
        if (is("repeats_a_sample")) order.back() = order.front();
        if (is("ranks_take_blocks")) {
            LoaderParams alone = params_;
            alone.world_size = 1;
            const Numbers all = reference::epoch_order(source_->size(), alone, epoch);
            for (std::size_t i = 0; i < order.size(); ++i)
                order[i] = all[(static_cast<std::size_t>(params_.rank) * order.size() + i) % all.size()];
        }
        return order;
    }

    Numbers part_of(const Numbers& order) const {
        Numbers part = reference::batch_samples(order, params_, position_.batch + offset_);
        if (is("loses_a_sample") && position_.batch == 0) part.pop_back();
        if (is("fills_last_batch")) {
            for (std::size_t i = 0;
                 part.size() < static_cast<std::size_t>(params_.batch_size) && i < order.size(); ++i)
                part.push_back(order[i]);
        }
        if (is("small_batch_first") && position_.batch + 1 < batches(0)) {
            const auto size = static_cast<std::int64_t>(order.size());
            const std::int64_t rest = (size - 1) % params_.batch_size + 1;
            const auto begin = position_.batch == 0 ? 0 : rest + (position_.batch - 1) * params_.batch_size;
            return {order.begin() + begin, order.begin() + rest + position_.batch * params_.batch_size};
        }
        if (is("small_batch_first"))
            return {order.end() - std::min<std::ptrdiff_t>(params_.batch_size, std::ssize(order)),
                    order.end()};
        return part;
    }

    Batch make(Numbers samples) const {
        const std::int64_t epoch = is("gets_first_epoch") ? 0 : position_.epoch;
        if (!is("joins_documents"))
            return reference::make_batch(*source_, std::move(samples), epoch, params_, labels_per_token_);
        std::vector<Sample> whole;
        for (const std::int64_t index : samples) {
            whole.push_back(source_->get(index, epoch));
            whole.back().documents.clear();
        }
        return reference::collate(whole, samples, params_, labels_per_token_);
    }

    void spoil(Batch& batch) const {
        TokenBatch& side = batch.source;
        Tokens& tokens = side.tokens;
        if (is("wider_padding") && side.ids.dim() == 2)
            side.ids =
                at::cat({side.ids, at::full({side.ids.size(0), 3}, params_.pad_id, side.ids.options())}, 1);
        if (is("no_lengths")) tokens.lengths = at::Tensor();
        if (is("shifts_labels") && batch.labels.defined()) batch.labels = batch.labels.roll(1);
        if (is("forgets_float_labels")) batch.float_labels = at::Tensor();
        if (is("float_labels_of_others") && batch.float_labels.defined())
            batch.float_labels = batch.float_labels.roll(1, 0);
        if (is("nan_labels_are_0") && batch.float_labels.defined())
            batch.float_labels = batch.float_labels.nan_to_num();
        if (is("flat_float_labels") && batch.float_labels.defined())
            batch.float_labels = batch.float_labels.reshape({-1});
        if (is("labels_padding_with_0") && batch.labels.defined()) batch.labels = batch.labels.clamp_min(0);
        if (is("forgets_segments")) side.token_type_ids = at::Tensor();
        if (is("forgets_target")) batch.target = {};
        if (is("counts_padding")) side.count = side.ids.numel();
        if (is("narrow_ids")) side.ids = side.ids.to(at::kInt);
        if (is("positions_run_on") && tokens.positions.defined()) {
            for (std::int64_t i = 0; i < tokens.positions.numel(); ++i) tokens.positions[i].fill_(i);
        }
        if (is("cu_seqlens_without_end") && tokens.cu_seqlens.defined())
            tokens.cu_seqlens = tokens.cu_seqlens.narrow(0, 0, tokens.cu_seqlens.numel() - 1);
        if (is("cu_seqlens_are_lengths") && tokens.cu_seqlens.defined())
            tokens.cu_seqlens = at::cat({tokens.cu_seqlens.narrow(0, 0, 1), tokens.cu_seqlens.diff()});
        if (is("max_seqlen_of_first") && tokens.cu_seqlens.defined())
            tokens.max_seqlen = tokens.cu_seqlens[1].item<std::int64_t>();
        if (is("names_places")) {
            for (std::size_t i = 0; i < batch.samples.size(); ++i)
                batch.samples[i] = static_cast<std::int64_t>(i);
        }
    }

    Mutation mutation_;
    bool labels_per_token_;
    const SampleSource* source_ = nullptr;
    LoaderParams params_;
    LoaderPosition position_;
    std::int64_t offset_ = 0, order_epoch_ = -1;
};

}  // namespace

const LocalComponent data_loader_entry =
    local_component<Kind::data_loader, DataLoaderSample>(GradientMode::none, RandomSource::none);

const LocalComponent own_loader_entry = [] {
    auto made = data_loader_entry;
    made.manifest.composition = Composition::own;
    return made;
}();

}  // namespace switchyard::test
