// Legend:  B sequences  N longest sequence  T tokens of all sequences
#include <switchyard/reference/collate.h>
#include <switchyard/reference/require.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

namespace switchyard::reference {
namespace {

using Numbers = std::vector<std::int64_t>;
using Rows = std::vector<const Numbers*>;

at::TensorOptions of_type(at::ScalarType type) { return at::TensorOptions().dtype(type); }

const Numbers& labelled_of(const Sample& sample) {
    return sample.target_ids.empty() ? sample.ids : sample.target_ids;
}

// Those of a batch that the others must be like: where something is said of each token, an empty sample says
// nothing.
struct Examples {
    const Sample *target, *token_type_ids, *labels, *float_labels;
};

Examples examples_of(const std::vector<Sample>& samples, bool labels_per_token) {
    const auto first = [&](auto filled) {
        const auto found = std::find_if(samples.begin(), samples.end(), filled);
        return found == samples.end() ? samples.data() : &*found;
    };
    return {samples.data(), first([](const Sample& sample) { return !sample.ids.empty(); }),
            first([&](const Sample& sample) { return !labels_per_token || !labelled_of(sample).empty(); }),
            samples.data()};
}

void check_sample(const Sample& sample, std::int64_t index, const Examples& examples, bool labels_per_token) {
    require("data loader", sample.token_type_ids.empty() || sample.token_type_ids.size() == sample.ids.size(),
            "sample ", index, " has ", sample.token_type_ids.size(), " token_type_ids for ",
            sample.ids.size(), " ids");
    const std::size_t labels = labels_per_token ? labelled_of(sample).size() : 1;
    require("data loader", sample.labels.empty() || sample.labels.size() == labels, "sample ", index, " has ",
            sample.labels.size(), " labels, expected ", labels);
    require("data loader",
            sample.token_type_ids.empty() == examples.token_type_ids->token_type_ids.empty() ||
                sample.ids.empty(),
            "sample ", index,
            sample.token_type_ids.empty() ? " has no token_type_ids" : " has token_type_ids",
            ", unlike the first of its batch");
    require("data loader", sample.target_ids.empty() == examples.target->target_ids.empty(), "sample ", index,
            sample.target_ids.empty() ? " has no target" : " has a target",
            ", unlike the first of its batch");
    require("data loader", sample.labels.empty() == examples.labels->labels.empty() || labels == 0, "sample ",
            index, sample.labels.empty() ? " has no labels" : " has labels",
            ", unlike the first of its batch");
    require("data loader", sample.labels.empty() || sample.float_labels.empty(), "sample ", index,
            " has both labels and float labels");
    require("data loader", sample.float_labels.size() == examples.float_labels->float_labels.size(),
            "sample ", index, " has ", sample.float_labels.size(), " float labels, expected ",
            examples.float_labels->float_labels.size(), " as the first of its batch");
}

std::int64_t cut(std::size_t length, const LoaderParams& params) {
    const auto whole = static_cast<std::int64_t>(length);
    return params.max_length > 0 ? std::min(whole, params.max_length) : whole;
}

void check_documents(const Sample& sample, std::int64_t index, const LoaderParams& params) {
    if (sample.documents.empty()) return;
    require("data loader", params.layout == Layout::packed, "sample ", index,
            " is made of documents, which the padded layout cannot keep apart; expected the packed layout");
    require("data loader", sample.target_ids.empty(), "sample ", index,
            " is made of documents and has a target");
    require("data loader", sample.float_labels.empty(), "sample ", index,
            " is made of documents and has float labels");
    require("data loader", sample.labels.empty() || sample.labels.size() == sample.ids.size(), "sample ",
            index, " is made of documents and has ", sample.labels.size(),
            " labels, expected one for each token");
    std::int64_t total = 0;
    for (const auto length : sample.documents) {
        require("data loader", length > 0, "sample ", index, " has a document of ", length, " tokens");
        total += length;
    }
    require("data loader", total == static_cast<std::int64_t>(sample.ids.size()), "sample ", index,
            " has documents of ", total, " tokens together, but ", sample.ids.size(), " ids");
}

Numbers part_of(const Numbers& whole, std::int64_t begin, std::int64_t end) {
    return whole.empty() ? Numbers() : Numbers(whole.begin() + begin, whole.begin() + end);
}

// One sample for each document, what lies beyond max_length left out.
void add_documents(const Sample& sample, std::int64_t index, const LoaderParams& params,
                   std::vector<Sample>& parts, Numbers& indices) {
    const auto kept = cut(sample.ids.size(), params);
    std::int64_t begin = 0;
    for (const auto length : sample.documents) {
        const auto end = std::min(begin + length, kept);
        if (begin >= end) return;
        parts.push_back({part_of(sample.ids, begin, end),
                         part_of(sample.token_type_ids, begin, end),
                         {},
                         part_of(sample.labels, begin, end),
                         {},
                         {}});
        indices.push_back(index);
        begin = end;
    }
}

Rows rows_of(const std::vector<Sample>& samples, Numbers Sample::*member) {
    Rows rows;
    for (const auto& sample : samples) rows.push_back(&(sample.*member));
    return rows;
}

bool any_filled(const Rows& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const Numbers* row) { return !row->empty(); });
}

// int64 [B, N] or [T] from rows that are cut to `lengths`.
at::Tensor join(const Rows& rows, const Numbers& lengths, Layout layout, std::int64_t longest,
                std::int64_t total, std::int64_t filler) {
    const auto batch = static_cast<std::int64_t>(rows.size());
    const bool padded = layout == Layout::padded;
    const auto joined = padded ? at::full({batch, longest}, filler, of_type(at::kLong))
                               : at::empty({total}, of_type(at::kLong));
    auto* to = joined.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::copy_n(rows[i]->begin(), lengths[i], to);
        to += padded ? longest : lengths[i];
    }
    return joined;
}

// What Tokens says of sequences of these lengths.
Tokens describe(const Numbers& lengths, Layout layout, std::int64_t longest, std::int64_t total) {
    Tokens tokens;
    tokens.layout = layout;
    const auto batch = static_cast<std::int64_t>(lengths.size());
    if (layout == Layout::padded) {
        if (total == batch * longest) return tokens;
        tokens.lengths = at::empty({batch}, of_type(at::kInt));
        std::copy(lengths.begin(), lengths.end(), tokens.lengths.data_ptr<std::int32_t>());
        return tokens;
    }
    tokens.max_seqlen = longest;
    tokens.cu_seqlens = at::empty({batch + 1}, of_type(at::kInt));
    tokens.positions = at::empty({total}, of_type(at::kLong));
    auto* offset = tokens.cu_seqlens.data_ptr<std::int32_t>();
    auto* position = tokens.positions.data_ptr<std::int64_t>();
    *offset = 0;
    for (const auto length : lengths) {
        offset[1] = *offset + static_cast<std::int32_t>(length);
        ++offset;
        for (std::int64_t i = 0; i < length; ++i) *position++ = i;
    }
    return tokens;
}

std::int64_t row_length(std::int64_t longest, const LoaderParams& params) {
    if (params.layout == Layout::packed) return longest;
    const auto rounded = (longest + params.pad_multiple - 1) / params.pad_multiple * params.pad_multiple;
    return params.max_length > 0 ? std::min(rounded, std::max(longest, params.max_length)) : rounded;
}

TokenBatch join_side(const Rows& ids, const Rows& token_type_ids, const LoaderParams& params) {
    Numbers lengths;
    for (const auto* row : ids) lengths.push_back(cut(row->size(), params));
    const auto longest =
        lengths.empty() ? 0 : row_length(*std::max_element(lengths.begin(), lengths.end()), params);
    TokenBatch side;
    for (const auto length : lengths) side.count += length;
    side.ids = join(ids, lengths, params.layout, longest, side.count, params.pad_id);
    if (any_filled(token_type_ids))
        side.token_type_ids = join(token_type_ids, lengths, params.layout, longest, side.count, 0);
    side.tokens = describe(lengths, params.layout, longest, side.count);
    return side;
}

at::Tensor join_labels(const std::vector<Sample>& samples, const Batch& batch, const LoaderParams& params,
                       bool labels_per_token) {
    constexpr std::int64_t no_label = -100;
    const auto rows = rows_of(samples, &Sample::labels);
    if (!any_filled(rows)) return {};
    if (!labels_per_token) {
        const auto count = static_cast<std::int64_t>(rows.size());
        return join(rows, Numbers(rows.size(), 1), Layout::packed, 1, count, no_label);
    }
    Numbers lengths;
    for (const auto* row : rows) lengths.push_back(cut(row->size(), params));
    const auto& labelled = batch.target.ids.defined() ? batch.target : batch.source;
    return join(rows, lengths, params.layout, labelled.ids.size(-1), labelled.count, no_label);
}

// float32 [B, labels of a sample].
at::Tensor join_float_labels(const std::vector<Sample>& samples) {
    if (samples.empty() || samples.front().float_labels.empty()) return {};
    const auto batch = static_cast<std::int64_t>(samples.size());
    const auto columns = static_cast<std::int64_t>(samples.front().float_labels.size());
    auto joined = at::empty({batch, columns}, of_type(at::kFloat));
    auto* to = joined.data_ptr<float>();
    for (const auto& sample : samples)
        to = std::copy(sample.float_labels.begin(), sample.float_labels.end(), to);
    return joined;
}

Batch collate_sequences(const std::vector<Sample>& samples, const Numbers& indices,
                        const LoaderParams& params, bool labels_per_token) {
    Batch batch;
    batch.samples = indices;
    batch.source =
        join_side(rows_of(samples, &Sample::ids), rows_of(samples, &Sample::token_type_ids), params);
    const auto targets = rows_of(samples, &Sample::target_ids);
    if (any_filled(targets)) batch.target = join_side(targets, {}, params);
    batch.labels = join_labels(samples, batch, params, labels_per_token);
    batch.float_labels = join_float_labels(samples);
    return batch;
}

}  // namespace

Batch collate(const std::vector<Sample>& samples, const std::vector<std::int64_t>& indices,
              const LoaderParams& params, bool labels_per_token) {
    bool documents = false;
    const Examples examples = examples_of(samples, labels_per_token);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        check_sample(samples[i], indices[i], examples, labels_per_token);
        check_documents(samples[i], indices[i], params);
        documents = documents || !samples[i].documents.empty();
    }
    if (!documents) return collate_sequences(samples, indices, params, labels_per_token);
    std::vector<Sample> parts;
    Numbers of_parts;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        if (!samples[i].documents.empty()) {
            add_documents(samples[i], indices[i], params, parts, of_parts);
        } else {
            parts.push_back(samples[i]);
            of_parts.push_back(indices[i]);
        }
    }
    return collate_sequences(parts, of_parts, params, labels_per_token);
}

Batch make_batch(const SampleSource& source, std::vector<std::int64_t> indices, std::int64_t epoch,
                 const LoaderParams& params, bool labels_per_token) {
    std::vector<Sample> samples;
    samples.reserve(indices.size());
    for (const auto index : indices) samples.push_back(source.get(index, epoch));
    return collate(samples, indices, params, labels_per_token);
}

void check_loader(const SampleSource& source, const LoaderParams& params) {
    require("data loader", source.size() > 0, "the data set is empty");
    require("data loader", params.batch_size > 0, "batch_size must be 1 or more, got ", params.batch_size);
    require("data loader", params.pad_multiple > 0, "pad_multiple must be 1 or more, got ",
            params.pad_multiple);
    require("data loader", params.token_budget >= 0, "token_budget must be 0 or more, got ",
            params.token_budget);
    require("data loader", params.world_size > 0 && params.rank >= 0 && params.rank < params.world_size,
            "rank ", params.rank, " is not one of ", params.world_size, " ranks");
}

}  // namespace switchyard::reference
