"""Writes the address of the repository into the files that a package index shows.

    python .ci/packages/addresses.py https://github.com/OWNER/context-compression v0.1.0

An index shows README outside the repository, where a relative link leads nowhere. So links become
addresses of the files at this tag, and `pyproject.toml` gets the project's addresses. Run it in a
checkout from which a release is built, and do not commit what it writes: the project itself has no
address.
"""

import argparse
import re
from pathlib import Path

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?![a-z]+:|#)[^)]+)\)")
BEFORE = "\n[project.optional-dependencies]\n"


def with_addresses(readme: str, repository: str, tag: str) -> str:
    """The README, in which each link and picture is found from everywhere."""

    def address(link: "re.Match[str]") -> str:
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['text']}]({repository}/{kind}/{tag}/{link['path']})"

    return LINK.sub(address, readme)


def with_urls(project: str, repository: str, tag: str) -> str:
    """The `pyproject.toml` with the addresses that an index shows beside the README."""
    urls = {
        "Source": repository,
        "Documentation": f"{repository}/blob/{tag}/docs/index.md",
        "Changelog": f"{repository}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }
    table = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    return project.replace(BEFORE, f"\n[project.urls]\n{table}{BEFORE}", 1)


def main() -> None:
    """Change both files."""
    parser = argparse.ArgumentParser(description="Write the repository's address into a release.")
    parser.add_argument("repository", help="its address, as https://github.com/OWNER/NAME")
    parser.add_argument("tag", help="the tag of the release")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[2])
    options = parser.parse_args()
    repository = options.repository.removesuffix("/")
    if not repository.startswith("https://"):
        parser.error(f"{repository!r} is no address; it has to begin with https://")
    for name, change in {"README.md": with_addresses, "pyproject.toml": with_urls}.items():
        path = options.folder / name
        text = change(path.read_text(encoding="utf-8"), repository, options.tag)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
