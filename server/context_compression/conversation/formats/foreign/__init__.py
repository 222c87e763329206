"""Formats that are not dialects of this package, but are known: they are refused by name.

A conversation in one of them is refused with a sentence that names the format and says how to get
messages that can be read. Shapes and conversions were looked up in each library's own source or
documentation. Where a library has no call that converts, the sentence says what becomes what.

foreign_format.py   `ForeignFormat`: one row of the tables
libraries.py        messages, states and events of agent libraries and of other APIs
answers.py          answers of APIs, complete or streamed
data_rows.py        rows of batch files and of training data
exports.py          what chat programs store and export
containers.py       objects around a list of messages
recognition.py      which format a value is in, and the text of the refusal
"""

from context_compression.conversation.formats.foreign.recognition import FORMATS, refusal

__all__ = ["FORMATS", "refusal"]
