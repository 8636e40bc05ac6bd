"""Links in texts from elsewhere: the host is what a message is about, the rest may be a secret or a trap."""

import pytest

from reporter.model.text import clean, redact


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("https://models.example/llama", "models.example"),
        ("https://10.0.0.7:8443/v2/?token=abcdefgh", "10.0.0.7:8443"),
        ('"https://registry.example:5000/v2/":', '"registry.example:5000":'),
        ("(HTTPS://AKA.MS/ProdportalCRP/#blade/%7B%22id).", "(aka.ms)."),
        ("https://aka.ms@evil.example/x", "evil.example"),
        ("https://aka.ms\\@evil.example/x", "evil.example"),
        ("https://me:hunter2hunter2@aka.ms/quota?sig=abcdefgh#hunter2hunter2", "aka.ms"),
        ("https://aka.ms.", "aka.ms."),
        ("https://\u0430ka.ms/x", "<link removed>"),
        ("javascript://aka.ms/x", "<link removed>"),
        ("ftp://aka.ms/x", "<link removed>"),
    ],
)
def test_of_a_link_the_host_stays(link, said):
    """Whoever writes a text must not choose where an operator looks."""
    assert clean(f"see {link} now") == f"see {said} now"
    assert clean(clean(f"see {link} now")) == clean(f"see {link} now")


def test_queries_of_urls_reach_no_log():
    """Those of signed URLs are credentials, whatever their parameters are called."""
    assert (
        redact('GET "https://me:pw@host/x?code=abcdefgh#y" failed')
        == 'GET "https://me:<redacted>@host/x" failed'
    )
