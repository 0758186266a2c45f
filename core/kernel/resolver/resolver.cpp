#include "core/kernel/resolver/resolver.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <switchyard/interfaces/reason_text.h>
#include "core/kernel/base/joined.h"
#include "core/kernel/config/check_value.h"
#include "core/kernel/resolver/compose.h"
#include "core/kernel/resolver/field_keys.h"
#include "core/kernel/resolver/names.h"
#include "core/kernel/resolver/nearest.h"
#include "core/kernel/resolver/request_fields.h"

namespace switchyard::resolver {
namespace {

// What one candidate says to a use.
struct Answer {
    const Candidate* candidate = nullptr;
    std::string variant;
    bool ok = false;
    std::vector<Reason> reasons;
    Composed composed;
    std::shared_ptr<const Request> request;  // if ok: what it serves
};

// A candidate, asked for one use: the request as it is, then composed from narrower ones.
class Question {
public:
    Question(const SlotUse& use, const Candidate& candidate, std::string variant, bool by_name,
             const HostInfo& host)
        : use_(use),
          candidate_(candidate),
          variant_(std::move(variant)),
          by_name_(by_name),
          host_(host),
          options_(options_for(candidate, use.config)) {
        const auto request = clone(use.kind, *use.request);
        request->allow_reduced =
            use.config.allow_reduced || (by_name && candidate.manifest.accuracy == Accuracy::reduced);
        request_ = request;
    }

    Answer ask() const { return ask(request_, variant_); }

    std::optional<std::string> nearest(const std::vector<Reason>& reasons) const {
        if (!candidate_.usable) return std::nullopt;
        for (const auto& other : candidate_.manifest.variants) {
            if (variant_.empty() || other == variant_ || !ask(request_, other).ok) continue;
            return "variant " + other + " instead of " + variant_;
        }
        return nearest_request(
            use_.kind, request_, reasons,
            [&](const std::shared_ptr<const Request>& request) { return ask(request, variant_).reasons; });
    }

private:
    Answer ask(const std::shared_ptr<const Request>& request, const std::string& variant) const {
        Answer answer{&candidate_, variant, false, {}, {}, request};
        if (!candidate_.usable) {
            answer.reasons.push_back(candidate_.obstacle);
            return answer;
        }
        for (auto& [parts, narrow] : narrowings(use_.kind, request)) {
            auto reasons = reasons_for(*narrow, variant);
            if (!reasons.empty()) {
                if (parts.empty()) answer.reasons = std::move(reasons);
                continue;
            }
            return {&candidate_, variant, true, {}, parts, narrow};
        }
        return answer;
    }

    std::vector<Reason> reasons_for(const Request& request, const std::string& variant) const {
        if (auto refusal = refuse_custom(candidate_.manifest, request)) return {*std::move(refusal)};
        auto reasons = candidate_.supports(request, host_, options_, variant).reasons;
        const bool told = std::any_of(reasons.begin(), reasons.end(),
                                      [](const Reason& r) { return r.code == Code::Accuracy; });
        if (candidate_.manifest.accuracy == Accuracy::reduced && !request.allow_reduced && !told) {
            reasons.push_back({Code::Accuracy, "allow_reduced", "on", "off",
                               "its accuracy is reduced: write its name, or " + std::string(name(use_.kind)) +
                                   ".allow_reduced = true"});
        }
        if (candidate_.manifest.composition == Composition::own && !by_name_ && !has_budget(request)) {
            reasons.push_back({Code::Composition, "token_budget", "a budget of tokens", "none",
                               "it composes batches in an order of its own: write its name, or set "
                               "batch.tokens"});
        }
        return reasons;
    }

    bool has_budget(const Request& request) const {
        return use_.kind == Kind::data_loader &&
               KindTraits<Kind::data_loader>::request(request).token_budget > 0;
    }

    const SlotUse& use_;
    const Candidate& candidate_;
    std::string variant_;
    bool by_name_;
    const HostInfo& host_;
    Options options_;
    std::shared_ptr<const Request> request_;
};

CandidateOutcome outcome_of(const Answer& answer) {
    CandidateOutcome outcome;
    outcome.plugin = answer.candidate->plugin;
    outcome.version = answer.candidate->version;
    outcome.component = answer.candidate->manifest.id;
    outcome.variant = answer.variant;
    outcome.ok = answer.ok;
    outcome.reasons = answer.reasons;
    outcome.composed = answer.composed;
    outcome.priority = answer.candidate->manifest.priority;
    return outcome;
}

// One use on its way to a row.
class Row {
public:
    Row(const SlotUse& use, const std::vector<Candidate>& candidates, const HostInfo& host,
        const ResolveOptions& options)
        : use_(use), candidates_(candidates), host_(host), options_(options) {
        row_.use = use;
    }

    PlanRow resolve() {
        named_ = !use_.config.automatic();
        row_.error = unknown_custom(use_.kind, *use_.request, candidates_, options_.written_at);
        if (named_)
            choose_named();
        else
            choose_automatic();
        add_outcomes();
        if (!row_.chosen && row_.error.empty()) explain_failure();
        return std::move(row_);
    }

private:
    std::string key() const { return use_.key(); }

    void choose_named() {
        const auto& backends = use_.config.backend;
        bool found = false;
        for (const auto& text : backends) {
            const auto named = find_named(use_.kind, text, candidates_);
            if (named.candidate == nullptr) {
                row_.error = named.error.starts_with('"') ? key() + " = " + named.error : named.error;
                return;
            }
            if (found && !options_.explain) continue;  // it is there: that is all that has to be known of it
            answers_.push_back(Question(use_, *named.candidate, named.variant, true, host_).ask());
            found = found || answers_.back().ok;
        }
        const auto first =
            std::find_if(answers_.begin(), answers_.end(), [](const Answer& a) { return a.ok; });
        if (first == answers_.end()) return;
        const auto place = first - answers_.begin() + 1;
        take(*first, backends.size() == 1 ? "named"
                                          : "choice " + std::to_string(place) + " of " +
                                                std::to_string(backends.size()) + " listed");
    }

    void choose_automatic() {
        std::vector<const Candidate*> conformant;
        for (const auto& candidate : candidates_) {
            if (candidate.manifest.kind != use_.kind) continue;
            answers_.push_back(Question(use_, candidate, "", false, host_).ask());
            if (answers_.back().ok) conformant.push_back(&candidate);
        }
        if (conformant.empty()) return;
        const auto choice = options_.chooser(use_, conformant);
        const auto* best = conformant.at(choice.index);
        for (std::size_t i = 0; i < choice.why_not.size(); ++i)
            passed_over_[conformant.at(i)] = choice.why_not[i];
        row_.measured = choice.measured;
        take(*std::find_if(answers_.begin(), answers_.end(),
                           [&](const Answer& a) { return a.candidate == best; }),
             choice.how);
    }

    void take(const Answer& answer, std::string how) {
        const auto& candidate = *answer.candidate;
        row_.how = std::move(how);
        chosen_priority_ = candidate.manifest.priority;
        row_.chosen = Chosen{candidate.plugin,
                             candidate.manifest.id,
                             answer.variant,
                             candidate.version,
                             candidate.library_path,
                             candidate.content_hash,
                             options_for(candidate, use_.config),
                             answer.request,
                             answer.composed,
                             candidate.manifest.accuracy,
                             candidate.manifest.accuracy_bound,
                             candidate.verification};
        row_.chosen->verification = verification_of(candidate, *row_.chosen);
    }

    // What a run found out about this very use goes before what one of all claims did.
    loader::Verification verification_of(const Candidate& candidate, const Chosen& chosen) const {
        if (candidate.uses.empty() || candidate.verification == loader::Verification::own)
            return candidate.verification;
        const auto use = use_in_words(use_.kind, chosen);
        const auto found = std::ranges::find(candidate.uses, use, &loader::VerifiedUse::use);
        if (found == candidate.uses.end()) return candidate.verification;
        if (!found->passed) return loader::Verification::unverified;
        return candidate.verification == loader::Verification::passed ? loader::Verification::passed
                                                                      : loader::Verification::passed_use;
    }

    const Answer* answer_of(const Candidate& candidate) const {
        const auto found = std::find_if(answers_.begin(), answers_.end(),
                                        [&](const Answer& a) { return a.candidate == &candidate; });
        return found == answers_.end() ? nullptr : &*found;
    }

    // Of all candidates: the chosen one first, then those that were named, then the rest by priority.
    void add_outcomes() {
        for (const auto& answer : answers_) add(answer, true);
        const auto considered = static_cast<std::ptrdiff_t>(row_.candidates.size());
        for (const auto& candidate : candidates_) {
            if (!options_.explain || candidate.manifest.kind != use_.kind || answer_of(candidate) != nullptr)
                continue;
            add(Question(use_, candidate, "", false, host_).ask(), false);
        }
        const auto by_priority = [](const auto& a, const auto& b) { return a.priority > b.priority; };
        std::stable_sort(row_.candidates.begin() + (named_ ? considered : 0), row_.candidates.end(),
                         by_priority);
        std::stable_partition(row_.candidates.begin(), row_.candidates.end(),
                              [&](const auto& o) { return is_chosen(o); });
    }

    bool is_chosen(const CandidateOutcome& outcome) const {
        return row_.chosen && outcome.ok && outcome.plugin == row_.chosen->plugin &&
               outcome.component == row_.chosen->component && outcome.variant == row_.chosen->variant;
    }

    void add(const Answer& answer, bool considered) {
        auto outcome = outcome_of(answer);
        if (!answer.ok && options_.explain) {
            const Question question(use_, *answer.candidate, answer.variant, named_ && considered, host_);
            outcome.nearest = question.nearest(answer.reasons);
        }
        const auto passed_over = passed_over_.find(answer.candidate);
        if (answer.ok && !is_chosen(outcome))
            outcome.why_not =
                passed_over == passed_over_.end() ? why_not(outcome, considered) : passed_over->second;
        row_.candidates.push_back(std::move(outcome));
    }

    std::string why_not(const CandidateOutcome& outcome, bool considered) const {
        if (!considered) return "not asked for";
        if (!row_.chosen) return "";
        if (named_) return "listed later";
        const auto priorities =
            std::to_string(outcome.priority) + ", chosen: " + std::to_string(chosen_priority_);
        if (outcome.priority < chosen_priority_) return "lower priority (" + priorities + ")";
        return outcome.priority == chosen_priority_ ? "equal priority (" + priorities + "), later by name"
                                                    : "not chosen (priority " + priorities + ")";
    }

    void explain_failure() {
        const std::string kind(name(use_.kind));
        if (answers_.empty()) {
            row_.error =
                "none of the plugins found has a component for " + kind + "; see `switchyard plugins doctor`";
            return;
        }
        std::string wanted;
        for (const auto& text : use_.config.backend) wanted += (wanted.empty() ? "\"" : ", \"") + text + '"';
        row_.error = !named_                ? "no component serves this " + kind
                     : answers_.size() == 1 ? wanted + " does not serve this " + kind
                                            : "none of " + wanted + " serves this " + kind;
        row_.error += "\n    asked for: " + in_words(use_.kind, *use_.request);
        std::string others;
        for (const auto& outcome : row_.candidates) {
            const auto full = outcome.plugin + "/" + outcome.component;
            if (outcome.ok) base::add_item(others, full);
            if (named_ && !was_named(outcome)) continue;
            for (const auto& reason : outcome.reasons) row_.error += "\n    " + full + ": " + to_text(reason);
            if (outcome.nearest) row_.error += "\n    " + full + " would serve: " + *outcome.nearest;
        }
        add_keys();
        if (!named_ || !options_.explain) return;
        row_.error += others.empty() ? "\n    no other component serves it either"
                                     : "\n    as it is, it is served by: " + others;
    }

    // Of each field that is refused: the keys that were written, or, where none was, those that would be.
    void add_keys() {
        if (!options_.written_at) return;
        std::set<std::string> told;
        for (const auto& answer : answers_) {
            for (const auto& reason : answer.reasons) {
                for (const auto& field : keys_of(use_.kind, *use_.request, reason.field)) {
                    if (told.insert(field.what).second)
                        row_.error += "\n    " + field.what + " follows from " + places_of(field.keys);
                }
            }
        }
    }

    std::string places_of(const std::vector<std::string_view>& keys) const {
        std::string written;
        for (const auto& key : keys) {
            const auto place = options_.written_at(key);
            if (!place.empty()) base::add_item(written, std::string(key) + " (" + place + ")");
        }
        return written.empty() ? base::joined(keys, " and ") + " (not written: as by default)" : written;
    }

    bool was_named(const CandidateOutcome& outcome) const {
        return std::any_of(answers_.begin(), answers_.end(), [&](const Answer& a) {
            return a.candidate->plugin == outcome.plugin && a.candidate->manifest.id == outcome.component;
        });
    }

    const SlotUse& use_;
    const std::vector<Candidate>& candidates_;
    const HostInfo& host_;
    const ResolveOptions& options_;
    bool named_ = false;
    int chosen_priority_ = 0;
    std::vector<Answer> answers_;                          // of those that were named, or of all for "auto"
    std::map<const Candidate*, std::string> passed_over_;  // by what the chooser said
    PlanRow row_;
};

}  // namespace

Choice by_priority(const SlotUse&, const std::vector<const Candidate*>& conformant) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < conformant.size(); ++i) {
        const auto &a = *conformant[i], &b = *conformant[best];
        if (a.manifest.priority > b.manifest.priority ||
            (a.manifest.priority == b.manifest.priority && a.full_name() < b.full_name()))
            best = i;
    }
    return {best, "auto: by priority"};
}

Options options_for(const Candidate& candidate, const config::SlotConfig& config) {
    Options options = config::default_options(candidate.manifest.options);
    for (const auto& key : {candidate.manifest.id, candidate.full_name()}) {
        const auto found = config.options.find(key);
        if (found == config.options.end()) continue;
        for (const auto& [name, value] : found->second.values()) {
            if (options.has(name)) options.set(name, value);
        }
    }
    return options;
}

PlanRow resolve(const SlotUse& use, const std::vector<Candidate>& candidates, const HostInfo& host,
                const ResolveOptions& options) {
    return Row(use, candidates, host, options).resolve();
}

Plan resolve(const std::vector<SlotUse>& uses, const std::vector<Candidate>& candidates, const HostInfo& host,
             const ResolveOptions& options) {
    Plan plan{host, {}};
    plan.rows.reserve(uses.size());
    for (const auto& use : uses) plan.rows.push_back(resolve(use, candidates, host, options));
    return plan;
}

}  // namespace switchyard::resolver
