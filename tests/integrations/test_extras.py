"""An adapter whose framework is missing says what to install."""

import importlib
import sys

import pytest

from context_compression.errors import MissingExtra

PACKAGES = {
    "agent_framework": "agent_framework", "claude_agent_sdk": "claude_agent_sdk",
    "google_adk": "google", "langchain": "langchain_core", "litellm": "litellm",
    "openai_agents": "agents", "pydantic_ai": "pydantic_ai", "strands": "strands",
}  # fmt: skip
"""The package that each adapter imports first."""


@pytest.mark.parametrize("adapter", PACKAGES)
def test_without_its_framework_an_adapter_names_its_extra(
    adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for loaded in [name for name in sys.modules if name.partition(".")[0] == PACKAGES[adapter]]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, PACKAGES[adapter], None)
    extra = adapter.replace("_", "-")

    with pytest.raises(MissingExtra, match=rf'pip install "\.\[{extra}\]"'):
        importlib.import_module(f"context_compression.integrations.{adapter}")
