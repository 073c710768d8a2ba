"""An SVG with boxes, arrows and texts, in colours for light and for dark pages."""
from html import escape

# Class: (light, dark). The background belongs to the picture, so that it is legible on a page of any colour.
STYLE = {
    ".page": ("fill:#ffffff", "fill:#14181d"),
    ".zone": ("fill:#f3f5f7;stroke:#c9d0d6", "fill:#1c2229;stroke:#3a444e"),
    ".process": ("fill:#e7f0f8;stroke:#3a86c8", "fill:#16293a;stroke:#5aa2dc"),
    ".device": ("fill:#fdf1e0;stroke:#d08a1d", "fill:#33260f;stroke:#e0a43f"),
    ".part": ("fill:#ffffff;stroke:#8a949d", "fill:#232b33;stroke:#76818c"),
    ".body": ("fill:#d3e4f3;stroke:#3a86c8", "fill:#1d4464;stroke:#5aa2dc"),
    ".copy": ("fill:#f8ddb0;stroke:#d08a1d", "fill:#5c4315;stroke:#e0a43f"),
    ".dead": ("fill:#f6d5d7;stroke:#c1121f", "fill:#4a1a1e;stroke:#e06c75"),
    ".free": ("fill:none;stroke:#8a949d;stroke-dasharray:4 3", "fill:none;stroke:#76818c;stroke-dasharray:4 3"),
    "text": ("fill:#1d2329", "fill:#e6eaee"),
    ".small": ("fill:#57616b", "fill:#a3adb7"),
    ".arrow": ("stroke:#48515a", "stroke:#b4bdc6"),
    ".tip": ("fill:#48515a", "fill:#b4bdc6"),
    ".moves": ("stroke:#d08a1d", "stroke:#e0a43f"),
    ".wide": ("fill:#d08a1d", "fill:#e0a43f"),
    ".grid": ("stroke:#e3e7eb", "stroke:#2c343c"),
    ".s0": ("stroke:#c1121f;fill:#c1121f", "stroke:#ef6b73;fill:#ef6b73"),
    ".s1": ("stroke:#2c6eb4;fill:#2c6eb4", "stroke:#6aa9e6;fill:#6aa9e6"),
    ".s2": ("stroke:#3c8c50;fill:#3c8c50", "stroke:#73c088;fill:#73c088"),
    ".s3": ("stroke:#7d50a0;fill:#7d50a0", "stroke:#b791d6;fill:#b791d6"),
    ".s4": ("stroke:#b8741a;fill:#b8741a", "stroke:#e3aa5c;fill:#e3aa5c"),
    ".s6": ("stroke:#1a8a8a;fill:#1a8a8a", "stroke:#5cc4c4;fill:#5cc4c4"),
    ".s5": ("stroke:#78828c;fill:#78828c", "stroke:#8f99a3;fill:#8f99a3"),
}
FIXED = (
    ".small{font-size:12px}.head{font-weight:bold}.code{font-family:Menlo,Consolas,monospace;font-size:13px}"
    ".arrow,.moves{fill:none}.arrow{stroke-width:1.4}.moves{stroke-width:3}.line{fill:none;stroke-width:2.4}"
)


def rules(at: int) -> str:
    return "".join(f"{name}{{{both[at]}}}" for name, both in STYLE.items())


class Canvas:
    """A picture. Coordinates are in its own units; readers scale it to their page."""

    def __init__(self, width: int, height: int, title: str, description: str):
        self.width, self.height = width, height
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' font-family="Helvetica, Arial, sans-serif" font-size="14" role="img" aria-labelledby="t d">',
            f'<title id="t">{escape(title)}</title>',
            f'<desc id="d">{escape(description)}</desc>',
            f"<style>{FIXED}{rules(0)}@media (prefers-color-scheme:dark){{{rules(1)}}}</style>",
            "<defs>"
            '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
            ' orient="auto-start-reverse"><path class="tip" d="M0 0 L8 4 L0 8 z"/></marker>'
            '<marker id="wide" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="4" markerHeight="4"'
            ' orient="auto"><path class="wide" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
            f'<rect class="page" width="{width}" height="{height}" rx="6"/>',
        ]

    def text(self, x, y, text, kind="", anchor="start"):
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        named = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text{named} x="{number(x)}" y="{number(y)}"{place}>{escape(text)}</text>')

    def box(self, x, y, width, height, kind="part", text="", below="", font=""):
        """A box with a text in its middle, and a smaller one below that."""
        corner = ' rx="6"' if kind in ("zone", "process", "device") else ""
        self.parts.append(
            f'<rect class="{kind}" x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"{corner}/>'
        )
        middle = y + height / 2 + 5
        if text:
            self.text(x + width / 2, middle - (8 if below else 0), text, font, "middle")
        if below:
            self.text(x + width / 2, middle + 10, below, "small", "middle")

    def area(self, x, y, width, height, kind, text, below=""):
        """A large box with its name at the top."""
        self.box(x, y, width, height, kind)
        self.text(x + 12, y + 22, text, "head")
        if below:
            self.text(x + 12, y + 39, below, "small")

    def cells(self, x, y, height, cells, font=""):
        """Boxes side by side: (width, kind, text) or (width, kind, text, below). Returns the left edge of each."""
        edges = []
        for width, kind, text, *below in cells:
            self.box(x, y, width, height, kind, text, *below, font=font)
            edges.append(x)
            x += width
        return edges

    def arrow(self, path, wide=False):
        kind, tip = ("moves", "wide") if wide else ("arrow", "tip")
        self.parts.append(f'<path class="{kind}" marker-end="url(#{tip})" d="{path}"/>')

    def line(self, path, kind="arrow"):
        self.parts.append(f'<path class="{kind}" d="{path}"/>')

    def add(self, element):
        self.parts.append(element)

    def done(self) -> str:
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def number(value) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
