"""Environments in which peers run: one for each package, made once and kept in a cache folder.

They are in the user's cache folder, or in the folder that CONTEXT_COMPRESSION_PEERS names. A peer
whose packages cannot be installed is left out, with the reason.
"""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import platformdirs

MOST_SECONDS = 900  # that an installation may take
LANGCHAIN = ("langchain==1.4.*",)
PACKAGES: dict[str, tuple[str, ...]] = {
    "LangChain trim_messages": LANGCHAIN,
    "LangChain ClearToolUsesEdit": LANGCHAIN,
    "Agent Framework TokenBudget": ("agent-framework-core==1.23.*",),
    "litellm.compress": ("litellm==1.110.*",),
    "pydantic-ai-harness tiers": ("pydantic-ai-harness==0.62.*",),
    "headroom compress": ("headroom-ai==0.42.*",),
    "Strands auto": ("strands-agents==1.62.*",),
}
"""The packages of each peer that has to be installed."""
OURS = ("tiktoken", "pydantic", "regex", "filelock", "platformdirs", "anyio")
"""Packages that our library needs to be imported: the benchmark's own modules use it."""
DONE = "installed"


class Unavailable(Exception):
    """A peer that cannot run; the message is the reason."""


def folder() -> Path:
    named = os.environ.get("CONTEXT_COMPRESSION_PEERS")
    return Path(named) if named else platformdirs.user_cache_path("context-compression") / "peers"


def python_of(name: str, *, make: bool = False) -> Path:
    """The Python that has a peer.

    Args:
        name: of the peer, as in `peers.PEERS`.
        make: make its environment if it does not exist yet; this downloads packages.

    Raises:
        Unavailable: there is no environment, or it cannot be made.
    """
    packages = (*PACKAGES[name], *OURS)
    place = folder() / sha256("\n".join(packages).encode()).hexdigest()[:12]
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    if (place / DONE).exists():
        return python
    if not make:
        raise Unavailable("not installed; --peers installs it")
    print(f"installing {PACKAGES[name][0]}", file=sys.stderr, flush=True)
    _uv("venv", "--clear", "--python", sys.executable, str(place))
    _uv("pip", "install", "--python", str(python), *packages)
    (place / DONE).write_text("\n".join(packages), encoding="utf-8")
    return python


def _uv(*arguments: str) -> None:
    command = [sys.executable, "-m", "uv", "--quiet", *arguments]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=MOST_SECONDS)
    except subprocess.CalledProcessError as error:
        told: list[str] = error.stderr.decode(errors="replace").strip().splitlines()
        raise Unavailable(f"cannot be installed: {told[-1] if told else error}") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"cannot be installed in {MOST_SECONDS} s") from error
