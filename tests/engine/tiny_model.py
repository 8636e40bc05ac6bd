"""A model that is hardly there: two layers, bytes as tokens, no weights."""

import json
from pathlib import Path

NAME = "tiny/model"
MOST_TOKENS = 1024

_SPECIAL = ("<s>", "</s>")


def make(folder: Path) -> Path:
    """Write what vLLM needs to serve it with `--load-format dummy`; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {character: token for token, character in enumerate(byte_characters())}
    vocabulary |= {text: len(vocabulary) + n for n, text in enumerate(_SPECIAL)}
    files = {
        "config.json": _config(len(vocabulary)),
        "tokenizer.json": _tokenizer(vocabulary),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": _SPECIAL[0],
            "eos_token": _SPECIAL[1],
            "model_max_length": MOST_TOKENS,
        },
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    return folder


def byte_characters() -> list[str]:
    """Return a character that can be seen for each byte, as in the tokenizer of GPT-2."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in seen else next(others)) for byte in range(0x100)]


def _config(tokens: int) -> dict[str, object]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": tokens,
        "hidden_size": 128,
        "intermediate_size": 256,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "head_dim": 32,
        "max_position_embeddings": MOST_TOKENS,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "dtype": "float32",
        "bos_token_id": tokens - 2,
        "eos_token_id": tokens - 1,
    }


def _tokenizer(vocabulary: dict[str, int]) -> dict[str, object]:
    level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }
    return {
        "version": "1.0",
        "added_tokens": [_special(text, vocabulary[text]) for text in _SPECIAL],
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }


def _special(text: str, token: int) -> dict[str, object]:
    return {
        "id": token,
        "content": text,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
