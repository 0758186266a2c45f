#include "core/workbench/data/store/prepare.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <future>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/input_error.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/data/documents.h"
#include "core/workbench/data/store/token_file_writer.h"
#include "core/workbench/data/store/token_folder.h"

namespace switchyard::data {
namespace {

namespace fs = std::filesystem;
using base::Json;

constexpr std::size_t chunk_bytes = 1 << 20;      // of text that a thread tokenizes at once
constexpr std::int64_t rows_between_asks = 1024;  // whether to stop, of rows of which nothing is made

// Texts in their order, and what became of them.
struct Chunk {
    struct Text {
        std::string text;
        bool eval = false;
    };
    std::vector<Text> texts;
    std::vector<std::vector<std::int64_t>> ids;  // of each
    std::int64_t rows = 0;                       // looked at up to its end
    std::size_t bytes = 0;
};

// Files that the texts come from, as they are now: another set of them is another store.
Json inputs_of(const config::DataConfig& data) {
    Json files = Json::array();
    for (const auto* names : {&data.train, &data.eval}) {
        for (const auto& named : *names) {
            for (const auto& path : files_of(named)) {
                std::error_code error;
                const auto size = fs::file_size(path, error);
                const auto time = fs::last_write_time(path, error).time_since_epoch().count();
                files.push_back({{"path", path}, {"bytes", error ? 0 : size}, {"changed", error ? 0 : time}});
            }
        }
        files.push_back("end of the list");
    }
    return files;
}

// One process at a time writes a folder.
class FolderLock {
public:
    explicit FolderLock(const std::string& folder)
        : path_(folder + "/.lock"), descriptor_(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
        if (descriptor_ >= 0 && flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
            close(descriptor_);
            throw base::InputError(folder +
                                   ": another process is writing there; wait for it, or give another "
                                   "folder with --out");
        }
    }
    ~FolderLock() {
        if (descriptor_ < 0) return;
        unlink(path_.c_str());
        close(descriptor_);
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    std::string path_;
    int descriptor_;
};

struct Stopped {};

class Preparation {
public:
    explicit Preparation(const PrepareRequest& request)
        : request_(request),
          journal_path_(request.folder + "/.prepare.json"),
          shape_(token_shape(request.data, *request.tokenizer)),
          job_({{"shape", shape_}, {"inputs", inputs_of(request.data)}}) {
        for (const auto& file : job_["inputs"]) {
            if (file.is_object()) all_bytes_ += file["bytes"].get<double>();
        }
    }

    PrepareResult run() {
        make_folder();
        const FolderLock lock(request_.folder);
        if (is_token_folder(request_.folder)) return there_already();
        const auto journal = read_journal();
        if (!base::member(journal, "finished").is_boolean()) {
            open_writers(journal);
            if (!read()) return std::move(result_);
        } else {
            result_.resumed_rows = base::needed_integer(journal, "rows");
            store_text_ = base::needed_text(journal, "store");
        }
        publish();
        return std::move(result_);
    }

private:
    std::string target(bool eval) const {
        return request_.folder + (eval ? "/eval.tokens" : "/train.tokens");
    }

    void make_folder() {
        std::error_code error;
        fs::create_directories(request_.folder, error);
        if (error) throw std::runtime_error(request_.folder + ": cannot be made: " + error.message());
        const auto files = request_.tokenizer->files();
        for (const auto& entry : fs::directory_iterator(request_.folder, error)) {
            const auto name = entry.path().filename().string();
            const bool ours = name == "store.json" || name == "vocab.txt" || name.ends_with(".tokens") ||
                              name.starts_with(".");
            if (!ours && std::ranges::find(files, name, &TokenizerFile::name) == files.end())
                throw base::InputError(
                    request_.folder + ": holds " + name +
                    ", which is no part of a token store; expected a new or an empty folder");
        }
    }

    PrepareResult there_already() {
        const auto folder = open_token_folder(request_.folder);
        const auto name = request_.folder + "/store.json";
        const auto made_of =
            base::member(base::parse_object(base::read_text(name).value_or(""), name), "made_of");
        if (folder.made_with != shape_ || made_of != job_["inputs"])
            throw base::InputError(request_.folder +
                                   ": holds a token store of other texts or another tokenizer; give another "
                                   "folder with --out, or remove it");
        result_.was_there = true;
        result_.train = folder.train->header();
        if (folder.eval) result_.eval = folder.eval->header();
        result_.counts.train_rows = folder.train_rows;
        result_.counts.eval_rows = folder.eval_rows;
        result_.counts.also_in_train = folder.also_in_train;
        return std::move(result_);
    }

    // Of an earlier process that did the same; null: there is none, and what it left is removed.
    Json read_journal() {
        auto journal = base::parse_json(base::text_if_readable(journal_path_)).value;
        if (base::member(journal, "job") == job_) return journal;
        for (const bool eval : {false, true}) TokenFileWriter::discard(target(eval));
        return nullptr;
    }

    void open_writers(const Json& journal) {
        const auto width = token_width(request_.tokenizer->size());
        for (const bool eval : {false, true})
            writers_[eval].emplace(target(eval), width, base::member(journal, eval ? "eval" : "train"));
        if (!journal.is_object()) return;
        done_rows_ = result_.resumed_rows = base::needed_integer(journal, "rows");
        empty_[0] = base::needed_integer(journal, "train_empty");
        empty_[1] = base::needed_integer(journal, "eval_empty");
    }

    // Whether all was read, and nothing is wrong with it.
    bool read() {
        SplitRequest split{request_.data, {request_.data.text_column}};
        split.documents = true;
        try {
            read_splits(
                split, [&](const RowWay& way, Row& row) { return take(way, row.values[0]); }, result_.counts);
        } catch (const Stopped&) {
            result_.stopped = true;
        }
        submit();
        while (!running_.empty()) write_next();
        if (result_.counts.problems.empty()) save();
        if (result_.stopped || !result_.counts.problems.empty()) return false;
        auto& counts = result_.counts;
        for (const bool eval : {false, true}) {
            auto& rows = eval ? counts.eval_rows : counts.train_rows;
            rows.used -= empty_[eval];
            rows.skipped += empty_[eval];
            rows.empty += empty_[eval];
        }
        if (writers_[0]->header().texts == 0) {
            counts.problems.push_back("data.train: no row can be used for training (" +
                                      std::to_string(counts.train_rows.read) + " read)");
            return false;
        }
        return true;
    }

    RowUse take(const RowWay& way, std::string& text) {
        if (auto fault = request_.tokenizer->problem_in(text); !fault.empty())
            return unusable_text(std::move(fault), text, request_.data.bad_row, 0);
        ++rows_;
        follow(way.path, text.size());
        const bool passed_over = rows_ <= done_rows_ || !result_.counts.problems.empty();
        const bool asks = !passed_over || rows_ % rows_between_asks == 0;
        if (asks && request_.stop && request_.stop()) throw Stopped();
        if (passed_over) return {};
        chunk_.bytes += text.size();
        chunk_.texts.push_back({text, way.eval});
        chunk_.rows = rows_;
        if (chunk_.bytes >= chunk_bytes) submit();
        return {};
    }

    void submit() {
        if (chunk_.texts.empty()) return;
        while (running_.size() > static_cast<std::size_t>(std::max<std::int64_t>(1, request_.threads)))
            write_next();
        const auto tokenizer = request_.tokenizer;
        running_.push_back(
            std::async(std::launch::async, [tokenizer, chunk = std::exchange(chunk_, {})]() mutable {
                for (const auto& text : chunk.texts) chunk.ids.push_back(tokenizer->encode(text.text));
                return std::move(chunk);
            }));
    }

    void write_next() {
        const auto chunk = running_.front().get();
        running_.pop_front();
        for (std::size_t i = 0; i < chunk.texts.size(); ++i) {
            const bool eval = chunk.texts[i].eval;
            if (chunk.ids[i].empty())
                ++empty_[eval];
            else
                writers_[eval]->add(chunk.ids[i]);
        }
        written_rows_ = chunk.rows;
        unsaved_ += static_cast<std::int64_t>(chunk.bytes);
        if (unsaved_ >= request_.save_bytes) save();
        if (request_.progress)
            request_.progress(
                {all_bytes_ > 0 ? std::min(1.0, seen_bytes_ / all_bytes_) : 0.0, rows_,
                 static_cast<std::int64_t>(writers_[0]->header().texts + writers_[1]->header().texts),
                 static_cast<std::int64_t>(writers_[0]->header().tokens + writers_[1]->header().tokens)});
    }

    // How far reading has come: whole files, and of this one no more than it has.
    void follow(const std::string& path, std::size_t bytes) {
        if (path != path_) {
            std::error_code error;
            const auto size = fs::file_size(path, error);
            whole_bytes_ += path_bytes_;
            path_ = path;
            path_bytes_ = error ? 0.0 : static_cast<double>(size);
            path_read_ = 0.0;
        }
        path_read_ += static_cast<double>(bytes + 1);
        seen_bytes_ = whole_bytes_ + std::min(path_read_, path_bytes_);
    }

    void save() {
        unsaved_ = 0;
        Json journal{{"job", job_},
                     {"rows", std::max(done_rows_, written_rows_)},
                     {"train_empty", empty_[0]},
                     {"eval_empty", empty_[1]},
                     {"train", writers_[0]->save()},
                     {"eval", writers_[1]->save()}};
        write_file(journal_path_, journal.dump());
    }

    static void write_file(const std::string& path, const std::string& text) {
        if (const auto failed = base::write_file_atomically(path, text)) throw std::runtime_error(*failed);
    }

    // Everything is there but the names.
    void publish() {
        const bool from_journal = !store_text_.empty();
        if (!from_journal) {
            result_.train = writers_[0]->finish();
            const bool any = writers_[1]->header().texts > 0;
            if (any) result_.eval = writers_[1]->finish();
            auto json = base::parse_json(token_folder_text(shape_, result_.counts, result_.train,
                                                           any ? &result_.eval : nullptr))
                            .value;
            json["made_of"] = job_["inputs"];
            store_text_ = json.dump(2) + "\n";
            write_file(
                journal_path_,
                Json{{"job", job_}, {"rows", written_rows_}, {"finished", true}, {"store", store_text_}}
                    .dump());
        }
        const bool eval =
            base::member(base::member(base::parse_json(store_text_).value, "files"), "eval").is_object();
        TokenFileWriter::publish(target(false));
        if (eval)
            TokenFileWriter::publish(target(true));
        else
            TokenFileWriter::discard(target(true));
        for (const auto& file : request_.tokenizer->files())
            write_file(request_.folder + "/" + file.name, file.bytes);
        write_file(request_.folder + "/store.json", store_text_);
        std::error_code ignored;
        fs::remove(journal_path_, ignored);
        if (!from_journal) return;
        const auto resumed = result_.resumed_rows;
        result_ = there_already();
        result_.was_there = false;
        result_.resumed_rows = resumed;
    }

    const PrepareRequest& request_;
    std::string journal_path_;
    Json shape_, job_;
    PrepareResult result_;
    std::optional<TokenFileWriter> writers_[2];  // training, evaluation
    std::int64_t empty_[2] = {0, 0};             // texts of which the tokenizer makes nothing
    std::string store_text_;
    Chunk chunk_;
    std::deque<std::future<Chunk>> running_;
    std::int64_t rows_ = 0, done_rows_ = 0, written_rows_ = 0, unsaved_ = 0;
    double all_bytes_ = 0.0, seen_bytes_ = 0.0, whole_bytes_ = 0.0, path_bytes_ = 0.0, path_read_ = 0.0;
    std::string path_;
};

}  // namespace

PrepareResult prepare(const PrepareRequest& request) { return Preparation(request).run(); }

}  // namespace switchyard::data
