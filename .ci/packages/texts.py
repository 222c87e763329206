"""What a release writes anew, because a version or an address is in it.

An index shows the README outside the repository, where a relative link leads nowhere. So links
become addresses of the files at the tag of the release.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

NAME = "context-compression"
PACKAGES = ".ci/packages"
PLUGIN = "server/context_compression/hosts/claude_code/plugin"
TARGETS = (
    r"!?\[[^\]]*\]\((?P<path>(?![a-z][a-z+.-]*:|#)[^)\s]+)",  # [text](path), ![text](path)
    r"(?m)^\[[^\]]+\]: +(?P<path>(?![a-z][a-z+.-]*:|#)\S+)",  # [text]: path
    r'(?:src|href|srcset)="(?P<path>(?![a-z][a-z+.-]*:|#)[^"\s]+)',
)
PICTURES = (".png", ".svg", ".gif", ".jpg", ".webp")


@dataclass(frozen=True)
class Release:
    """What a release is of: its version, where its source is, and a copy of that."""

    version: str
    repository: str
    """as https://HOST/OWNER/NAME"""
    namespace: str
    """of the name in the MCP registry"""
    site: str
    """where the documentation will stand, with a slash at its end; empty if that is not known"""
    tree: Path

    @property
    def tag(self) -> str:
        """The tag in the repository that has this version."""
        return f"v{self.version}"

    @property
    def name(self) -> str:
        """The name in the MCP registry."""
        return f"{self.namespace}/{NAME}"

    @property
    def owner(self) -> str:
        """Whose repository it is."""
        return urlsplit(self.repository).path.split("/")[1]

    @property
    def semantic(self) -> str:
        """The version as npm's world writes it: `1.0rc1` is `1.0.0-rc.1`."""
        from packaging.version import Version

        of = Version(self.version)
        numbers = ".".join(map(str, (*of.release, 0, 0)[: max(3, len(of.release))]))
        early = {"a": "alpha", "b": "beta", "rc": "rc"}
        before = [f"{early[of.pre[0]]}.{of.pre[1]}"] if of.pre else []
        before += [f"dev.{of.dev}"] if of.dev is not None else []
        after = f"+post.{of.post}" if of.post is not None else ""
        return f"{numbers}{'-' * bool(before)}{'.'.join(before)}{after}"

    def address(self, path: str, *, raw: bool = False) -> str:
        """Where a file of the repository is found from everywhere."""
        host, kind = urlsplit(self.repository).hostname or "", "raw" if raw else "blob"
        if "gitlab" in host:
            return f"{self.repository}/-/{kind}/{self.tag}/{path}"
        if host == "codeberg.org":
            return f"{self.repository}/{'raw' if raw else 'src'}/tag/{self.tag}/{path}"
        return f"{self.repository}/{kind}/{self.tag}/{path}"


def namespace_of(repository: str) -> str:
    """Who may publish there: an account at GitHub, or who owns the name of the host."""
    host, owner = urlsplit(repository).hostname or "", urlsplit(repository).path.split("/")[1]
    return f"io.github.{owner}" if host == "github.com" else ".".join(reversed(host.split(".")))


def site_of(repository: str) -> str:
    """Where the pages of a repository stand, if its host has such a place."""
    host, (owner, *rest) = urlsplit(repository).hostname, urlsplit(repository).path[1:].split("/")
    pages = {"github.com": "github.io", "gitlab.com": "gitlab.io"}.get(host or "")
    return f"https://{owner.lower()}.{pages}/{'/'.join(rest)}/" if pages else ""


def readme(release: Release, text: str) -> str:
    """The README with the name in the registry, whose links are found from everywhere."""
    text = re.sub(r"<!-- mcp-name: .*? -->\n\n?", "", text)
    title, _, rest = text.partition("\n")
    for pattern in TARGETS:
        rest = re.sub(pattern, lambda found: absolute(release, found), rest)
    return f"{title}\n\n<!-- mcp-name: {release.name} -->\n{rest}"


def absolute(release: Release, link: re.Match[str]) -> str:
    """One link, to the file in the repository at this tag."""
    path = link["path"].removeprefix("./")
    there = release.address(path, raw=path.endswith(PICTURES))
    return f"{link[0].removesuffix(link['path'])}{there}"


def project(release: Release, text: str) -> str:
    """The `pyproject.toml` of this version, with the addresses that an index shows."""
    urls = {
        "Source": release.repository,
        "Documentation": release.site or release.address("docs/index.md"),
        "Changelog": release.address("CHANGELOG.md"),
        "Issues": f"{release.repository}/issues",
    }
    table = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    text = re.sub(r'(?m)^version = ".*"$', f'version = "{release.version}"', text, count=1)
    before = "\n[project.optional-dependencies]\n"
    return text.replace(before, f"\n[project.urls]\n{table}{before}", 1)


def registry_entry(release: Release) -> dict[str, Any]:
    """The entry for the MCP registry."""
    entry = json.loads((release.tree / PACKAGES / "server.json").read_bytes())
    [package] = entry["packages"]
    host = (urlsplit(release.repository).hostname or "").removesuffix(".com")
    about = {"version": release.semantic, "repository": {"url": release.repository, "source": host}}
    about |= {"websiteUrl": release.site} if release.site else {}
    packages = [{**package, "version": release.version}]
    named = {"$schema": entry.pop("$schema"), "name": release.name}
    return named | entry | about | {"packages": packages}


def labels(release: Release) -> str:
    """The labels by which a registry of images finds the source."""
    said = {"source": release.repository, "version": release.version, "licenses": "MIT"}
    pairs = " ".join(f'org.opencontainers.image.{name}="{value}"' for name, value in said.items())
    return f"LABEL {pairs}\n"


def marketplace(release: Release) -> dict[str, Any]:
    """The marketplace of Claude Code's plugin, which is found from everywhere."""
    about = json.loads((release.tree / ".claude-plugin" / "marketplace.json").read_bytes())
    [plugin] = about["plugins"]
    plugin |= {
        "source": {
            "source": "git-subdir", "url": f"{release.repository}.git", "path": PLUGIN,
            "ref": release.tag,
        },
        "version": release.semantic,
        "homepage": release.repository,
    }  # fmt: skip
    return about | {"owner": {"name": release.owner}, "plugins": [plugin]}


def llms(release: Release) -> str:
    """The list of pages for models, as llmstxt.org has it."""
    import yaml

    docs = release.tree / "docs"
    index = (docs / "index.md").read_text("utf-8")
    told = {
        path: what.strip()
        for what, links in re.findall(r"(?m)^\| ([^|]+) \| (\[[^|]+\)) \|$", index)
        for path in re.findall(r"\]\(([\w/.-]+\.md)", links)
    }
    about = tomllib.loads((release.tree / "pyproject.toml").read_text("utf-8"))["project"]
    intro = re.search(r"(?s)\A# .*?\n\n(.*?)\n\n", index)
    lines = [f"# {NAME}", f"> {about['description']}", " ".join((intro or [""])[1].split())]
    nav = yaml.safe_load((release.tree / "mkdocs.yml").read_text("utf-8"))["nav"]
    groups: dict[str, list[str]] = {}
    for group, title, path in pages(nav, "Documentation"):
        title = title or (docs / path).read_text("utf-8").partition("\n")[0].removeprefix("# ")
        what = f": {told[path]}" if path in told else ""
        there = release.address(f"docs/{path}", raw=True)
        groups.setdefault(group, []).append(f"- [{title}]({there}){what}")
    lines += [f"## {group}\n\n{chr(10).join(links)}" for group, links in groups.items()]
    return "\n\n".join(lines) + "\n"


def pages(nav: list[Any], group: str) -> Iterator[tuple[str, str, str]]:
    """Group, title and path of each page; no title where the page has its own."""
    for entry in nav:
        if isinstance(entry, str):
            yield group, "", entry
            continue
        [(title, there)] = entry.items()
        yield from pages(there, title) if isinstance(there, list) else [(group, title, there)]
