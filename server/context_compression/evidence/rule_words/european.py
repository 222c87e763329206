"""Rule words of the other languages of Europe."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "Greek",
        sure="από (?:εδώ και πέρα|τώρα και στο εξής|εδώ και στο εξής|σήμερα|τώρα)|στο εξής|εφεξής"
        "|σε καμία περίπτωση|με κανέναν τρόπο|για κανέναν? λόγο|χωρίς (?:εξαίρεση|εξαιρέσεις)"
        r"|απαγορεύ\w+|δεν επιτρέπ\w+|δεν πρέπει|πρέπει … (?:πάντα|πάντοτε|μόνο|ποτέ)"
        r"|(?:πάντα|μόνο) πρέπει|μην? \w+(?:εις|ετε|άς|άτε|ξεις|σεις|ψεις|ξετε|σετε|ψετε)|μην"
        "|ποτέ (?:μην?|δεν)|να μην?|φρόντισε|βεβαιώσου|βεβαιωθείτε|σιγουρέψου|κάθε φορά"
        r"|άφησε … (?:ήσυχ\w+|όπως|ανέπαφ\w+)|άσε … (?:ήσυχ\w+|όπως)|απόφυγε|αποφύγετε|οπωσδήποτε"
        r"|υποχρεωτικ\w+|κράτα … (?:πάντα|μακριά)",
        first=r"ποτέ|πάντα|πάντοτε|μόνο|αποκλειστικά|μη|κανένα\w*|καμία|τίποτα",
        maybe=r"ποτέ|πάντα|πάντοτε|μόνο|αποκλειστικά|πρέπει|οφείλ\w+|χρειάζεται|αντί|τουλάχιστον"
        "|θέλω να|προτιμώ",
        start="κάθε|όλα τα|όλες οι|όλοι οι|όταν (?:γράφεις|κάνεις)",
        asks="παρακαλώ|εσύ|εσείς|μπορείς|μπορείτε|σε παρακαλώ",
    ),
    Language(
        "Hungarian",
        sure="mostantól|ezentúl|innentől|a jövőben|ettől kezdve|semmilyen körülmények"
        "|semmi esetre|kivétel nélkül|szigorúan tilos|tilos|soha(?:sem)? ne|sose ne"
        "|ne (?:nyúlj|módosíts|módosítsd|változtas|változtasd|töröld|törölj|használj|használd|írj"
        "|írd|tegyél|csinálj|érj|érintsd|commitolj|szerkeszd|felejtsd|futtasd|nevezd|adj|bánts"
        r"|piszkáld|\w{3,}(?:jatok|jetek|játok|sd|ld|rd|zd)(?= ))|nem szabad|nem lehet"
        "|kell … (?:mindig|csak|soha)|(?:mindig|csak|soha nem) kell|ügyelj|győződj meg"
        r"|minden alkalommal|hagyd … (?:békén|úgy|érintetlen\w*)|kerüld|feltétlenül|kötelező"
        "|kérlek,? (?:ne|mindig|csak|soha)",
        first="soha|sohasem|sose|mindig|csak|kizárólag|kizárólagosan|semmi",
        maybe="soha|sohasem|mindig|csakis|kizárólag|kell|muszáj|kötelező|helyett|inkább|legalább"
        "|legfeljebb",
        start="minden|mindegyik|összes|valahányszor",
        asks="kérlek|kérem|légy szíves|te|tudnál",
        common="a az és nem hogy is egy van ez de meg csak ha már azt vagy mint volt még el ki be",
    ),
    Language(
        "Finnish",
        sure="tästä (?:lähtien|eteenpäin|alkaen)|vastedes|jatkossa"
        "|missään (?:tapauksessa|nimessä|olosuhteissa)|poikkeuksetta"
        r"|(?:on |ovat )?(?:ehdottomasti )?kielletty\w*|älä|älkää|ei (?:saa|pidä|koskaan|ikinä)"
        "|et (?:saa|koskaan)|eivät saa|täytyy … (?:aina|vain)|pitää … (?:aina|vain)"
        "|(?:aina|vain) (?:täytyy|pitää)|varmista|muista|joka kerta"
        "|jätä … (?:rauhaan|ennalleen|koskematta)|pysy … (?:poissa|erossa)|vältä|ehdottomasti"
        "|pakollinen|pakollista|noudata",
        first="aina|vain|ainoastaan|yksinomaan|koskaan|ikinä|käytä|kirjoita|vastaa",
        maybe="aina|ainoastaan|yksinomaan|koskaan|ikinä|täytyy|pitää|pitäisi|tulee|kielletty"
        "|sijaan|vähintään|enintään",
        start=r"jokai\w+|joka|kaik\w+|kun (?:kirjoitat|teet)",
        asks="ole hyvä|kiitos|sinä|te|voitko|voisitko|pyydän",
        common="ja on ei se että en oli hän mutta ovat kun niin tai myös jos mitä ole sen olla",
    ),
    Language(
        "Estonian, Latvian and Lithuanian",
        sure="nüüdsest|edaspidi|mitte mingil juhul|ära|ärge|ei tohi|on (?:rangelt )?keelatud"
        r"|no šī brīža|turpmāk|nekādā gadījumā|nekad ne\w+|nedrīkst|aizliegts|ir aizliegts"
        "|ne(?:aiztiec|maini|dzēs|lieto|raksti)(?:iet)?|nuo šiol|nuo dabar|ateityje|jokiu būdu"
        r"|jokiais būdais|niekada ne\w+|draudžiama|negalima"
        "|ne(?:liesk|keisk|trink|naudok|rašyk)(?:ite)?",
        first="alati|ainult|mitte kunagi|kunagi|vienmēr|tikai|nekad|visada|niekada|visuomet",
        maybe="alati|ainult|peab|tuleb|vienmēr|tikai|jābūt|jālieto|obligāti|visada|niekada|privalo"
        "|turi|reikia",
        start=r"iga|kõik|katr\w+|kiekvien\w+",
        asks="palun|sina|lūdzu|tu|prašau",
        common="ja on ei see et un ir nav kas ar par uz ir yra ne kad su kaip tai bet iš",
    ),
    Language(
        "Albanian",
        sure=r"(?:që )?tani e tutje|këtej e tutje|në asnjë (?:rast|mënyrë)|kurrë mos|mos \w+"
        "|nuk duhet|nuk lejohet|(?:është )?(?:rreptësisht )?e ndaluar|pa përjashtim|sigurohu",
        first="kurrë|gjithmonë|vetëm|asnjë",
        maybe="kurrë|gjithmonë|vetëm|duhet",
        start=r"çdo|secil\w+",
        asks="të lutem|ju lutem|ti",
        common="dhe të në një për me që nuk është se i e nga si por ka do janë",
    ),
    Language(
        "Basque, Irish and Welsh",
        sure="hemendik aurrera|inoiz ez|ez (?:ukitu|aldatu|ezabatu|erabili)|debekatuta"
        "|as seo amach|ná (?:déan|hathraigh|scrios|húsáid|bain)|o hyn ymlaen|peidiwch|paid â|byth",
        first="beti|inoiz|bakarrik|i gcónaí|riamh|bob amser|dim ond",
        maybe="behar da|caithfidh|rhaid",
        common="eta da ez bat du dira agus an na is tá ar mae yn y yr ac o",
    ),
    Language(
        "Armenian and Georgian",
        sure="այսուհետ|երբեք մի|երբեք|մի՛|միշտ|արգելվում է|ამიერიდან|არასოდეს|არასდროს|ნუ"
        "|ყოველთვის|აკრძალულია|არ შეიძლება",
        first="մի|միայն|მხოლოდ",
        maybe="պետք է|միայն|უნდა|მხოლოდ",
        start="յուրաքանչյուր|ამ|ყოველი",
        asks="խնդրում|გთხოვ",
    ),
)
