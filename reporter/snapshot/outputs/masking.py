"""Credentials are masked in what goes into a dump: of the environment, headers, volumes, arguments, texts.

A mask is the same for the same value within one dump, because values are compared with each other:
the template that an object should have with the one that it has. Its key is thrown away with the
process, so that nobody can try values out.
"""

import hashlib
import json
import re
import secrets
from dataclasses import dataclass, field
from typing import Final

from reporter.model.credentials import CREDENTIAL_FLAG, is_credential_flag, names_credential
from reporter.model.text import redact
from reporter.yaml_reader.limits import Unreadable
from reporter.yaml_reader.reading import read_yaml

COMPARED: Final = frozenset(
    {
        "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME",
        "OTEL_TRACES_EXPORTER", "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG",
        "VLLM_NIXL_SIDE_CHANNEL_PORT",
    }
)  # fmt: skip
"""Variables that are compared with settings of OtterScale's operator and with ports; no credentials."""

_HARMLESS: Final = re.compile(r"[A-Za-z0-9_.,:/$()=-]{0,200}")
_USER_INFO: Final = re.compile(r"(?<=://)[^/@\s]+@")
_SECRET_VALUE: Final = re.compile(
    rf"(?<!\S)({CREDENTIAL_FLAG})(=|\s+)(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE
)
_ARGUMENTS: Final = frozenset({"args", "command"})
_PAIRS: Final = frozenset({"env", "httpHeaders"})
"""Lists of names and values: all that is neither compared nor read is masked."""

_NAMED_SOURCES: Final = frozenset(
    {"configMap", "downwardAPI", "emptyDir", "persistentVolumeClaim", "projected", "secret"}
)
"""Of volumes: they name what they take, and hold nothing of it. What drivers are told may be a credential."""

_MESH: Final = "mesh"


@dataclass(frozen=True, slots=True)
class Masking:
    """Masks the values of one dump."""

    _key: bytes = field(default_factory=lambda: secrets.token_bytes(16))

    def masked(self, value: object, key: str = "") -> object:
        """Return a value without credentials; `key` is the field that it stands in."""
        if isinstance(value, dict):
            return self._members(value)
        if isinstance(value, list):
            if key in _PAIRS:
                return [self._variable(each) for each in value]
            if key == "volumes":
                return [self._volume(each) for each in value]
            if key in _ARGUMENTS:
                return self._arguments(value)
            return [self.masked(each) for each in value]
        return self._masked_text(value, key) if isinstance(value, str) else value

    def _members(self, value: dict[str, object]) -> dict[str, object]:
        kept = {name: self.masked(each, name) for name, each in value.items()}
        name, text = value.get("name"), value.get("value")
        if isinstance(name, str) and isinstance(text, str) and text and names_credential(name):
            kept["value"] = self._mask(text)
        return kept

    def _volume(self, volume: object) -> object:
        if not isinstance(volume, dict):
            return self.masked(volume)
        kept = self._members(volume)
        others = volume.keys() - _NAMED_SOURCES - {"name"}
        return kept | {source: self._hidden(volume[source]) for source in others}

    def _hidden(self, value: object) -> object:
        """Return a value with every text in it masked."""
        if isinstance(value, dict):
            return {name: self._hidden(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._hidden(each) for each in value]
        return self._mask(value) if isinstance(value, str) and value else value

    def _masked_text(self, value: str, key: str) -> str:
        if key == _MESH:
            return _mesh(value)
        return self._mask(value) if value and names_credential(key) else _text(value)

    def _mask(self, value: str) -> str:
        digest = hashlib.blake2b(value.encode("utf-8", "replace"), key=self._key, digest_size=4)
        return f"masked-{digest.hexdigest()}"

    def _variable(self, variable: object) -> object:
        if not isinstance(variable, dict):
            return self.masked(variable)
        kept = {name: self.masked(each, name) for name, each in variable.items()}
        value = variable.get("value")
        if isinstance(value, str) and value:
            harmless = _HARMLESS.fullmatch(_text(value)) and variable.get("name") in COMPARED
            kept["value"] = _text(value) if harmless else self._mask(value)
        return kept

    def _arguments(self, values: list[object]) -> list[object]:
        found: list[object] = []
        is_secret = False
        for value in values:
            if not isinstance(value, str):
                found.append(self.masked(value))
                continue
            found.append(self._mask(value) if is_secret else self._argument(value))
            is_secret = is_credential_flag(value)
        return found

    def _argument(self, value: str) -> str:
        def mask(match: re.Match[str]) -> str:
            return f"{match[1]}{match[2]}{self._mask(match[3])}"

        known = _SECRET_VALUE.sub(mask, value)
        kept = _text(known)
        # Two arguments that differ must differ still.
        return kept if kept == known else f"{kept} {self._mask(known)}"


def _text(value: str) -> str:
    return redact(_USER_INFO.sub("", value))


def _mesh(value: str) -> str:
    """Return of Istio's mesh configuration the names of its providers, which are all that is read."""
    try:
        config = read_yaml(value)
    except Unreadable:
        return "{"
    if not isinstance(config, dict):
        return "" if config is None else "[]"
    providers = config.get("extensionProviders")
    if not isinstance(providers, list):
        return "{}" if not providers else "extensionProviders: 1"
    names = (each.get("name") for each in providers if isinstance(each, dict))
    lines = "".join(f"- name: {_quoted(name)}\n" for name in names if isinstance(name, str))
    return f"extensionProviders:\n{lines}" if lines else "extensionProviders: []\n"


def _quoted(name: str) -> str:
    return json.dumps(name)
