#!/usr/bin/env python3
"""What Hugging Face's tokenizers makes of texts: peer.py TOKENIZER.json TEXTS > RESULTS

TEXTS has a JSON string a line, RESULTS for each the line [numbers, text that they are decoded to].
"""
import json
import sys

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
with open(sys.argv[2]) as file:
    texts = [json.loads(line) for line in file]
for encoded in tokenizer.encode_batch(texts, add_special_tokens=False):
    print(json.dumps([encoded.ids, tokenizer.decode(encoded.ids)], separators=(",", ":")))
