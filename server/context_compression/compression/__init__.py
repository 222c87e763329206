"""One compression: from a request to a result, in memory.

Here lives the order of the work; what strategies do lives in `strategies`, what is kept on disk in
`session` and `store`.

    request.py      what is asked for
    run.py          `compress` and `acompress`: drive the steps, ask a model in between
    steps.py        strategies until the target is met
    subject.py      the conversation: read, repaired, counted
    outcome.py      the result, made of the edits
    accounting.py   what became of each message
    result.py       `Result`
    forecast.py     what a summary would cost, and whether it pays
    thinking.py     a compression that drops the model's thinking alone
"""
