"""Recall: the search in the sessions that hosts wrote, and the way back to what was said there.

A search of a store looks here, too (`store.beside`). There is one index for each project, in the
user's data folder. It is begun by the first search, never before; later searches read only what was
added, and each reads for a short time: a process of its own reads the rest. The index may be
deleted at any time. Texts are indexed without the secrets in them. What a search finds is brought
back from the host's own file, and proven by its hash.

    searching   a search in the sessions of a project; an original by its ref
    logs        the session of a host as a log that the index reads
    updating    the process that reads the rest

An agent's search sees the sessions of its project: of the repository and all its worktrees. Only
the user adds others, with `recall_projects`.
"""
