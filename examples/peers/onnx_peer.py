#!/usr/bin/env python3
"""An arm of `switchyard bench inference`: forwards and greedy generation by ONNX Runtime.

It loads the weights that a Switchyard arm exported, writes them as an ONNX model with a cache of keys and values among its inputs and
outputs (torch.onnx), and runs that; docs/compare.md describes the messages over the standard streams.

    python3 onnx_peer.py [--int8] [--threads N]

--int8: ONNX Runtime's dynamic quantization, weights by channel. Models: BERT and its like for forwards; GPT-2 for generation.
"""
import argparse
import os
import tempfile
import time

from arm import serve
import inference


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--int8", action="store_true", help="dynamic quantization: weights by channel, inputs by tensor")
    parser.add_argument("--threads", type=int, default=0, help="default: as the configuration says, else all cores")
    return parser.parse_args()


options = arguments()
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # everything lies in the folder that the message names

import numpy as np  # noqa: E402  (after arm, which takes the standard output away from it)
import onnxruntime  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402


class Encoder(torch.nn.Module):
    """A model of sequences with its inputs in a row, as an export needs them."""

    def __init__(self, model, segments):
        super().__init__()
        self.model, self.segments = model, segments

    def forward(self, ids, mask, types=None):
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self.segments:
            inputs["token_type_ids"] = types
        return self.model(**inputs).logits


class Decoder(torch.nn.Module):
    """GPT-2 with its cache: keys and values of all layers, [layers, 2, rows, heads, length, head_dim], in and out. Logits of the last place."""

    def __init__(self, model):
        super().__init__()
        self.body, self.head, self.layers = model.transformer, model.lm_head, model.config.n_layer

    def forward(self, ids, mask, positions, past):
        cache = transformers.DynamicCache()
        for layer in range(self.layers):
            cache.update(past[layer, 0], past[layer, 1], layer)
        # Which keys a query sees: those before it, padding left out.
        length, new = mask.shape[1], ids.shape[1]
        places = torch.arange(length)
        seen = (places[None, :] <= places[length - new:, None])[None, None] & mask[:, None, None, :].bool()
        bias = torch.where(seen, 0.0, torch.finfo(torch.float32).min)
        hidden = self.body(input_ids=ids, position_ids=positions, attention_mask=bias, past_key_values=cache, use_cache=True)
        kept = hidden.past_key_values
        pairs = [torch.stack((kept.layers[i].keys, kept.layers[i].values)) for i in range(self.layers)]
        return self.head(hidden.last_hidden_state[:, -1]), torch.stack(pairs)


def export_encoder(model, path, segments):
    ids = torch.ones((2, 8), dtype=torch.long)
    names = ["ids", "mask"] + (["types"] if segments else [])
    torch.onnx.export(Encoder(model, segments), tuple(torch.ones_like(ids) for _ in names), path, input_names=names, output_names=["logits"],
                      dynamic_axes={name: {0: "rows", 1: "length"} for name in names}, opset_version=17, dynamo=False)


def export_decoder(model, path):
    config = model.config
    past = torch.zeros((config.n_layer, 2, 2, config.n_head, 5, config.n_embd // config.n_head))
    ids = torch.ones((2, 3), dtype=torch.long)
    inputs = (ids, torch.ones((2, 8), dtype=torch.long), torch.arange(5, 8).repeat(2, 1), past)
    torch.onnx.export(Decoder(model), inputs, path, input_names=["ids", "mask", "positions", "past"], output_names=["logits", "present"],
                      dynamic_axes={"ids": {0: "rows", 1: "new"}, "mask": {0: "rows", 1: "length"}, "positions": {0: "rows", 1: "new"},
                                    "past": {2: "rows", 4: "before"}, "logits": {0: "rows"}, "present": {2: "rows", 4: "length"}},
                      opset_version=17, dynamo=False)


def quantized(path):
    from onnxruntime.quantization import QuantType, quantize_dynamic

    made = path.replace(".onnx", "-int8.onnx")
    quantize_dynamic(path, made, per_channel=True, weight_type=QuantType.QInt8)
    return made


class Model:
    def __init__(self, message):
        self.operation = message["operation"]
        self.workloads = inference.workloads_of(message)
        config = transformers.AutoConfig.from_pretrained(message["weights"])
        if self.operation == "generate" and config.model_type != "gpt2":
            raise ValueError(f"this peer generates with GPT-2, got {config.model_type}")
        kind = getattr(transformers, config.architectures[0])
        model = kind.from_pretrained(message["weights"], attn_implementation="eager").eval()
        self.config = config
        self.segments = "token_type_ids" in self.workloads[0][0]
        self.folder = tempfile.TemporaryDirectory()
        path = os.path.join(self.folder.name, "model.onnx")
        with torch.no_grad():
            if self.operation == "generate":
                export_decoder(model, path)
            else:
                export_encoder(model, path, self.segments)
        if options.int8:
            path = quantized(path)
        self.weight_bytes = os.path.getsize(path)
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads or message["threads"]
        self.session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])

    def forward(self, batch):
        inputs = {"ids": batch["ids"].numpy(), "mask": batch["attention_mask"].numpy()}
        if self.segments:
            inputs["types"] = batch["token_type_ids"].numpy()
        return self.session.run(["logits"], inputs)[0]

    def step(self, ids, mask, positions, past):
        """Through an IO binding: the cache goes from output to input without a copy."""
        binding = self.session.io_binding()
        for name, value in (("ids", ids), ("mask", mask), ("positions", positions)):
            binding.bind_cpu_input(name, np.ascontiguousarray(value))
        binding.bind_ortvalue_input("past", past)
        binding.bind_output("logits")
        binding.bind_output("present")
        self.session.run_with_iobinding(binding)
        logits, present = binding.get_outputs()
        return logits.numpy(), present

    def begin(self, batch):
        ids, mask = (tensor.numpy() for tensor in inference.left_padded(batch))
        config = self.config
        empty = np.zeros((config.n_layer, 2, len(ids), config.n_head, 0, config.n_embd // config.n_head), dtype=np.float32)
        positions = np.maximum(np.cumsum(mask, 1) - 1, 0)
        logits, past = self.step(ids, mask, positions, onnxruntime.OrtValue.ortvalue_from_numpy(empty))
        return logits, past, mask, positions[:, -1:]

    def generate(self, batch, tokens):
        times, made = [], []
        logits, past, mask, at = self.begin(batch)
        while True:
            chosen = logits.argmax(-1)
            made.append(chosen)
            times.append(time.perf_counter())
            if len(made) == tokens:
                return np.stack(made, 1).tolist(), times
            mask = np.concatenate((mask, np.ones((len(mask), 1), dtype=mask.dtype)), 1)
            at = at + 1
            logits, past = self.step(chosen[:, None], mask, at, past)

    def outputs(self):
        batch, _ = self.workloads[0]
        if self.operation == "generate":
            return torch.from_numpy(self.begin(batch)[0])
        logits = torch.from_numpy(self.forward(batch))
        return logits if logits.ndim == 2 else logits[batch["attention_mask"].bool()]


def prepare(message):
    if message["operation"] not in ("forward", "generate") or "workloads" not in message:
        raise ValueError("this peer infers; it does no training steps")
    model = Model(message)
    # What int8 rounds is no dtype's rounding: then no outputs are written, and none are judged.
    written = False if options.int8 else inference.write_outputs(message["first_step_file"], model.outputs())
    return model, {"type": "report", "operation": message["operation"], "loss": None, "dtype": "int8" if options.int8 else "float32",
                   "first_step_written": written, "weight_bytes": model.weight_bytes, "reduced": options.int8,
                   "description": f"ONNX Runtime {onnxruntime.__version__}" + (", dynamic int8" if options.int8 else "")}


if __name__ == "__main__":
    serve(prepare, lambda model, message: inference.turn(model, model.workloads, model.operation, message), whole_message=True)
