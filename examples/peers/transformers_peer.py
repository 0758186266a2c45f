#!/usr/bin/env python3
"""An arm of `switchyard bench inference`: forwards and `generate` of Hugging Face's transformers, by PyTorch.

It loads the weights that a Switchyard arm exported; docs/compare.md describes the messages over the standard streams.

    python3 transformers_peer.py [--dtype bfloat16] [--compile] [--no-cache] [--threads N]
"""
import argparse
import os
import time

from arm import serve
import inference


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), default="float32", help="of weights and of all that is computed")
    parser.add_argument("--compile", action="store_true", help="forwards through torch.compile")
    parser.add_argument("--no-cache", action="store_true", help="generate without a cache of keys and values")
    parser.add_argument("--threads", type=int, default=0, help="default: as the configuration says, else all cores")
    return parser.parse_args()


options = arguments()
os.environ.setdefault("HF_HUB_OFFLINE", "1")  # everything lies in the folder that the message names

import torch  # noqa: E402  (after arm, which takes the standard output away from it)
import transformers  # noqa: E402


class Clock(transformers.StoppingCriteria):
    """Is asked after each token; never stops."""

    def __init__(self):
        self.times = []

    def __call__(self, input_ids, scores, **kwargs):
        self.times.append(time.perf_counter())
        return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)


class Model:
    def __init__(self, message):
        threads = options.threads or message["threads"]
        if threads:
            torch.set_num_threads(threads)
        self.operation = message["operation"]
        self.answers = message["task"]["kind"] == "seq2seq"
        self.device = torch.device(message["device"])
        config = transformers.AutoConfig.from_pretrained(message["weights"])
        kind = getattr(transformers, config.architectures[0])
        self.model = kind.from_pretrained(message["weights"], attn_implementation="sdpa" if not self.answers else "eager",
                                          dtype=getattr(torch, options.dtype)).to(self.device).eval()
        self.call = torch.compile(self.model) if options.compile else self.model
        self.workloads = [({name: tensor.to(self.device) for name, tensor in batch.items()}, tokens)
                          for batch, tokens in inference.workloads_of(message)]

    def inputs(self, batch):
        inputs = {"input_ids": batch["ids"], "attention_mask": batch["attention_mask"]}
        if "token_type_ids" in batch:
            inputs["token_type_ids"] = batch["token_type_ids"]
        if "target_ids" in batch:
            inputs["decoder_input_ids"] = batch["target_ids"]
        return inputs

    def forward(self, batch):
        with torch.inference_mode():
            return self.call(**self.inputs(batch)).logits

    def generate(self, batch, tokens):
        ids, mask = (batch["ids"], batch["attention_mask"]) if self.answers else inference.left_padded(batch)
        clock = Clock()
        with torch.inference_mode():
            made = self.model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False,
                                       num_beams=1, eos_token_id=None, pad_token_id=0, use_cache=not options.no_cache,
                                       stopping_criteria=transformers.StoppingCriteriaList([clock]))
        return made[:, -tokens:].tolist(), clock.times

    def outputs(self):
        """The logits of what follows the first workload's prompts, or of its sequences."""
        batch, _ = self.workloads[0]
        with torch.inference_mode():
            if self.operation != "generate":
                logits = self.model(**self.inputs(batch)).logits
                return logits if logits.ndim == 2 else logits[batch["attention_mask"].bool()]
            logits = self.model(**self.inputs(batch)).logits
            last = batch["attention_mask"].sum(1) - 1 if not self.answers else torch.zeros(len(logits), dtype=torch.long)
            return logits[torch.arange(len(logits)), last]


def prepare(message):
    if message["operation"] not in ("forward", "generate") or "workloads" not in message:
        raise ValueError("this peer infers; for training steps take eager_peer.py")
    model = Model(message)
    written = inference.write_outputs(message["first_step_file"], model.outputs())
    how = "torch.compile" if options.compile else "eager"
    return model, {"type": "report", "operation": message["operation"], "loss": None, "dtype": options.dtype, "first_step_written": written,
                   "weight_bytes": sum(p.nbytes for p in model.model.parameters()),
                   "description": f"PyTorch {torch.__version__} {how}, transformers {transformers.__version__}"}


if __name__ == "__main__":
    serve(prepare, lambda model, message: inference.turn(model, model.workloads, model.operation, message), whole_message=True)
