"""Credentials without a key or an issuer's mark: their values are random, and names are not."""

import random
import string
from pathlib import Path

import pytest

from reporter.model.credentials import _LONG_WORD, _without_random_words, without_credentials

ROOT = Path(__file__).parents[3]
FORMS = (
    "client-key-data: {}",
    "posted to hooks.slack.com/services/T00000000/B00000000/{}",
    "api.telegram.org/bot123456789:{}/getMe answered 401",
    "mysql -p {}",
    "bindpw {}",
    "AUTH {}",
    "the password is {}",
    "secret key {}",
    "sshpass -p {} ssh node",
    "X-JFrog-Art-Api: {}",
    "GET /v2/token/{}/blobs 403",
)
"""Forms that no rule names."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "letters", [string.ascii_letters, string.ascii_lowercase], ids=["Aa0", "a0"]
)
def test_random_words_are_masked(form, letters):
    """Nearly all: by chance, some random words look like a name."""
    chance = random.Random(form)
    words = ["".join(chance.choices(letters + string.digits, k=40)) for _ in range(200)]
    left = [word for word in words if word in without_credentials(form.format(word))]
    assert len(left) <= 4


def test_the_id_of_a_private_key_is_masked_by_its_name():
    text = '{"private_key_id": "0123456789abcdef0123456789abcdef01234567"}'
    assert "01234567" not in without_credentials(text)


@pytest.mark.parametrize(
    "text",
    [
        "model DeepSeek-R1-Distill-Qwen-32B does not fit Standard_NC24ads_A100_v4",
        "GPU-3b1c9a7e-1111-2222-aaaa-0123456789ab has Xid 79",
        "aks-gpunp-12345678-vmss00000a, ip-10-0-12-34.ec2.internal, pvc-3b1c9a7e-1111-2222-aaaa-0123456789ab",
        "Qwen2_5_VLForConditionalGeneration and Qwen3MoeForCausalLM are not supported",
        "['DeepseekV3ForCausalLM'], MiniMaxM2ForCausalLM and Ernie4_5_MoeForCausalLM are not supported",
        "set HF_HUB_DISABLE_XET=1 and HF_HUB_ENABLE_HF_TRANSFER=0: hf_hub_download, hf_raise_for_status",
        "MiniMaxAI/MiniMax-M2 needs CompressedTensorsW8A8Fp8MoEMethod or ModelOptNvFp4FusedMoE",
        "0123456789ABCDEF0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com timed out",
        "deployment/llama-3-3-70b-instruct-w8a8-tp8-6d5f7c9b8d-x2x9z",
    ],
)
def test_what_is_made_of_words_stays(text):
    """Models, machine sizes, GPUs, and names from Kubernetes or a cloud."""
    assert without_credentials(text) == text


@pytest.mark.parametrize(
    "folder", ["tests/incidents/cases", "tests/scenarios", "examples", "reporter", "docs"]
)
def test_no_word_of_the_repository_looks_random(folder):
    """Real messages of kubelet, scheduler, Istio, KEDA and engines, and all names."""
    texts = [
        path.read_text()
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".yaml", ".log", ".json", ".md", ".py", ".txt"}
    ]
    assert texts
    masked = {
        word[0]
        for text in texts
        for word in _LONG_WORD.finditer(text)
        if _without_random_words(word) != word[0] and not word[0].startswith("eyJ")
    }
    assert masked == set()
