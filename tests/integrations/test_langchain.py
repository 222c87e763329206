"""The middleware runs in the real LangChain, LangGraph and deepagents, with a fake model."""

from pathlib import Path

from agent_runs import error, log
from frameworks import Framework

LANGCHAIN = Framework("langchain", beside=("deepagents>=0.7,<1",))


def test_an_agent_keeps_its_prompt_cache_over_100_steps_and_loses_nothing(tmp_path: Path):
    seen = LANGCHAIN.run("langchain_agent.py", "ours", folder=tmp_path)

    assert (seen["requests"], seen["unpaired"], seen["without_rule"]) == (101, [], 0)
    assert seen["lost"] == 0
    assert seen["unbroken"] >= 0.95
    assert seen["reused"] >= 0.88
    assert log(0)[:5_000] in seen["answers"]["ref"].replace("\\n", "\n")
    assert error(7) in seen["answers"]["search"].replace("\\'", "'")
    assert seen["whole"] == 98  # the state of the graph: all logs but those of the two restores
