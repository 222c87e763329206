"""Ways to make a view smaller, one file each; each proposes edits, the core applies them.

    offload    tool results to files, previews in their place        no model
    truncate   long tool outputs to first and last half              no model
    window     the last turns, a digest, and what matters            no model
    extract    must-keep set, then pieces chosen by evidence         no model
    floor      the smallest view there is: where all others end

Beside them: `base` (what a strategy is), `keep` (from what stays to edits), `tool_results`.
"""
