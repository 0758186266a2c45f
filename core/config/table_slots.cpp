// The keys of the seven slots.
#include <switchyard/config/table.h>

namespace switchyard::config {
namespace {

// What all slots have. Attention, normalization and activation may differ from layer to layer.
template <auto Slot>
std::vector<Field> common(Kind kind) {
    const std::string prefix(name(kind));
    Field backend = field<Slot, &SlotConfig::backend>(
        prefix + ".backend",
        "who computes it: [plugin/]component[@variant], a list of them in order of preference, or \"auto\"");
    backend.shape.type = Type::backend;
    Field allow_reduced = field<Slot, &SlotConfig::allow_reduced>(
        prefix + ".allow_reduced", "may a component of reduced accuracy (it declares its bound) be taken");
    backend.per_layer = allow_reduced.per_layer = kind <= Kind::activation;
    return {std::move(backend), std::move(allow_reduced)};
}

std::vector<Field> operator+(std::vector<Field> left, std::vector<Field> right) {
    for (auto& field : right) left.push_back(std::move(field));
    return left;
}

std::vector<Field> loss_fields() {
    using L = LossConfig;
    return {
        field<&Config::loss, &L::projection>(
            "loss.projection", "output projection and loss in one operation, logits never whole"),
        field<&Config::loss, &L::label_smoothing>("loss.label_smoothing",
                                                  "share of the target spread over all classes")
            .at_least(0)
            .below(1),
        field<&Config::loss, &L::z_loss>("loss.z_loss",
                                         "factor of the squared log-normalizer added to the loss")
            .at_least(0),
        field<&Config::loss, &L::ignore_index>("loss.ignore_index", "target of the rows that do not count"),
    };
}

std::vector<Field> optimizer_fields() {
    using O = OptimizerConfig;
    constexpr auto S = &Config::optimizer;
    return {
        field<S, &O::algorithm>("optimizer.algorithm", "update rule; `backend` says who does it")
            .known_as("name type"),
        field<S, &O::lr>("optimizer.lr", "learning rate").at_least(0).known_as("learning_rate"),
        field<S, &O::betas>("optimizer.betas", "decay of the two moments (adamw, adam, lion, lamb)")
            .at_least(0)
            .below(1)
            .length(2)
            .known_as("beta1 beta2 adam_beta1 adam_beta2"),
        field<S, &O::eps>("optimizer.eps", "added to the denominator (adamw, adam, lamb)")
            .above(0)
            .known_as("epsilon adam_epsilon"),
        field<S, &O::weight_decay>("optimizer.weight_decay", "decoupled, or L2 for adam and sgd").at_least(0),
        field<S, &O::momentum>("optimizer.momentum", "sgd and muon").at_least(0).below(1),
        field<S, &O::nesterov>("optimizer.nesterov", "Nesterov's form of the momentum (sgd, muon)"),
        field<S, &O::max_grad_norm>("optimizer.max_grad_norm",
                                    "gradients are clipped to this global norm; 0: never")
            .at_least(0)
            .known_as("clip grad_clip clip_grad_norm max_norm gradient_clipping"),
    };
}

std::vector<Field> precision_fields() {
    using P = PrecisionConfig;
    constexpr auto S = &Config::precision;
    return {
        field<S, &P::parameter_dtype>("precision.parameter_dtype",
                                      "dtype in which the model stores its parameters")
            .one_of({"float32", "float64", "bfloat16", "float16"})
            .known_as("dtype torch_dtype"),
        field<S, &P::compute_dtype>("precision.compute_dtype",
                                    "dtype that attention, normalization, activation and loss are planned "
                                    "for; auto: as the policy says")
            .one_of({"auto", "float32", "float64", "bfloat16", "float16"})
            .known_as("autocast amp"),
        field<S, &P::loss_scaling>("precision.loss_scaling", "the policy must scale the loss")
            .known_as("loss_scale"),
    };
}

std::vector<Field> data_loader_fields() {
    using D = DataLoaderConfig;
    return {
        field<&Config::data_loader, &D::shuffle>("data_loader.shuffle",
                                                 "a new order in every epoch, a function of run.seed"),
        field<&Config::data_loader, &D::drop_last>("data_loader.drop_last",
                                                   "leave out a last batch that is smaller"),
    };
}

}  // namespace

std::vector<Field> slot_fields(Kind kind) {
    switch (kind) {
        case Kind::attention:
            return common<&Config::attention>(kind);
        case Kind::normalization:
            return common<&Config::normalization>(kind);
        case Kind::activation:
            return common<&Config::activation>(kind);
        case Kind::loss:
            return common<&Config::loss>(kind) + loss_fields();
        case Kind::optimizer:
            return common<&Config::optimizer>(kind) + optimizer_fields();
        case Kind::precision:
            return common<&Config::precision>(kind) + precision_fields();
        case Kind::data_loader:
            return common<&Config::data_loader>(kind) + data_loader_fields();
    }
    return {};
}

}  // namespace switchyard::config
