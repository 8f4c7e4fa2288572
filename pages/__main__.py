"""`python -m pages`: write every page, its figures and the script that draws them."""

import shutil

from pages import FIGURES, FOLDER, figures
from pangaea import scanning
from pangaea.report.page import document


def main() -> None:
    for folder in (FOLDER, FIGURES):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for module in scanning.modules("pages"):
        if hasattr(module, "page"):
            name = module.__name__.partition(".")[2]
            (FOLDER / f"{name}.md").write_text(module.page(), encoding="utf-8")
    for name, text in figures.snippets().items():
        (FIGURES / f"{name}.html").write_text(text, encoding="utf-8")
    (FOLDER / "figures.js").write_text(figures.script(), encoding="utf-8")
    plotly = document.part("plotly-basic.min.js")
    (FOLDER / "plotly-basic.min.js").write_text(plotly, encoding="utf-8")


if __name__ == "__main__":
    main()
