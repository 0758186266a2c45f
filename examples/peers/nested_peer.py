#!/usr/bin/env python3
"""An arm of `switchyard compare --operation forward`: BERT by PyTorch's nested tensors.

torch.nn.TransformerEncoder in inference takes padded batches with a mask, keeps only the real tokens of them in nested tensors, and
calls its fused layer on these ("Better Transformer", the fast path that its documentation describes).

    python3 nested_peer.py [--padded] [--threads N]
"""
import argparse

from arm import serve, time_turn


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--padded", action="store_true", help="the fused layer on padded batches, without nested tensors")
    parser.add_argument("--threads", type=int, default=0, help="default: as the configuration says, else all cores")
    return parser.parse_args()


options = arguments()

import torch  # noqa: E402  (after arm, which takes the standard output away from it)
import torch.nn.functional as F  # noqa: E402
from safetensors.torch import load_file  # noqa: E402


class Bert(torch.nn.Module):
    """A BERT with the weights of Hugging Face's model.safetensors and the head of the task."""

    def __init__(self, sizes, task, weights):
        super().__init__()
        if sizes["type"] != "bert" or task["kind"] not in ("masked_lm", "sequence_classification"):
            raise ValueError("this peer has a bert for masked_lm and sequence_classification only")
        width, self.weights, self.task = sizes["hidden_size"], weights, task
        layer = torch.nn.TransformerEncoderLayer(width, sizes["heads"], sizes["intermediate_size"], sizes["dropout"], "gelu",
                                                 layer_norm_eps=1e-12, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, sizes["layers"], enable_nested_tensor=not options.padded)
        for number, layer in enumerate(self.encoder.layers):
            self.copy(layer, f"bert.encoder.layer.{number}.")

    def copy(self, layer, prefix):
        def joined(kind):
            return torch.cat([self.weights[f"{prefix}attention.self.{name}.{kind}"] for name in ("query", "key", "value")])

        pairs = {layer.self_attn.in_proj_weight: joined("weight"), layer.self_attn.in_proj_bias: joined("bias")}
        for module, name in ((layer.self_attn.out_proj, "attention.output.dense"), (layer.norm1, "attention.output.LayerNorm"),
                             (layer.linear1, "intermediate.dense"), (layer.linear2, "output.dense"),
                             (layer.norm2, "output.LayerNorm")):
            pairs[module.weight], pairs[module.bias] = (self.weights[f"{prefix}{name}.{kind}"] for kind in ("weight", "bias"))
        with torch.no_grad():
            for parameter, value in pairs.items():
                parameter.copy_(value)

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.weights[name + ".weight"], self.weights[name + ".bias"], 1e-12)

    def linear(self, x, name):
        return F.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def forward(self, batch):
        """Logits of the rows that have a label, and the labels."""
        ids, name = batch["ids"], "bert.embeddings."
        types = batch.get("token_type_ids", torch.zeros_like(ids))
        x = (self.weights[name + "word_embeddings.weight"][ids] + self.weights[name + "token_type_embeddings.weight"][types]
             + self.weights[name + "position_embeddings.weight"][: ids.shape[1]])
        x = self.encoder(self.norm(x, name + "LayerNorm"), src_key_padding_mask=batch["attention_mask"] == 0)
        labels = batch["labels"]
        if self.task["kind"] == "sequence_classification":
            return self.linear(torch.tanh(self.linear(x[:, 0], "bert.pooler.dense")), "classifier"), labels
        # The encoder's rows may end with the longest sequence of the batch.
        labels = labels[:, : x.shape[1]]
        kept = labels != self.task["ignore_index"]
        x = F.gelu(self.linear(x[kept], "cls.predictions.transform.dense"))
        x = self.norm(x, "cls.predictions.transform.LayerNorm")
        table = self.weights.get("cls.predictions.decoder.weight", self.weights[name + "word_embeddings.weight"])
        return F.linear(x, table, self.weights["cls.predictions.bias"]), labels[kept]


class Arm:
    def __init__(self, message):
        if message["operation"] != "forward":
            raise ValueError("nested tensors are for inference: compare with --operation forward")
        if options.threads or message["threads"]:
            torch.set_num_threads(options.threads or message["threads"])
        weights = load_file(message["weights"] + "/model.safetensors")
        self.model = Bert(message["model"], message["task"], weights).eval()
        batches = {}
        for name, tensor in load_file(message["batches"]).items():
            _, number, what = name.split(".")
            batches.setdefault(int(number), {})[what] = tensor
        self.batches = [batches[number] for number in sorted(batches)]

    def one_pass(self):
        loss, count, tokens = 0.0, 0, 0
        with torch.inference_mode():
            for batch in self.batches:
                logits, labels = self.model(batch)
                loss += F.cross_entropy(logits, labels, ignore_index=self.model.task["ignore_index"], reduction="sum").item()
                count += int((labels != self.model.task["ignore_index"]).sum())
                tokens += int(batch["attention_mask"].sum())
        return loss / max(1, count), sum(len(batch["ids"]) for batch in self.batches), tokens


def prepare(message):
    how = "padded" if options.padded else "nested tensors"
    return Arm(message), {"type": "report", "operation": "forward", "description": f"PyTorch {torch.__version__}, {how}",
                          "dtype": "float32", "loss": None}


def run(arm, passes):
    return time_turn(passes, arm.one_pass)


if __name__ == "__main__":
    serve(prepare, run)
