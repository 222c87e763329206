"""Texts that are only polite: thanks, praise, a greeting, a farewell. They ask for nothing.

An `ok` or a `yes` is not polite but an answer: it lets the work go on.
"""

import re

LONGEST = 80
"""The most characters of a text that may be only polite."""
POLITE = """
thanks thank thx ty cheers great good nice perfect awesome cool excellent wonderful amazing
hi hello hey bye goodbye morning evening night welcome appreciate love lovely super
danke dank vielen schön schoen gut prima toll klasse hallo tschüss
merci beaucoup parfait bonjour au revoir salut
gracias muchas muy perfecto hola adiós genial buenos días
obrigado obrigada muito bom ótimo perfeito olá tchau grazie mille perfetto ciao
bedankt dankjewel goed dag tack bra takk tak kiitos hyvä dziękuję dzięki świetnie
děkuji díky děkuju ďakujem köszönöm mulțumesc спасибо большое отлично хорошо привет пока
дякую добре чудово teşekkürler teşekkür ederim harika merhaba
cảm ơn tốt terima kasih bagus asante sana ευχαριστώ καλά
תודה רבה מצוין شكرا جزيلا ممتاز متشکرم ممنون سپاس
धन्यवाद शुक्रिया ধন্যবাদ நன்றி ధన్యవాదాలు
"""
WORDS = frozenset(POLITE.split())
BETWEEN = frozenset(
    {"you", "so", "very", "much", "a", "lot", "many", "that", "is", "i", "it", "for", "your", "the",
     "help", "all", "best", "have", "day", "see", "later", "looks", "well", "really", "dir",
     "ihnen",
     "für", "die", "hilfe", "très", "pour", "por", "la", "ayuda", "per", "al",
     "ok", "okay", "got", "work", "job", "done"}
)  # fmt: skip
"""Words that may stand beside polite ones, but alone are not polite."""
PHRASES = re.compile(
    r"谢谢(?:你|您|大家)?|多谢|感谢|不错|很好|太好了|完美|你好|再见|辛苦了|了"
    r"|ありがとう(?:ございま(?:す|した))?|いいですね|お疲れ様(?:です|でした)?"
    r"|감사합니다|고마워요?|안녕하세요|ขอบคุณ(?:ครับ|ค่ะ|มาก)*|ดีมาก"
    r"|\b[Nn]o (?:problem|worries)\b"
)
"""Polite phrases of scripts without blanks between words, of Korean, and with a word that may also
refuse."""
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def is_only_polite(text: str) -> bool:
    """Whether a text is short and has only polite words; a text without words is not."""
    if len(text) > LONGEST or "?" in text or any(map(str.isdigit, text)):
        return False
    rest = PHRASES.sub("", text)
    words = WORD.findall(rest.lower())
    polite = len(rest) < len(text) or not WORDS.isdisjoint(words)
    return polite and all(word in WORDS or word in BETWEEN for word in words)
