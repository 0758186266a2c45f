#include "core/workbench/profile/attribution.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_set>

namespace switchyard::profile {
namespace {

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The kind of "linear.attention.q" is "linear".
std::string_view slot_of(std::string_view use) {
    const auto kind = use.substr(0, use.find('.'));
    if (kind == "precision") return "precision_clipping";
    const auto* const found = std::ranges::find(slots, kind);
    return found == std::end(slots) ? "rest" : *found;
}

// Of what no component does.
std::string_view slot_outside(Pass pass, std::string_view layer) {
    if (pass == Pass::data) return "data_loader";
    if (pass == Pass::update) return "precision_clipping";
    return layer == "embeddings" ? "embeddings" : "rest";
}

Pass pass_of_part(std::string_view part) {
    if (part == "data") return Pass::data;
    if (part == "forward") return Pass::forward;
    if (part == "backward") return Pass::backward;
    return part == "update" ? Pass::update : Pass::none;
}

Owner owner_of(const Recording& recording, const std::vector<Owner>& owners, std::int32_t index) {
    const auto& event = recording.events[static_cast<std::size_t>(index)];
    Owner owner;
    if (event.parent >= 0) owner = owners[static_cast<std::size_t>(event.parent)];
    const std::string_view name = recording.name_of(event);
    switch (event.kind) {
        case EventKind::step:
        case EventKind::op:
            break;
        case EventKind::part:
            owner.pass = pass_of_part(name);
            break;
        case EventKind::place:
            owner.layer = layer_of(name);
            break;
        case EventKind::call:
            owner.use = recording.names[static_cast<std::size_t>(event.slot)];
            owner.slot = slot_of(owner.use);
            // What backward calls stands for the forward that its node is linked with.
            if (!name.ends_with(".backward") || owner.call < 0) owner.call = index;
            return owner;
        case EventKind::node:
            owner.pass = name == "Switchyard[recompute]" ? Pass::again : Pass::backward;
            owner.call = -1;
            owner.use.clear();
            if (event.forward >= 0) {
                const auto& made = owners[static_cast<std::size_t>(event.forward)];
                owner.slot = made.slot;
                owner.use = made.use;
                owner.layer = made.layer;
                owner.call = made.call;
            }
            break;
    }
    if (owner.call < 0 && owner.use.empty() && (event.kind != EventKind::node || event.forward < 0))
        owner.slot = slot_outside(owner.pass, owner.layer);
    return owner;
}

void count_calls(const Recording& recording, const std::vector<Owner>& owners, std::vector<Cost>& costs) {
    std::unordered_set<std::int32_t> gone_back;
    for (std::size_t i = 0; i < recording.events.size(); ++i) {
        const auto& event = recording.events[i];
        const auto& owner = owners[i];
        if (event.kind == EventKind::call) costs[i] += event.cost;
        if (owner.pass != Pass::backward || owner.call < 0 || !gone_back.insert(owner.call).second) continue;
        costs[i] += recording.events[static_cast<std::size_t>(owner.call)].backward_cost;
    }
}

// An operator that does more than hand on has a cost of its own: a product, and what moves clearly more than
// all that it calls. What it calls then has none.
constexpr double clearly_more = 1.5;

std::vector<bool> own_costs(const Recording& recording) {
    const auto& events = recording.events;
    std::vector<double> inside(events.size(), 0.0);  // bytes of what it calls
    std::vector<bool> own(events.size(), false);
    for (std::size_t i = events.size(); i-- > 0;) {  // children come before what they are in
        const auto& event = events[i];
        const double bytes = event.cost.read + event.cost.written;
        own[i] = event.kind == EventKind::op && event.cost.any() &&
                 (event.product || bytes > clearly_more * inside[i]);
        if (event.parent >= 0 && event.kind == EventKind::op)
            inside[static_cast<std::size_t>(event.parent)] += own[i] ? bytes : inside[i];
    }
    std::vector<bool> covered(events.size(), false);
    for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].parent >= 0) {
            const auto parent = static_cast<std::size_t>(events[i].parent);
            covered[i] = covered[parent] || own[parent];
        }
    }
    for (std::size_t i = 0; i < events.size(); ++i) own[i] = own[i] && !covered[i];
    return own;
}

}  // namespace

std::string_view name(Pass pass) {
    constexpr std::array<std::string_view, 6> texts{"elsewhere", "data", "forward", "again", "backward", "update"};
    return texts[static_cast<std::size_t>(pass)];
}

std::string layer_of(std::string_view place) {
    const auto first = place.find('.');
    if (first == std::string_view::npos) return std::string(place);
    const auto second = place.find('.', first + 1);
    const auto number = place.substr(first + 1, second == std::string_view::npos ? second : second - first - 1);
    if (is_number(number)) return std::string(place.substr(0, second));
    const bool of_stack = place.starts_with("encoder") || place.starts_with("decoder");
    return std::string(of_stack ? place : place.substr(0, first));
}

std::vector<Owner> owners_of(const Recording& recording) {
    std::vector<Owner> owners;
    owners.reserve(recording.events.size());
    for (std::size_t i = 0; i < recording.events.size(); ++i)
        owners.push_back(owner_of(recording, owners, static_cast<std::int32_t>(i)));
    return owners;
}

std::vector<double> own_milliseconds(const Recording& recording) {
    std::vector<double> own;
    own.reserve(recording.events.size());
    for (const auto& event : recording.events) {
        own.push_back(event.milliseconds());
        if (event.parent >= 0)
            own[static_cast<std::size_t>(event.parent)] -=
                event.milliseconds() + static_cast<double>(event.observing) * 1e-6;
    }
    return own;
}

std::vector<Cost> counted_costs(const Recording& recording, const std::vector<Owner>& owners, bool contract) {
    std::vector<Cost> costs(recording.events.size());
    if (contract) count_calls(recording, owners, costs);
    const auto chosen = own_costs(recording);
    for (std::size_t i = 0; i < recording.events.size(); ++i) {
        if (!chosen[i]) continue;
        const auto call = owners[i].call;
        const bool by_call =
            contract && call >= 0 && recording.events[static_cast<std::size_t>(call)].cost.any();
        if (!by_call) costs[i] += recording.events[i].cost;
    }
    return costs;
}

}  // namespace switchyard::profile
