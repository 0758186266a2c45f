// Texts of language models -> a token store (token_folder.h), once, on all cores.
//
// What has been done is saved on the way. A process that was stopped or killed is gone on with by another
// call: rows are read and looked at again, but tokenized only from the last save on, and the store comes out
// the same to the byte. Until all is done there is no store.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel/config/data_config.h"
#include "core/workbench/data/splits.h"
#include "core/workbench/data/store/token_file.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

struct PrepareProgress {
    double share = 0.0;  // of the files, by their bytes
    std::int64_t rows = 0, texts = 0, tokens = 0;
};

struct PrepareRequest {
    const config::DataConfig& data;
    std::shared_ptr<const Tokenizer> tokenizer;
    std::string folder;
    std::int64_t threads = 1;
    std::int64_t save_bytes = std::int64_t{16} << 20;  // of text between two saves
    std::function<void(const PrepareProgress&)> progress = {};
    std::function<bool()> stop = {};  // asked between texts
};

struct PrepareResult {
    bool stopped = false;           // by request.stop; another call goes on
    bool was_there = false;         // the store was made before, of the same
    std::int64_t resumed_rows = 0;  // that an earlier process had tokenized
    Splits counts;                  // without samples; its problems say why nothing was made
    TokenFileHeader train, eval;
};

// Throws std::runtime_error for what cannot be written, InputError for a folder that holds something else.
PrepareResult prepare(const PrepareRequest& request);

}  // namespace switchyard::data
