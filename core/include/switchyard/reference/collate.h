// Samples to a batch: cut, then padded to the longest or laid end to end.
#pragma once

#include <vector>

#include <switchyard/interfaces/data_loader.h>

namespace switchyard::reference {

// `indices` are those of the samples, in order; `labels_per_token` as in DataLoaderRequest. Padded rows are
// rounded up to params.pad_multiple; their further places hold pad_id, segment 0 and label -100. Throws
// std::invalid_argument naming the sample whose parts do not fit each other, or the rest of the batch.
Batch collate(const std::vector<Sample>& samples, const std::vector<std::int64_t>& indices,
              const LoaderParams& params, bool labels_per_token);

// Gets the samples of an epoch from the source and collates them.
Batch make_batch(const SampleSource& source, std::vector<std::int64_t> indices, std::int64_t epoch,
                 const LoaderParams& params, bool labels_per_token);

// Throws std::invalid_argument for sizes that make no batches.
void check_loader(const SampleSource& source, const LoaderParams& params);

}  // namespace switchyard::reference
