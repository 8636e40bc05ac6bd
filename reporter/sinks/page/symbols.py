"""The shapes of the states, as SVG symbols: each can be told from the others without its colour."""

from typing import Final

from reporter.sinks.page.marks import Mark
from reporter.sinks.page.markup import Markup, element

_LINE: Final = 'fill="none" stroke="currentColor" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round"'

_SHAPES: Final = {
    # An octagon, filled: stop.
    "firing": '<path fill="currentColor" d="M5 .8h6L15.2 5v6L11 15.2H5L.8 11V5z"/>'
    '<path fill="none" stroke="var(--card)" stroke-width="2" stroke-linecap="round" d="M8 4.4v4.2M8 11.6v.01"/>',
    # A triangle.
    "degraded": f'<g {_LINE}><path d="M8 1.8 14.9 14H1.1z"/><path d="M8 6.2v3.6M8 11.9v.01"/></g>',
    "notice": f'<g {_LINE}><circle cx="8" cy="8" r="6.5"/><path d="M8 7.5v3.7M8 4.8v.01"/></g>',
    "pending": f'<g {_LINE}><circle cx="8" cy="8" r="6.5"/><path d="M8 4.2V8l2.6 1.8"/></g>',
    "clearing": f'<g {_LINE}><path d="M14.5 8A6.5 6.5 0 1 1 11 2.2"/><path d="m5.2 8 2.2 2.2L14 3.6"/></g>',
    "held": f'<g {_LINE}><rect x="1.5" y="1.5" width="13" height="13" rx="2"/><path d="M6 5.2v5.6M10 5.2v5.6"/></g>',
    "secondary": f'<g {_LINE}><rect x="1.5" y="1.5" width="8.5" height="8.5" rx="1.5"/><path d="M6.5 14.5h6a2 2 0 0 0 2-2v-6"/></g>',
    "suppressed": f'<g {_LINE}><path d="M3 1.8v6.4a2.5 2.5 0 0 0 2.5 2.5H13"/><path d="m10 7.5 3.3 3.2L10 14"/></g>',
    "muted": f'<g {_LINE}><circle cx="8" cy="8" r="6.5"/><path d="m3.5 12.5 9-9"/></g>',
    "unknown": f'<g {_LINE}><circle cx="8" cy="8" r="6.5" stroke-dasharray="2.2 2.6"/>'
    '<path d="M6.3 6.4a1.8 1.8 0 1 1 2.6 1.7c-.6.3-.9.6-.9 1.3M8 11.6v.01"/></g>',
    # The style sheet of an old page hides the tick and shows a question mark in its place.
    "ready": f'<g {_LINE}><circle cx="8" cy="8" r="6.5"/>'
    '<path stroke="var(--tick, currentColor)" d="m5 8.3 2.1 2L11 6"/>'
    '<path stroke="var(--asked, none)" d="M6.3 6.4a1.8 1.8 0 1 1 2.6 1.7c-.6.3-.9.6-.9 1.3M8 11.6v.01"/></g>',
}

SYMBOLS: Final = Markup(
    '<svg width="0" height="0" class="symbols" aria-hidden="true" focusable="false">'
    + "".join(
        f'<symbol id="s-{name}" viewBox="0 0 16 16">{shape}</symbol>'
        for name, shape in _SHAPES.items()
    )
    + "</svg>"
)
"""To be put on the page once."""


def shape(mark: Mark) -> Markup:
    """Return the shape of a state; its word has to be next to it."""
    use = element("use", href=f"#s-{mark.name}")
    return element("svg", use, class_=f"shape is-{mark.name}", aria_hidden="true")
