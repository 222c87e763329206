"""What is said of frameworks that the index resolves to older versions beside us.

The index here is a folder, and its wheels hold nothing but what they need.
"""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

SCRIPT = Path(__file__).parents[1] / ".ci" / "packages" / "beside.py"


def module() -> ModuleType:
    spec = spec_from_file_location("beside", SCRIPT)
    assert spec and spec.loader
    made = module_from_spec(spec)
    sys.modules["beside"] = made  # dataclasses look for their module
    spec.loader.exec_module(made)
    return made


BESIDE = module()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that needs `mcp` 2, and an index with frameworks."""
    index = tmp_path / "index"
    index.mkdir()
    for name, version, wants in (
        ("mcp", "1.30", ""),
        ("mcp", "2.3", ""),
        ("good", "2", "mcp>=1"),
        ("old", "1", ""),
        ("old", "2", "mcp<2"),
        ("alone", "1", "mcp<2"),
    ):
        page = index / name / "index.html"
        page.parent.mkdir(exist_ok=True)
        file = page.parent / f"{name}-{version}-py3-none-any.whl"
        with page.open("a", encoding="utf-8") as links:
            links.write(f'<a href="{file.as_uri()}">{file.name}</a>')
        with ZipFile(file, "w") as wheel:
            about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            about += f"Requires-Dist: {wants}\n" if wants else ""
            wheel.writestr(f"{name}-{version}.dist-info/METADATA", about)
            wheel.writestr(f"{name}-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\n")
            wheel.writestr(f"{name}-{version}.dist-info/RECORD", "")
    needs(tmp_path, "mcp>=2,<3")
    monkeypatch.setenv("UV_DEFAULT_INDEX", index.as_uri())
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def needs(folder: Path, requirement: str) -> None:
    text = f'[project]\nname = "ours"\ndependencies = ["{requirement}"]\n'
    (folder / "pyproject.toml").write_text(text, "utf-8")


def main(folder: Path, *names: str, known: dict[str, frozenset[str]] | None = None) -> int:
    return BESIDE.main([*names, "--folder", str(folder)], known=known or {})


def test_a_framework_that_goes_with_us_is_fine(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(folder, "good") == 0

    assert capsys.readouterr().out.splitlines()[1].split() == ["good", "2", "2", "2.3"]


def test_one_that_falls_back_fails_and_our_range_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(folder, "good", "old", "alone") == 1

    out = capsys.readouterr().out
    assert "old        2       1          2.3  mcp>=2,<3\n" in out
    assert "alone      1       none            mcp>=2,<3\n" in out
    assert "old 2 cannot be installed beside us, because of mcp>=2,<3. Widen our range" in out


def test_a_wider_range_takes_the_older_package_and_keeps_the_newest_framework(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs(folder, "mcp>=1,<3")

    assert main(folder, "old") == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["old", "2", "2", "1.30"]


def test_one_that_is_known_to_fall_back_is_no_failure_until_that_changes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {"old": frozenset({"mcp"})}

    assert main(folder, "old", known=known) == 0
    assert main(folder, "old", known={"old": frozenset({"click"})}) == 1
    needs(folder, "mcp>=1,<3")
    assert main(folder, "old", known=known) == 1
    assert "old 2 goes with us now. Remove it from KNOWN." in capsys.readouterr().out


def test_one_that_the_index_does_not_have_is_left_out_with_the_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(folder, "nowhere") == 0

    assert "not resolved alone: " in capsys.readouterr().out


def test_frameworks_at_once_share_one_wheel_that_is_written_once(folder: Path) -> None:
    resolver = BESIDE.Resolver(folder, "3.12")
    resolver.versions("good", ["mcp>=2,<3"])
    (wheel,) = folder.glob("ours_*.whl")
    wheel.chmod(0o400)
    written = wheel.stat().st_mtime_ns

    resolver.versions("old==1", ["mcp>=2,<3"])

    assert wheel.stat().st_mtime_ns == written


def test_a_failure_of_uv_is_told_as_one_and_not_as_a_fall(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "index" / "old" / "index.html").write_bytes(b"\xff")

    assert main(folder, "good", "old") == 1

    out = capsys.readouterr().out
    assert out.startswith("uv failed, so nothing is known: ")
    assert "cannot be installed beside us" not in out


def test_without_an_index_nothing_is_resolved(folder: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin", "UV_OFFLINE": "1", "UV_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, str(SCRIPT), "old", "--folder", str(folder)]

    ended = subprocess.run(
        command, env=environ, capture_output=True, text=True, check=False, timeout=60
    )

    assert ended.returncode == 0
    assert ended.stdout.startswith("No package index is reachable, so nothing is resolved: ")


OTHERS = {
    "openai", "opentelemetry", "postgres", "objects", "encryption", "zstd", "test", "dev", "docs"
}  # fmt: skip
"""Extras that bring no agent framework."""


def test_every_adapter_has_its_framework_in_the_table() -> None:
    pyproject = BESIDE.tomllib.loads((SCRIPT.parents[2] / "pyproject.toml").read_text("utf-8"))
    extras = pyproject["project"]["optional-dependencies"]

    assert {*filter(None, BESIDE.FRAMEWORKS.values())} == {*extras} - OTHERS
