// Data loader: turns numbered samples into batches - order, padding or packing, look-ahead.
#pragma once

#include <cstdint>
#include <vector>

#include <switchyard/interfaces/batch.h>
#include <switchyard/interfaces/component.h>

namespace switchyard {

struct Sample {
    std::vector<std::int64_t> ids;
    std::vector<std::int64_t> token_type_ids;  // empty or as long as ids
    std::vector<std::int64_t> target_ids;      // empty unless sequence-to-sequence
    std::vector<std::int64_t> labels;  // none, one, or as many as ids (target_ids where there are any)
    // Lengths of the documents that ids are made of, in order; their sum is the length of ids. Empty: one
    // document. Only without target_ids, with a label for each token or none, and in the packed layout, where
    // each document is a sequence of its own: positions start anew, and nothing is seen across.
    std::vector<std::int64_t> documents;
    // Instead of `labels`: numbers of the whole sample, as many as all samples have (a regression's targets,
    // 0 or 1 for each class of several). NaN: no label.
    std::vector<float> float_labels = {};
};

// The core's data set, tokenized. `get` is thread-safe and a function of index and epoch alone: what is drawn
// anew in each epoch (the words that are hidden from a masked language model) is drawn from both. The length
// does not depend on the epoch and is known without tokenizing.
class SampleSource {
public:
    virtual ~SampleSource() = default;
    virtual std::int64_t size() const = 0;
    virtual std::int64_t length(std::int64_t index) const = 0;  // tokens of source and target together
    virtual std::int64_t target_length(std::int64_t /*index*/) const { return 0; }  // those of the target
    virtual Sample get(std::int64_t index, std::int64_t epoch) const = 0;
};

struct LoaderParams {
    // Composition::reference: samples in a batch, the last of an epoch may have fewer. Composition::own: the
    // most that a batch may have.
    std::int64_t batch_size = 1;
    // Composition::own only: tokens that a batch may have, source and target together, in the padded layout
    // with its padding; 0: as many as come. A sample that is longer makes a batch of its own.
    std::int64_t token_budget = 0;
    std::int64_t max_length = 0;  // longer samples are cut to it; 0: never
    // Padded layout: rows are as long as the longest, rounded up to a multiple of this, but not beyond
    // max_length.
    std::int64_t pad_multiple = 1;
    std::int64_t pad_id = 0;
    Layout layout = Layout::padded;
    bool shuffle = true;
    bool drop_last = false;
    bool pinned = false;     // on a GPU: tensors in page-locked memory are copied while the device computes
    std::uint64_t seed = 0;  // an epoch is a function of seed, epoch and ranks alone
    std::int64_t rank = 0;
    std::int64_t world_size = 1;
};

// Enough to go on with the very next batch in another process.
struct LoaderPosition {
    std::int64_t epoch = 0;
    std::int64_t batch = 0;  // batches already handed out in that epoch
};

class DataLoader : public Component {
public:
    using Component::Component;

    // `source` outlives the loader. Called once before anything else.
    virtual void start(const SampleSource& source, const LoaderParams& params) = 0;
    // Batches of that epoch, of this rank: all ranks have the same number. Composition::reference: the same
    // number for each epoch.
    virtual std::int64_t batches(std::int64_t epoch) const = 0;
    // The next batch of the epoch, false at its end; the call after that begins the next epoch.
    virtual bool next(Batch& batch) = 0;
    virtual LoaderPosition position() const = 0;
    virtual void seek(const LoaderPosition& position) = 0;
    // Batches that are made and wait to be taken; -1: none are made ahead.
    virtual std::int64_t ready() const { return -1; }
};

}  // namespace switchyard
