"""Packs the bundle that Claude Desktop and other hosts install with one click: a zip archive.

    python3 .ci/packages/bundle.py [FOLDER]

It needs nothing but Python, and writes `context-compression.mcpb` to FOLDER, by default `build`. A
release has the same bundle, with its version: `.ci/packages/release`.
"""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).parents[2]
HERE = Path(".ci/packages")
FROM_TREE = ("server", "pyproject.toml", "README.md", "LICENSE", "data/tokenizer/LICENSE-tiktoken")
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip archive can have


def files(path: Path) -> list[Path]:
    """The files of a folder in their order, without what Python compiles; or the file itself."""
    if not path.is_dir():
        return [path]
    kept = (each for each in path.rglob("*") if "__pycache__" not in each.parts)
    return sorted(each for each in kept if each.is_file())


def write_bundle(tree: Path, path: Path) -> None:
    """The bundle of a source tree. The same tree gives the same bytes."""
    parts = {each.relative_to(tree): each for name in FROM_TREE for each in files(tree / name)}
    parts |= {Path(n): tree / HERE / n for n in ("manifest.json", "icon.png", "serve.py")}
    with ZipFile(path, "w") as packed:
        for name, file in sorted(parts.items()):
            about = ZipInfo(name.as_posix(), FIRST_DAY)
            about.external_attr = (0o755 if file.suffix == ".sh" else 0o644) << 16
            packed.writestr(about, file.read_bytes(), ZIP_DEFLATED)


if __name__ == "__main__":
    folder = Path(*sys.argv[1:2]) if sys.argv[1:] else ROOT / "build"
    folder.mkdir(parents=True, exist_ok=True)
    write_bundle(ROOT, folder / "context-compression.mcpb")
    print(folder / "context-compression.mcpb")
