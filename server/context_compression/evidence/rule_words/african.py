"""Rule words of languages of Africa."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "Swahili",
        sure="kuanzia (?:sasa|leo|hapa|wakati huu)|tangu sasa|tokea sasa|siku zijazo"
        "|kwa (?:hali|vyovyote|namna) (?:yoyote|vile|iwayo)|kwa hali yoyote ile"
        r"|bila (?:ubaguzi|kukosa)|usi(?!ng)\w{3,}|msi\w{3,}|asi(?:guse|badilishe|fute|tumie)"
        "|si ruhusa|hairuhusiwi|haruhusiwi|hakuna ruhusa|ni marufuku|marufuku|imekatazwa"
        r"|ni lazima|lazima … (?:kila|daima|tu)|hakikisha|kumbuka|kila (?:mara|wakati|unapo\w*)"
        r"|acha … (?:kama|ilivyo)|epuka|jiepushe|tafadhali usi\w+|tafadhali (?:daima|tumia)",
        first=r"kamwe|daima|siku zote|peke yake|wala|lazima|ni \w+ tu|tumia … (?:tu|daima|kila)"
        "|andika … (?:tu|kila|daima)|jibu … (?:tu|daima|kila)",
        maybe="kamwe|daima|siku zote|lazima|inapaswa|unapaswa|yapaswa|badala ya|angalau|sharti",
        start="kila|zote|yote|wote",
        asks="tafadhali|wewe|naomba|unaweza",
        common="na ya wa kwa ni katika la za kuwa hii hiyo si kama au yake lakini hapo cha vya "
        "kutoka",
    ),
    Language(
        "Hausa, Yoruba and Igbo",
        sure="daga yanzu|daga yau|kada (?:ka|ki|ku|a)|kar (?:ka|ki|ku|a)|ba a yarda|haramun"
        "|haramta|lallai|láti ìsinsìnyí|láti òní|má (?:ṣe|se|fi|yí|pa)|máṣe|kò gbọdọ̀|o kò gbọdọ̀"
        "|ma (?:se|fọwọ|fowo)|site ugbu a|site taa|emela|emetụla|agbanwela|ehichapụla",
        first="kullum|koyaushe|kawai|nígbà gbogbo|nikan|mgbe niile|naanị|kada",
        maybe="dole|wajibi|kullum|kawai|gbọdọ̀|gbọdọ|kwesịrị|ga-",
        start="kowane|kowace|gbogbo|ọ bụla",
        asks="don allah|jọ̀wọ́|jọwọ|biko",
        common="da na a ba ya ta ne ce ti ni ó ń sí ati fún na nke bụ ndị ka maka",
    ),
    Language(
        "Amharic",
        sure="ከአሁን (?:ጀምሮ|በኋላ|በሁዋላ)|ከዛሬ (?:ጀምሮ|በኋላ)|ከእንግዲህ|በጭራሽ|በፍጹም|ፈጽሞ"
        "|በምንም (?:አይነት|ዓይነት|መንገድ|ሁኔታ)*|አት*|አይፈቀድም|ክልክል|የተከለከለ|አይቻልም|አይገባም|ማረጋገጥ|እርግጠኛ|ሁል ጊዜ*|ሁልጊዜ*"
        "|ሁሌም",
        first="ብቻ|መቼም",
        maybe="ብቻ|አለበት|አለብህ|ይገባል|መሆን",
        start="እያንዳንዱ|ሁሉም|ማንኛውም",
        asks="እባክህ|እባክሽ|እባክዎ",
    ),
    Language(
        "Zulu, Xhosa and Somali",
        sure="kusukela manje|ukusuka ngoku|ungalokothi|ungaze"
        "|unga(?:thinti|shintshi|susi|sebenzisi|bhali)|akuvumelekile|kuvinjelwe|soze|laga bilaabo"
        "|hadda ka dib|waligaa|ha (?:taaban|beddelin|tirtirin|isticmaalin|qorin)|waa mamnuuc"
        "|marnaba",
        first="njalo|kuphela|had iyo jeer|kaliya|mar walba|weligaa",
        maybe="kumele|kufanele|waa in|waa inaad",
        start="yonke|njalo|kasta",
        asks="ngicela|nceda|fadlan",
        common="ukuthi futhi kanye noma uma kodwa waa ka ku iyo oo in ay la uu",
    ),
)
