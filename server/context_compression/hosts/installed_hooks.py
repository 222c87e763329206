"""Whether the hooks that are installed in hosts are those of this package.

An update of the package leaves the copies of its hooks in hosts' folders as they were. They then
ask the new server in an old way, so the server says so.
"""

from collections.abc import Iterator

from context_compression.errors import SetupError
from context_compression.hosts.claude_code.host import CLAUDE_CODE
from context_compression.hosts.claude_code.install_plugin import other_version
from context_compression.hosts.host import Host
from context_compression.hosts.setup.machine import PROGRAM, Machine
from context_compression.hosts.table import INSTALLABLE


def outdated_hooks(machine: Machine) -> list[str]:
    """A sentence for each host whose installed hooks are of another version than this package."""
    return [sentence for host in INSTALLABLE for sentence in _of(host, machine)]


def _of(host: Host, machine: Machine) -> Iterator[str]:
    for in_project in (False, True):
        try:
            states = {hooks.is_current(machine, in_project=in_project) for hooks in host.hooks}
        except SetupError:  # `doctor` reports it
            continue
        if False in states:
            yield _sentence(host, "another version", in_project=in_project)
    try:
        version = other_version(machine) if host is CLAUDE_CODE else None
    except SetupError:
        return
    if version is not None:
        yield _sentence(host, f"version {version}, and not of this one", in_project=False)


def _sentence(host: Host, version: str, *, in_project: bool) -> str:
    where = " for this project" if in_project else ""
    option = " --project" if in_project else ""
    return (
        f"the hooks installed in {host.title}{where} are of {version}; run `{PROGRAM} install "
        f"{host.name}{option}`"
    )
