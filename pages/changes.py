"""What changed, from the repository's own file."""

from pages import ROOT


def page() -> str:
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
