"""Rule words of the other languages of Europe."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "Greek",
        sure=r"από (?:εδώ και πέρα|τώρα και στο εξής|εδώ και στο εξής|σήμερα|τώρα)|στο εξής|εφεξής|σ"
        r"ε καμία περίπτωση|με κανέναν τρόπο|για κανέναν? λόγο|χωρίς (?:εξαίρεση|εξαιρέσεις)|απαγορεύ"
        r"\w+|δεν επιτρέπ\w+|δεν πρέπει|πρέπει … (?:πάντα|πάντοτε|μόνο|ποτέ)|(?:πάντα|μόνο) πρέπει|μη"
        r"ν? \w+(?:εις|ετε|άς|άτε|ξεις|σεις|ψεις|ξετε|σετε|ψετε)|μην|ποτέ (?:μην?|δεν)|να μην?|φρόντι"
        r"σε|βεβαιώσου|βεβαιωθείτε|σιγουρέψου|κάθε φορά|άφησε … (?:ήσυχ\w+|όπως|ανέπαφ\w+)|άσε … (?:ή"
        r"συχ\w+|όπως)|απόφυγε|αποφύγετε|οπωσδήποτε|υποχρεωτικ\w+|κράτα … (?:πάντα|μακριά)",
        first=r"ποτέ|πάντα|πάντοτε|μόνο|αποκλειστικά|μη|κανένα\w*|καμία|τίποτα",
        maybe=r"ποτέ|πάντα|πάντοτε|μόνο|αποκλειστικά|πρέπει|οφείλ\w+|χρειάζεται|αντί|τουλάχιστον|θέλ"
        r"ω να|προτιμώ",
        start=r"κάθε|όλα τα|όλες οι|όλοι οι|όταν (?:γράφεις|κάνεις)",
        asks=r"παρακαλώ|εσύ|εσείς|μπορείς|μπορείτε|σε παρακαλώ",
    ),
    Language(
        "Hungarian",
        sure=r"mostantól|ezentúl|innentől|a jövőben|ettől kezdve|semmilyen körülmények|semmi esetre|ki"
        r"vétel nélkül|szigorúan tilos|tilos|soha(?:sem)? ne|sose ne|ne (?:nyúlj|módosíts|módosítsd|vá"
        r"ltoztas|változtasd|töröld|törölj|használj|használd|írj|írd|tegyél|csinálj|érj|érintsd|commit"
        r"olj|szerkeszd|felejtsd|futtasd|nevezd|adj|bánts|piszkáld|\w{3,}(?:jatok|jetek|játok|sd|"
        r"ld|rd|zd)(?= ))|nem szabad|nem lehet|kell … (?:mindig|csak|soha)|(?:mindig|csak|soha nem) kell|ügye"
        r"lj|győződj meg|minden alkalommal|hagyd … (?:békén|úgy|érintetlen\w*)|kerüld|feltétlenül|köt"
        r"elező|kérlek,? (?:ne|mindig|csak|soha)",
        first=r"soha|sohasem|sose|mindig|csak|kizárólag|kizárólagosan|semmi",
        maybe=r"soha|sohasem|mindig|csakis|kizárólag|kell|muszáj|kötelező|helyett|inkább|legalább|legf"
        r"eljebb",
        start=r"minden|mindegyik|összes|valahányszor",
        asks=r"kérlek|kérem|légy szíves|te|tudnál",
        common="a az és nem hogy is egy van ez de meg csak ha már azt vagy mint volt még el ki be",
    ),
    Language(
        "Finnish",
        sure=r"tästä (?:lähtien|eteenpäin|alkaen)|vastedes|jatkossa|missään (?:tapauksessa|nimessä|olos"
        r"uhteissa)|poikkeuksetta|(?:on |ovat )?(?:ehdottomasti )?kielletty\w*|älä|älkää|ei (?:saa|pid"
        r"ä|koskaan|ikinä)|et (?:saa|koskaan)|eivät saa|täytyy … (?:aina|vain)|pitää … (?:aina|vain)|("
        r"?:aina|vain) (?:täytyy|pitää)|varmista|muista|joka kerta|jätä … (?:rauhaan|ennalleen|koskema"
        r"tta)|pysy … (?:poissa|erossa)|vältä|ehdottomasti|pakollinen|pakollista|noudata",
        first=r"aina|vain|ainoastaan|yksinomaan|koskaan|ikinä|käytä|kirjoita|vastaa",
        maybe=r"aina|ainoastaan|yksinomaan|koskaan|ikinä|täytyy|pitää|pitäisi|tulee|kielletty|sijaan|"
        r"vähintään|enintään",
        start=r"jokai\w+|joka|kaik\w+|kun (?:kirjoitat|teet)",
        asks=r"ole hyvä|kiitos|sinä|te|voitko|voisitko|pyydän",
        common="ja on ei se että en oli hän mutta ovat kun niin tai myös jos mitä ole sen olla",
    ),
    Language(
        "Estonian, Latvian and Lithuanian",
        sure=r"nüüdsest|edaspidi|mitte mingil juhul|ära|ärge|ei tohi|on (?:rangelt )?keelatud|no šī br"
        r"īža|turpmāk|nekādā gadījumā|nekad ne\w+|nedrīkst|aizliegts|ir aizliegts|ne(?:aiztiec|maini|d"
        r"zēs|lieto|raksti)(?:iet)?|nuo šiol|nuo dabar|ateityje|jokiu būdu|jokiais būdais|niekada ne\w"
        r"+|draudžiama|negalima|ne(?:liesk|keisk|trink|naudok|rašyk)(?:ite)?",
        first=r"alati|ainult|mitte kunagi|kunagi|vienmēr|tikai|nekad|visada|niekada|visuomet",
        maybe=r"alati|ainult|peab|tuleb|vienmēr|tikai|jābūt|jālieto|obligāti|visada|niekada|privalo|tu"
        r"ri|reikia",
        start=r"iga|kõik|katr\w+|kiekvien\w+",
        asks=r"palun|sina|lūdzu|tu|prašau",
        common="ja on ei see et un ir nav kas ar par uz ir yra ne kad su kaip tai bet iš",
    ),
    Language(
        "Albanian",
        sure=r"(?:që )?tani e tutje|këtej e tutje|në asnjë (?:rast|mënyrë)|kurrë mos|mos \w+|nuk duhet|"
        r"nuk lejohet|(?:është )?(?:rreptësisht )?e ndaluar|pa përjashtim|sigurohu",
        first=r"kurrë|gjithmonë|vetëm|asnjë",
        maybe=r"kurrë|gjithmonë|vetëm|duhet",
        start=r"çdo|secil\w+",
        asks=r"të lutem|ju lutem|ti",
        common="dhe të në një për me që nuk është se i e nga si por ka do janë",
    ),
    Language(
        "Basque, Irish and Welsh",
        sure=r"hemendik aurrera|inoiz ez|ez (?:ukitu|aldatu|ezabatu|erabili)|debekatuta|as seo amach|n"
        r"á (?:déan|hathraigh|scrios|húsáid|bain)|o hyn ymlaen|peidiwch|paid â|byth",
        first=r"beti|inoiz|bakarrik|i gcónaí|riamh|bob amser|dim ond",
        maybe=r"behar da|caithfidh|rhaid",
        common="eta da ez bat du dira agus an na is tá ar mae yn y yr ac o",
    ),
    Language(
        "Armenian and Georgian",
        sure=r"այսուհետ|երբեք մի|երբեք|մի՛|միշտ|արգելվում է|ამიერიდან|არასოდეს|არასდროს|ნუ|ყოველთვის|აკრ"
        r"ძალულია|არ შეიძლება",
        first=r"մի|միայն|მხოლოდ",
        maybe=r"պետք է|միայն|უნდა|მხოლოდ",
        start=r"յուրաքանչյուր|ამ|ყოველი",
        asks=r"խնդրում|გთხოვ",
    ),
)
