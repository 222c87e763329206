"""Rule words of languages of Africa."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "Swahili",
        sure=r"kuanzia (?:sasa|leo|hapa|wakati huu)|tangu sasa|tokea sasa|siku zijazo|kwa (?:hali|vyovyote|namna) (?:"
        r"yoyote|vile|iwayo)|kwa hali yoyote ile|bila (?:ubaguzi|kukosa)|usi(?!ng)\w{3,}|msi\w{3,}|asi(?:guse|badilishe"
        r"|fute|tumie)|si ruhusa|hairuhusiwi|haruhusiwi|hakuna ruhusa|ni marufuku|marufuku|imekatazwa|ni lazima|lazim"
        r"a … (?:kila|daima|tu)|hakikisha|kumbuka|kila (?:mara|wakati|unapo\w*)|acha … (?:kama|ilivyo)|epuka|jiepushe|t"
        r"afadhali usi\w+|tafadhali (?:daima|tumia)",
        first=r"kamwe|daima|siku zote|peke yake|wala|lazima|ni \w+ tu|tumia … (?:tu|daima|kila)|andika … (?:tu|kila|"
        r"daima)|jibu … (?:tu|daima|kila)",
        maybe=r"kamwe|daima|siku zote|lazima|inapaswa|unapaswa|yapaswa|badala ya|angalau|sharti",
        start=r"kila|zote|yote|wote",
        asks=r"tafadhali|wewe|naomba|unaweza",
        common="na ya wa kwa ni katika la za kuwa hii hiyo si kama au yake lakini hapo cha vya kutoka",
    ),
    Language(
        "Hausa, Yoruba and Igbo",
        sure=r"daga yanzu|daga yau|kada (?:ka|ki|ku|a)|kar (?:ka|ki|ku|a)|ba a yarda|haramun|haramta|lallai|láti ìsinsìn"
        r"yí|láti òní|má (?:ṣe|se|fi|yí|pa)|máṣe|kò gbọdọ̀|o kò gbọdọ̀|ma (?:se|fọwọ|fowo)|site ugbu a|site taa|"
        r"emela|emetụla|agbanwela|ehichapụla",
        first=r"kullum|koyaushe|kawai|nígbà gbogbo|nikan|mgbe niile|naanị|kada",
        maybe=r"dole|wajibi|kullum|kawai|gbọdọ̀|gbọdọ|kwesịrị|ga-",
        start=r"kowane|kowace|gbogbo|ọ bụla",
        asks=r"don allah|jọ̀wọ́|jọwọ|biko",
        common="da na a ba ya ta ne ce ti ni ó ń sí ati fún na nke bụ ndị ka maka",
    ),
    Language(
        "Amharic",
        sure="ከአሁን (?:ጀምሮ|በኋላ|በሁዋላ)|ከዛሬ (?:ጀምሮ|በኋላ)|ከእንግዲህ|በጭራሽ|በፍጹም|ፈጽሞ|በምንም (?:አይነት|ዓይነት|መንገድ|ሁኔታ)*|አት*|አይፈቀድም|ክልክል|የተከለከለ|አይ"
        "ቻልም|አይገባም|ማረጋገጥ|እርግጠኛ|ሁል ጊዜ*|ሁልጊዜ*|ሁሌም",
        first="ብቻ|መቼም",
        maybe="ብቻ|አለበት|አለብህ|ይገባል|መሆን",
        start="እያንዳንዱ|ሁሉም|ማንኛውም",
        asks="እባክህ|እባክሽ|እባክዎ",
    ),
    Language(
        "Zulu, Xhosa and Somali",
        sure=r"kusukela manje|ukusuka ngoku|ungalokothi|ungaze|unga(?:thinti|shintshi|susi|sebenzisi|bhali)|akuvumelekil"
        r"e|kuvinjelwe|soze|laga bilaabo|hadda ka dib|waligaa|ha (?:taaban|beddelin|tirtirin|isticmaalin|qorin)|waa mam"
        r"nuuc|marnaba",
        first=r"njalo|kuphela|had iyo jeer|kaliya|mar walba|weligaa",
        maybe=r"kumele|kufanele|waa in|waa inaad",
        start=r"yonke|njalo|kasta",
        asks=r"ngicela|nceda|fadlan",
        common="ukuthi futhi kanye noma uma kodwa waa ka ku iyo oo in ay la uu",
    ),
)
