"""Pages that are made from the code say all that the code declares."""

import re
import tomllib
from pathlib import Path

import pangaea
from pages import ROOT, api, commands, costs, drawing, files, gallery, settings, study
from pangaea.evolution.strategies import strategies
from pangaea.functions.paper import FIGURES
from pangaea.settings import declarations
from pangaea.study.schema import SCHEMA
from pangaea.study.settings import Settings
from pangaea.workers.place import Place
from tests.docs.blocks import PAGES
from tests.docs.test_links import links


def test_every_setting_is_on_its_page_as_it_is_declared() -> None:
    page = settings.page()
    owners = [Settings, Place, *(strategy.settings for strategy in strategies().values())]
    for owner in owners:
        for declared in declarations(owner):
            assert f"| `{declared.name}` | {declared.explained} |" in page


def test_every_command_and_option_is_on_its_page() -> None:
    page = commands.page()
    for name, command in commands.commands().items():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert f"`{option}" in section


def test_every_column_of_a_study_has_a_meaning() -> None:
    tables = study.tables()
    assert list(tables) == ["about", "candidates", "runs", "results", "curves"]
    declared = len(re.findall(r"^    \w+ (?:text|integer|real)", SCHEMA, re.MULTILINE))
    assert sum(map(len, tables.values())) == declared > 30
    assert all(meaning for columns in tables.values() for _, _, meaning in columns)


def test_every_public_name_is_on_its_page() -> None:
    page = api.page()
    for name in pangaea.__all__:
        assert f'heading: "pg.{name}' in page or name == "plot"
    assert "`pg.plot.progress`" in page
    assert 'heading: "pg.paper.run"' in page


def test_every_function_of_the_papers_tables_is_in_the_gallery() -> None:
    page = gallery.page()
    printed = {figure.name for figure in FIGURES if figure.mean is not None}
    assert {name for name in printed if f'<article id="{name}">' not in page} == set()
    assert "wrn-10-4: 73.20, +1.74 ***" in page
    assert "here, wrn-10-4/cifar100: 73.68 ± 0.39 (n = 3)" in page
    assert page.count("<svg") == page.count("<article") > 60


def test_every_file_has_a_line_and_every_folder_a_place_in_the_architecture() -> None:
    page = files.page()
    modules = [path for path in files.PACKAGE.rglob("*.py") if path.read_text(encoding="utf-8")]
    assert len(re.findall(r"^\| `", page, re.MULTILINE)) == len(modules)
    assert "| `expression.py` |" in page
    tree = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in files.PACKAGE.iterdir():
        if path.name.startswith("_") or path.suffix not in ("", ".py"):
            continue
        assert f"\n  {path.name}{'/' if path.is_dir() else ''} " in tree


def test_costs_are_those_that_were_measured() -> None:
    page = costs.page()
    assert page.count("| `wrn-1` |") == 2
    assert "| `wrn-1` | 3 | 673 | 1.08 | 8 | 257 | 21.1 | 3.32 |" in page
    assert "median ratio 1.34" in page


def test_a_small_picture_leaves_out_what_is_not_in_sight() -> None:
    line = {"x": [-2, 0, -1, 0, 0, 0, 1, 0, 2], "y": [0, 0, 1, 0, 9, 0, None, 0, 0.5]}
    spec = {"data": [line], "layout": {"yaxis": {"range": [0, 1]}}}
    assert 'class="line-0" d="M0.0 120.0L45.0 0.0M180.0 60.0"' in drawing.small(spec, "f")


def test_every_page_can_be_found() -> None:
    """In the navigation, or from another page."""
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    listed = set(re.findall(r"'([\w/]+\.md)'", str(site["project"]["nav"])))
    linked = {Path(link.partition("#")[0]).name for page in PAGES for link in links(page)}
    pages = {page.name for page in PAGES if page.parent.name == "docs"}
    assert pages - listed - linked == set()


def test_every_page_in_the_navigation_is_there_or_made() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    for name in re.findall(r"'([\w/]+\.md)'", str(site["project"]["nav"])):
        made = (ROOT / "pages" / f"{Path(name).stem}.py").exists()
        assert made if name.startswith("reference/") else (ROOT / "docs" / name).exists()


def test_every_example_is_on_its_page() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    examples = [path for path in (ROOT / "examples").iterdir() if path.suffix in (".py", ".ipynb")]
    assert len(examples) == 4
    for path in examples:
        assert f"| `examples/{path.name}` |" in page
