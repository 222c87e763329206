"""Makes all that a release consists of, in one folder, and checks each part with its own tool.

    bash .ci/packages/release 0.1.0 https://github.com/OWNER/NAME [FOLDER]

The folder gets the wheel, the source package, the bundle for hosts, the context of the image, the
entry for the MCP registry, the marketplace of Claude Code's plugin, the documentation, `llms.txt`
and `SHA256SUMS`. The project itself has no address, and the checkout stays as it is: version and
address are written into a copy of the last commit. The same commit with the same arguments gives
the same bytes.

It needs `pip install '.[dev,docs]'`. `mcpb` or `npx`, and `claude`, check their part if they are
there.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from bundle import files, write_bundle  # beside this file, as the next
from texts import (
    NAME,
    PACKAGES,
    PLUGIN,
    TARGETS,
    Release,
    labels,
    llms,
    marketplace,
    namespace_of,
    project,
    readme,
    registry_entry,
    site_of,
)  # fmt: skip

ROOT = Path(__file__).parents[2]
MCPB = "@anthropic-ai/mcpb@2.1.2"
IN_IMAGE = (
    ".dockerignore", "Dockerfile", "LICENSE", "README.md", "data/tokenizer", "pyproject.toml",
    "server",
)  # fmt: skip


HOST, STEP = r"https://(?!\.)[\w.-]+(?::\d+)?", r"(?:/(?!\.+(?:/|$))[\w.~-]+)"
"""Of an address: its beginning, and a part of its path that is not `..`."""


class Impossible(Exception):
    """Why there is no release."""


def main() -> None:
    """Make it, or say why not."""
    options = asked()
    try:
        version, repository = checked_version(options.version), checked_address(options.repository)
        out = options.folder or ROOT / "build" / f"release-{version}"
        check_folder(out)
        site = checked_site(options.site) if options.site else site_of(repository)
        if git("status", "--porcelain", "--untracked-files=no"):
            raise Impossible("The checkout has changes that are not committed. Commit them first.")
        os.environ["SOURCE_DATE_EPOCH"] = git("log", "-1", "--format=%ct").decode().strip()
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "source"
            with tarfile.open(fileobj=io.BytesIO(git("archive", "HEAD"))) as source:
                source.extractall(tree, filter="data")
            namespace = options.namespace or namespace_of(repository)
            release = Release(version, repository, namespace, site, tree)
            made = Path(folder) / "made"
            make(release, made)
            check(release, made)
            try:
                shutil.copytree(made, out, dirs_exist_ok=True)
            except OSError as error:
                raise Impossible(f"{out} cannot be written: {error}. Name another.") from None
    except Impossible as error:
        raise SystemExit(f"release: {error}") from None
    print(f"\n{out} has the release. Its links lead to the tag {release.tag} of {repository}.")


def asked() -> argparse.Namespace:
    """The options of this run."""
    about = "Make all of a release in one folder."
    parser = argparse.ArgumentParser("release", description=about)
    parser.add_argument("version", help="as PyPI writes it: 0.1.0, 1.0rc1")
    parser.add_argument("repository", help="where its source is: https://github.com/OWNER/NAME")
    parser.add_argument("folder", type=Path, nargs="?", help="default: build/release-VERSION")
    parser.add_argument("--site", help="where its pages will stand; known for GitHub and GitLab")
    parser.add_argument("--namespace", help="in the MCP registry; io.github.OWNER, or the host")
    return parser.parse_args()


def checked_version(text: str) -> str:
    """The version, if PyPI takes it as it is written."""
    from packaging.version import Version

    try:
        version = Version(text)
    except ValueError:  # no version, or one of thousands of digits
        raise Impossible(f"{text[:60]!r} is no version (PEP 440). Write 0.1.0, 1.0rc1.") from None
    if version.local or version.epoch:
        raise Impossible(f"{text!r} has a local part or an epoch, and cannot be published.")
    if str(version) != text:
        raise Impossible(f"{text!r} is written {version} by PyPI. Write that.")
    return text


def checked_address(text: str) -> str:
    """The address of the repository, without a slash or `.git` at its end."""
    text = text.removesuffix("/").removesuffix(".git")
    if not re.fullmatch(f"{HOST}{STEP}{STEP}+", text, re.ASCII):
        shown = re.sub("//[^/]*@", "//…@", text)  # a password is not shown
        raise Impossible(f"{shown!r} is no repository. Write https://github.com/OWNER/NAME.")
    return text


def checked_site(text: str) -> str:
    """The address of the pages, with a slash at its end."""
    text = text.rstrip("/")
    if not re.fullmatch(f"{HOST}{STEP}*", text, re.ASCII):
        raise Impossible(f"{text!r} is no address of pages. Write https://OWNER.github.io/NAME.")
    return f"{text}/"


def check_folder(out: Path) -> None:
    """Raises `Impossible` if a release cannot be put there."""
    there = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not there.is_dir():
        raise Impossible(f"{there} is a file. Name a folder that is new or empty.")
    if there == out and any(out.iterdir()):
        raise Impossible(f"{out} is not empty. Name another folder, or delete it first.")


def git(*arguments: str) -> bytes:
    """The output of git in the checkout."""
    ended = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=False)
    if ended.returncode:
        why = ended.stderr.decode(errors="replace").strip()
        raise Impossible(f"git {arguments[0]} failed: {why}")
    return ended.stdout


def make(release: Release, out: Path) -> None:
    """All parts of the release."""
    tree = release.tree
    fill(release)
    run("uv", "build", "--quiet", "--out-dir", out, tree)
    (out / ".gitignore").unlink(missing_ok=True)
    write_bundle(tree, out / f"{NAME}-{release.version}.mcpb")
    context = archive(tree, (path for name in IN_IMAGE for path in files(tree / name)))
    (out / f"{NAME}-{release.version}-image.tar.gz").write_bytes(context)
    write_json(out / "server.json", registry_entry(release))
    write_json(out / "marketplace.json", marketplace(release))
    (out / "llms.txt").write_text((tree / "docs" / "llms.txt").read_text("utf-8"), "utf-8")
    strict = ("--strict", "--quiet", "--config-file", tree / "release.yml")
    run("mkdocs", "build", *strict, "--site-dir", out / "docs")
    parts = [path for path in files(out) if path.parent == out]
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in parts]
    (out / "SHA256SUMS").write_text("\n".join(sums) + "\n", "utf-8")


def fill(release: Release) -> None:
    """Writes version and addresses into the copy of the source."""
    tree = release.tree
    change(tree / "README.md", lambda text: readme(release, text))
    change(tree / "pyproject.toml", lambda text: project(release, text))
    change(tree / "Dockerfile", lambda text: f"{text}{labels(release)}")
    for path in (f"{PACKAGES}/manifest.json", f"{PLUGIN}/.claude-plugin/plugin.json"):
        about = json.loads((tree / path).read_bytes())
        about |= {"version": release.semantic, "homepage": release.repository}
        write_json(tree / path, about)
    (tree / "docs" / "llms.txt").write_text(llms(release), "utf-8")
    site = f"site_url: {release.site}\n" if release.site else ""
    settings = f"INHERIT: mkdocs.yml\n{site}repo_url: {release.repository}\n"
    (tree / "release.yml").write_text(settings, "utf-8")


def archive(tree: Path, paths: Iterator[Path]) -> bytes:
    """A tar archive of files of the tree, packed, with nothing of this machine in it."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as packed:
        for path in paths:
            about = packed.gettarinfo(path, path.relative_to(tree).as_posix())
            about.uid = about.gid = about.mtime = 0
            about.uname = about.gname = ""
            about.mode = 0o755 if about.mode & 0o100 else 0o644
            packed.addfile(about, io.BytesIO(path.read_bytes()))
    return gzip.compress(written.getvalue(), mtime=0)


def check(release: Release, out: Path) -> None:
    """Each part by its own tool; says which tool is not here."""
    run("twine", "check", "--strict", *out.glob(f"{NAME.replace('-', '_')}-*"))
    said("wheel, source package", "twine")
    run("hadolint", release.tree / "Dockerfile")
    said("image", "hadolint")
    said("documentation", "mkdocs --strict")
    if not release.site:
        print("documentation: --site is not given, so its pages do not know where they stand")
    links_lead_somewhere(release, out)
    said("links of README and llms.txt", "the files at this commit")
    if asked := mcpb():
        run(*asked, "validate", release.tree / PACKAGES / "manifest.json")
    said("bundle", "mcpb" if asked else "", "mcpb")
    if claude := shutil.which("claude"):
        run(claude, "plugin", "validate", out / "marketplace.json")
        run(claude, "plugin", "validate", release.tree / PLUGIN)
    said("marketplace, plugin", "claude" if claude else "", "claude")
    said("server.json", has_the_shape(out / "server.json"))


def said(part: str, tool: str, missing: str = "") -> None:
    """One line on a check."""
    print(f"{part}: {f'checked by {tool}' if tool else f'not checked, no {missing} here'}")


def links_lead_somewhere(release: Release, out: Path) -> None:
    """Raises `Impossible` if a link to the repository leads to no file of this commit."""
    for path in (release.tree / "README.md", out / "llms.txt"):
        text = path.read_text("utf-8")
        left = [found["path"] for pattern in TARGETS for found in re.finditer(pattern, text)]
        there = re.escape(release.address("")), re.escape(release.address("", raw=True))
        for named in re.findall(rf"(?:{'|'.join(there)})([^\s)\"#]+)", text):
            left += [] if (release.tree / named).exists() else [named]
        if left:
            raise Impossible(f"{path.name} has links that lead nowhere: {', '.join(left)}")


def mcpb() -> list[str]:
    """The command that checks a bundle, from npm if need be; empty if it cannot be had."""
    if installed := shutil.which("mcpb"):
        return [installed]
    npx = [shutil.which("npx") or "", "--yes", MCPB]
    environ = os.environ | {"npm_config_fetch_retries": "0"}  # no network is told at once
    asked = [*npx, "--version"]
    there = npx[0] and subprocess.run(asked, capture_output=True, env=environ, check=False)
    return npx if there and not there.returncode else []


def has_the_shape(path: Path) -> str:
    """With what an entry for the registry agrees: our schema, and its own where that can be had."""
    from jsonschema import ValidationError, validate

    entry = json.loads(path.read_bytes())
    schemas = {"our schema": json.loads((ROOT / PACKAGES / "server.schema.json").read_bytes())}
    with suppress(URLError, TimeoutError), urlopen(entry["$schema"], timeout=10) as answer:
        schemas["the registry's"] = json.load(answer)
    try:
        for schema in schemas.values():
            validate(entry, schema)
    except ValidationError as error:
        raise Impossible(f"{path.name} does not agree with its schema: {error.message}") from None
    return " and ".join(schemas)


def run(command: str, *arguments: str | Path) -> None:
    """A tool, from the environment of this Python or from the PATH; its output only if it fails."""
    beside = Path(sys.executable).parent / command
    found = str(beside) if beside.is_file() else shutil.which(command)
    if not found:
        raise Impossible(f"There is no {command} here. Run pip install '.[dev,docs]' first.")
    environ = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    asked = [found, *arguments]
    ended = subprocess.run(asked, capture_output=True, text=True, env=environ, check=False)
    if ended.returncode:
        raise Impossible(f"{Path(found).name} {arguments[0]} failed:\n{ended.stdout}{ended.stderr}")


def change(path: Path, become: Any) -> None:
    """Replaces the text of a file."""
    path.write_text(become(path.read_text("utf-8")), "utf-8")


def write_json(path: Path, value: dict[str, Any]) -> None:
    """A JSON file, as people read it."""
    path.write_text(f"{json.dumps(value, indent=2, ensure_ascii=False)}\n", "utf-8")


if __name__ == "__main__":
    main()
