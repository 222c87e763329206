# Our adapter has the framework's name. Without this file pyright may take the one for the other.
from typing import Any

def __getattr__(name: str) -> Any: ...
