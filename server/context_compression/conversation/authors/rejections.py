"""What hosts write in place of the result of a call that the user rejected, with the reason."""

import re

SAYS = r"(?:reasons?|(?:the user )?said|says?|feedback|comments?|message|notes?|instructions?)"
DID = (
    r"(?:rejected|denied|declined|refused|cancell?ed|stopped|interrupted|aborted|blocked|disallowed"
    r"|disapproved|vetoed|did not (?:approve|allow|permit|accept)|didn't (?:approve|allow|accept)"
    r"|does not want|doesn't want|chose not to|not approved|not allowed|not permitted)"
)
WHAT = (
    r"(?:tool|call|use|execution|operation|action|permission|command|edit|change|request|function"
    r"|plan|write|approval)"
)
PERSON = r"(?:(?:human|end)[ -])?(?:user|human|operator|reviewer|approver|person)"
END = r"[ \t]{0,4}[:：][\s\"'“]{0,8}"
IN_OTHER_LANGUAGES = (
    r"(?:[^\W\d_]{1,3}[ '’]){0,2}(?:benutzer|nutzer|anwender|utilisateur|usuario|usuário|utente"
    r"|пользовател|користувач|用户|使用者|ユーザー|사용자)[^\n:：]{0,120}?(?:abgelehnt|verweigert"
    r"|abgebrochen|refusé|rejeté|annulé|rechaz|deneg|cancel|rejeit|recus|negou|rifiutat|negat"
    r"|annullat|отклон|отказ|отмен|запрет|відхил|拒绝|拒絕|取消|否决|拒否|却下|거부|거절|취소)"
    rf"[^\n:：]{{0,120}}{END}"
)
"""The same as `REJECTED`, as agents' own loops word it in other languages: who, that it was
rejected, and a colon."""
REJECTED = re.compile(
    r"\s{0,20}[\[(*]{0,3}(?:error: ?)?(?:"
    rf"(?:the )?{PERSON} (?:has )?{DID}\b(?=[^\n]{{0,200}}?\b{WHAT}s?\b)[^\n:：]{{0,400}}?{SAYS}"
    rf"[^\n:：]{{0,40}}{END}"
    rf"|(?:the )?{PERSON} (?:has )?{DID}"
    rf"(?: (?:to )?(?:the|this|that|your|run|execute|permission)){{0,6}}(?: {WHAT}s?){{0,6}}{END}"
    rf"|(?:the |this |your )?(?:\S{{1,60}} )?(?:{WHAT}s? ){{0,6}}"
    rf"(?:to \w{{1,20}} (?:\S{{1,60}} )?)?(?:for (?:this )?(?:\S{{1,60}} )"
    rf"(?:{WHAT} ){{0,6}})?(?:(?:was|were|is|has been|not) ){{0,4}}{DID} by (?:the |a )?{PERSON}\b"
    rf"[^\n:：]{{0,200}}(?:\n\s{{0,8}}{SAYS})?{END}(?:{SAYS}{END})?"
    rf"|(?:the |this |your )?(?:{WHAT}s? ){{1,4}}(?:(?:was|were|is|has been) ){{0,4}}{DID}\b"
    rf"[^\n:：]{{0,80}}?\b{SAYS}{END}"
    rf"|the {PERSON} (?:denied|approved) this operation and provided the following "
    rf"(?:feedback|context){END}"
    r"|the user doesn't want to proceed with this tool use\.[^\n]{0,400}?the user said"
    rf"{END}|{IN_OTHER_LANGUAGES})",
    re.IGNORECASE,
)
"""The beginning of a result with the reason of a rejection, up to the user's words. Claude Code,
opencode, Cline, and the wordings that agents' own loops use. It needs who or what, that it was
rejected, and a colon."""
FEEDBACK = ("<feedback>", "</feedback>")
"""These tags enclose the user's words where a tool's output may follow them (Cline)."""
AFTER = re.compile(
    r"(?<=\n)[^\S\n]*(?:Note: The user's next message|<system-reminder>|\[Request interrupted)"
)
"""What a host adds after the user's words."""
BY_HOST = re.compile(
    r"(?:timed? ?out|no (?:response|reason|approval)|policy|sandbox|not provided|none|n/a|null"
    r"|user (?:denied|rejected|did not|cancell?ed)|denied|rejected)\b[^\n]{0,60}\Z",
    re.IGNORECASE,
)
"""A reason that no user typed."""


def reason_in(text: str) -> str:
    """The user's words in a result that says that the user rejected the call; `""` if none.

    `reason_in("User rejected the tool call. Reason: never touch it")` -> `"never touch it"`
    """
    beginning = REJECTED.match(text)
    if not beginning:
        return ""
    start, (opening, closing) = beginning.end(), FEEDBACK
    if text.startswith(opening, start):
        start += len(opening)
        stop = text.find(closing, start)
        return text[start : None if stop < 0 else stop].strip()
    after = AFTER.search(text, start)
    words = text[start : after.start() if after else None].strip()
    return "" if BY_HOST.match(words) else words
