"""Formats that this package recognises but does not read; it refuses them by name.

The error names the format and says how to get messages that can be read. Shapes and conversions
come from each library's own source or documentation. If a library has no function that converts its
messages, the error describes the conversion.

foreign_format.py   `ForeignFormat`: one row of the tables
libraries.py        messages, states and events of agent libraries and of other APIs
answers.py          responses of APIs, complete or streamed
data_rows.py        rows of batch files and of training data
exports.py          files that chat programs store and export
containers.py       objects around a list of messages
recognition.py      which format a value is in, and the text of the refusal
"""

from context_compression.conversation.formats.foreign.recognition import FORMATS, refusal

__all__ = ["FORMATS", "refusal"]
