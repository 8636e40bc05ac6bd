"""Links in texts from elsewhere: those to pages about quotas stay, the others do not."""

import pytest

from reporter.model.credentials import LINK_HOSTS, with_links_to
from reporter.model.text import clean, redact


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Submit a request for Quota increase at https://aka.ms/ProdportalCRP/#blade/Quota/Parameters/%7B%22id by",
            "Submit a request for Quota increase at https://aka.ms/ProdportalCRP/ by",
        ),
        (
            "Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.",
            "Please visit http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit.",
        ),
        (
            "(see https://console.cloud.google.com/iam-admin/quotas?project=mine).",
            "(see https://console.cloud.google.com/iam-admin/quotas",
        ),
        ("(see https://cloud.google.com/compute/quotas).", "(see https://cloud.google.com/compute/quotas)."),
        ("more at HTTPS://AKA.MS/x, or https://aka.ms.", "more at https://aka.ms/x, or https://aka.ms."),
    ],
)  # fmt: skip
def test_links_to_pages_about_quotas_stay(text, said):
    """As scheme, host and path: what is asked for there may name whose it is."""
    assert clean(text) == said
    assert clean(said) == said


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("https://models.example/llama", "models.example"),
        ("https://10.0.0.7:8443/v2/?token=abcdefgh", "10.0.0.7:8443"),
        ('"https://registry.example:5000/v2/":', 'registry.example:5000":'),
        ("https://aka.ms@evil.example/x", "evil.example"),
        ("https://aka.ms.evil.example/x", "aka.ms.evil.example"),
        ("https://aka.ms:8443/x", "aka.ms:8443"),
        ("https://aka.ms/ghp_abcdefghijklmnop1234", "aka.ms"),
        ("https://aka.ms\\@evil.example/x", "evil.example"),
        ("https://\u0430ka.ms/x", "<link removed>"),
        ("javascript://aka.ms/x", "<link removed>"),
        ("ftp://aka.ms/x", "<link removed>"),
    ],
)
def test_of_other_links_the_host_stays(link, said):
    """It is what a message is about; whoever writes a text must not choose where an operator looks."""
    assert clean(f"see {link} now").removeprefix('see "').removeprefix("see ") == f"{said} now"
    assert "://" not in clean(link)


def test_what_a_link_that_stays_carried_is_gone():
    """A name, a password, a query and a fragment."""
    said = clean("see https://me:hunter2hunter2@aka.ms/quota?sig=abcdefgh#hunter2hunter2 now")
    assert said == "see https://aka.ms/quota now"


def test_no_link_stays_without_hosts():
    """An operator may want none."""
    text = " ".join(f"https://{host}/x" for host in LINK_HOSTS)
    assert clean(text) == text
    assert with_links_to(text, ()) == " ".join(LINK_HOSTS)


def test_queries_of_urls_reach_no_log():
    """Those of signed URLs are credentials, whatever their parameters are called."""
    assert (
        redact('GET "https://me:pw@host/x?code=abcdefgh#y" failed')
        == 'GET "https://me:<redacted>@host/x" failed'
    )
