#include <switchyard/model/describe.h>

namespace switchyard::model {
namespace {

std::string by(std::int64_t rows, std::int64_t columns) {
    return std::to_string(rows) + "x" + std::to_string(columns);
}

class Description {
public:
    explicit Description(const config::Config& config)
        : config_(config),
          m_(config.model),
          tokens_(config.batch.size * config.batch.max_length),
          value_bytes_(size_of(config.precision.parameter_dtype.value_or(DType::float32))) {}

    std::vector<ModelPart> all() {
        add_embeddings();
        for (const auto stack : {config::Stack::encoder, config::Stack::decoder}) {
            if (m_.layers_of(stack) > 0) add_stack(stack);
        }
        add_head();
        return std::move(parts_);
    }

private:
    std::int64_t linear(std::int64_t in, std::int64_t out) const { return in * out + (m_.bias ? out : 0); }
    std::int64_t norm() const {
        return m_.hidden_size * (m_.norm == NormKind::layer_norm && m_.bias ? 2 : 1);
    }
    double product_flops(std::int64_t rows, std::int64_t in, std::int64_t out) const {
        return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
    }

    void add_embeddings() {
        ModelPart part{"embeddings",
                       "words " + by(m_.vocab_size, m_.hidden_size),
                       1,
                       m_.vocab_size * m_.hidden_size,
                       0.0,
                       0};
        if (m_.positions == config::Positions::learned) {
            part.parameters += m_.max_positions * m_.hidden_size;
            part.shapes += ", positions " + by(m_.max_positions, m_.hidden_size);
        }
        if (m_.type == config::ModelType::bert) {
            part.parameters +=
                2 * m_.hidden_size + (m_.norm_position == config::NormPosition::post ? norm() : 0);
            part.shapes += ", segments " + by(2, m_.hidden_size);
        }
        part.activation_bytes = 2 * tokens_ * m_.hidden_size * value_bytes_;
        parts_.push_back(part);
    }

    void add_stack(config::Stack stack) {
        const auto count = m_.layers_of(stack);
        const std::string at =
            std::string(name(stack)) + "." + (count > 1 ? "0-" + std::to_string(count - 1) : "0");
        add_attention(at + " attention", count);
        if (stack == config::Stack::decoder && m_.has_cross_attention())
            add_attention(at + " cross-attention", count);
        add_feed_forward(at + " feed-forward", count);
        if (m_.positions == config::Positions::t5) {
            parts_.push_back(
                {std::string(name(stack)) + " relative bias", by(32, m_.heads), 1, 32 * m_.heads, 0.0, 0});
        }
        if (m_.norm_position == config::NormPosition::pre) {
            parts_.push_back({std::string(name(stack)) + " final norm", std::to_string(m_.hidden_size), 1,
                              norm(), 0.0, tokens_ * m_.hidden_size * value_bytes_});
        }
    }

    void add_attention(const std::string& name, std::int64_t count) {
        const auto q = m_.heads * m_.head_dim, kv = m_.kv_heads * m_.head_dim;
        ModelPart part{name,
                       "q " + by(q, m_.hidden_size) + ", k and v " + by(kv, m_.hidden_size) + ", out " +
                           by(m_.hidden_size, q),
                       count,
                       0,
                       0.0,
                       0};
        part.parameters = count * (linear(m_.hidden_size, q) + 2 * linear(m_.hidden_size, kv) +
                                   linear(q, m_.hidden_size) + norm());
        const double projections = product_flops(tokens_, m_.hidden_size, 2 * q + 2 * kv);
        const double scores = 2.0 * product_flops(tokens_, m_.head_dim, config_.batch.max_length) *
                              static_cast<double>(m_.heads);
        part.forward_flops = static_cast<double>(count) * (projections + scores);
        part.activation_bytes = count * tokens_ * value_bytes_ *
                                (2 * q + 2 * kv + 2 * m_.hidden_size + m_.heads * config_.batch.max_length);
        parts_.push_back(part);
    }

    void add_feed_forward(const std::string& name, std::int64_t count) {
        const auto inner = m_.intermediate_size * (is_gated(m_.activation) ? 2 : 1);
        ModelPart part{
            name,  "in " + by(inner, m_.hidden_size) + ", out " + by(m_.hidden_size, m_.intermediate_size),
            count, 0,
            0.0,   0};
        part.parameters =
            count * (linear(m_.hidden_size, inner) + linear(m_.intermediate_size, m_.hidden_size) + norm());
        part.forward_flops =
            static_cast<double>(count) * (product_flops(tokens_, m_.hidden_size, inner) +
                                          product_flops(tokens_, m_.intermediate_size, m_.hidden_size));
        part.activation_bytes =
            count * tokens_ * value_bytes_ * (inner + m_.intermediate_size + 2 * m_.hidden_size);
        parts_.push_back(part);
    }

    void add_head() {
        const auto width = m_.hidden_size;
        const bool bert = m_.type == config::ModelType::bert;
        const bool words = config_.task.predicts_words();
        const auto classes = config_.task.classes(m_.vocab_size);
        ModelPart part{
            "head", words ? "words " + by(classes, width) : "classes " + by(classes, width), 1, 0, 0.0, 0};
        const auto rows = config_.task.label_per_token() ? tokens_ : config_.batch.size;
        part.forward_flops = product_flops(rows, width, classes);
        part.activation_bytes = rows * classes * value_bytes_;
        if (bert && words) part.parameters = width * width + width + norm() + m_.vocab_size;
        if (!words) part.parameters = classes * width + classes;
        if (words && !m_.tie_embeddings) part.parameters += classes * width;
        const bool pooled = bert && !config_.task.label_per_token();
        if (pooled) {
            part.shapes = "pooler " + by(width, width) + ", " + part.shapes;
            part.parameters += width * width + width;
            part.forward_flops += product_flops(rows, width, width);
        }
        parts_.push_back(part);
    }

    const config::Config& config_;
    const config::ModelConfig& m_;
    std::int64_t tokens_;
    std::int64_t value_bytes_;
    std::vector<ModelPart> parts_;
};

}  // namespace

std::vector<ModelPart> describe(const config::Config& config) { return Description(config).all(); }

}  // namespace switchyard::model
