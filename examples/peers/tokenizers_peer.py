#!/usr/bin/env python3
"""How fast Switchyard and Hugging Face's tokenizers read the same text with the same tokenizer, and whether the numbers are the same.

Each reads the file line by line as a batch, on as many threads as are asked for, several times; the fastest time of each counts,
and they take turns, so that other work on the machine meets both.

    pip install tokenizers==0.23.3
    python3 tokenizers_peer.py MODEL/tokenizer.json TEXT [--threads N] [--times N] [--program build/examples/tokenize]
"""
import argparse
import json
import os
import subprocess
import sys
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer", help="a tokenizer.json")
    parser.add_argument("text", help="a text file; a line is a text")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--times", type=int, default=5, help="how often each reads the text")
    parser.add_argument("--program", default="build/examples/tokenize", help="Switchyard's side (ninja -C build tokenize)")
    return parser.parse_args()


class Switchyard:
    """The program reads the files once, and then answers each line of its input with one timed pass."""

    def __init__(self, options):
        command = [options.program, options.tokenizer, options.text, str(options.threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the program ended: see its message above")
        return json.loads(line)

    def run(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self.answer()
        return answer["seconds"], answer["tokens"], answer["checksum"]


class Peer:
    def __init__(self, options):
        os.environ["RAYON_NUM_THREADS"] = str(options.threads)
        os.environ["TOKENIZERS_PARALLELISM"] = "true"
        from tokenizers import Tokenizer
        self.tokenizer = Tokenizer.from_file(options.tokenizer)
        self.tokenizer.no_truncation()  # some files say to which length texts are cut and filled up
        self.tokenizer.no_padding()
        with open(options.text, newline="\n") as file:
            self.texts = file.read().split("\n")

    def run(self):
        begun = time.perf_counter()
        encoded = self.tokenizer.encode_batch_fast(self.texts, add_special_tokens=False)
        seconds = time.perf_counter() - begun
        checksum = tokens = 0
        for text in encoded:
            ids = text.ids
            tokens += len(ids)
            for place, number in enumerate(ids):
                checksum += (place + 1) * (number + 1)
        return seconds, tokens, checksum % 2**64


def main():
    options = arguments()
    sides = {"Switchyard": Switchyard(options), "tokenizers": Peer(options)}
    size = os.path.getsize(options.text) / 1e6
    best, seen = {}, {}
    for _ in range(options.times):
        for name, side in sides.items():
            seconds, tokens, checksum = side.run()
            best[name] = min(seconds, best.get(name, seconds))
            seen[name] = (tokens, checksum)
    for name, seconds in best.items():
        print(f"{name:12} {size / seconds:8.2f} MB/s {seen[name][0] / seconds / 1e6:8.3f} million tokens/s, {options.threads} threads")
    same = seen["Switchyard"] == seen["tokenizers"]
    print("the numbers are the same" if same else f"THE NUMBERS DIFFER: {seen}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
