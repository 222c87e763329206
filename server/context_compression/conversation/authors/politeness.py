"""Texts that are only polite: a thanks, a greeting, a farewell, an `ok`. They ask for nothing."""

import re

LONGEST = 80
"""The most characters of a text that may be only polite."""
POLITE = """
thanks thank you thx ty cheers great good nice perfect awesome cool excellent wonderful amazing
ok okay yes yep yeah sure alright fine right got it so very much a lot many that is thats looks well
done works job work hi hello hey bye goodbye see later morning evening night day have welcome
appreciate i for your the help all best love lovely super
danke dank vielen schön schoen gut prima toll klasse ja hallo tschüss bitte dir ihnen
merci beaucoup bien parfait bonjour au revoir salut oui très d'accord
gracias muchas muy bien perfecto vale hola adiós sí genial buenos días
obrigado obrigada muito bom ótimo perfeito olá tchau sim grazie mille perfetto bene ciao
bedankt dankjewel goed dag tack bra takk tak kiitos hyvä dziękuję dzięki świetnie
děkuji díky děkuju ďakujem köszönöm mulțumesc спасибо большое отлично хорошо привет пока да
дякую добре чудово teşekkürler teşekkür ederim tamam harika merhaba evet
cảm ơn tốt terima kasih bagus baik asante sana sawa ευχαριστώ καλά ναι
תודה רבה מצוין شكرا جزيلا ممتاز حسنا نعم متشکرم ممنون سپاس
धन्यवाद शुक्रिया ठीक है ধন্যবাদ ঠিক আছে நன்றி ధన్యవాదాలు
"""
WORDS = frozenset(POLITE.split())
PHRASES = re.compile(
    r"谢谢(?:你|您|大家)?|多谢|感谢|好的?|不错|很好|太好了|完美|可以|嗯|是的|你好|再见|辛苦了|了"
    r"|ありがとう(?:ございま(?:す|した))?|了解(?:です|しました)?|はい|いいですね|お疲れ様(?:です|でした)?"
    r"|감사합니다|고마워요?|네|좋아요|알겠습니다|안녕하세요|ขอบคุณ(?:ครับ|ค่ะ|มาก)*|ดีมาก|โอเค"
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
    return bool(words or len(rest) < len(text)) and all(word in WORDS for word in words)
