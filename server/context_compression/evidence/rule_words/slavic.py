"""Rule words of the Slavic languages."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "Russian",
        sure=r"с этого (?:момента|дня|времени)|отныне|впредь|с сегодняшнего дня|начиная с (?:этого|се"
        r"годняшн\w+|сейчас)|с (?:сего|данного) момента|ни (?:в коем случае|при каких\w*|за что|под "
        r"каким\w*)|без исключени[йя]|в любом случае не|(?:запрещ\w+|вос"
        r"прещ\w+)|нельзя|недопустимо|(?:всегда|только|никогда не|не) (?:должн\w+|следует|нужно|надо)"
        r"|(?:должн\w+|следует|нужно|надо|необходимо|обязан\w*) … (?:всегда|только|никогда|лишь)"
        r"|никогда (?:больше )?не|не \w+(?:ай|яй|уй|юй|ей|йте|ите|йся|йтесь)|не (?:трогай|меняй|изменяй|"
        r"удаляй|используй|пиши|делай|добавляй|правь|редактируй|коммить|пушь|ломай|запускай|лезь|тро"
        r"жь|забывай|забудь|смей|вздумай)(?:те)?|обязательно|непременно|убедись|убедитесь|следи,? чт"
        r"обы|следите|каждый раз|руки прочь|без (?:моего|спроса|разрешения|согласования)|оставь(?:те)? … (?:в покое|как есть|без изменений|нетрону"
        r"т\w+)|избегай(?:те)?|держись подальше|придерживай\w+|помни(?:те)?,? (?:что|всегда)|ты (?:дол"
        r"жен|обязан)|вы (?:должны|обязаны)|не смей",
        first=r"никогда|всегда|только|лишь|исключительно|никаких|никакой|не надо|не нужно"
        r"|(?:пиши|используй|отвечай|делай|работай|ставь|храни|запускай|называй|оставляй|добавляй|ис"
        r"пользуйте|пишите|отвечайте|делайте) … (?:всегда|только|лишь|исключительно|кажд\w+|везде|вм"
        r"есто|во всех)",
        maybe=r"никогда|всегда|только|лишь|исключительно|должн\w+|следует|нужно|надо|необходимо|запре"
        r"щ\w+|вместо|лучше не|хочу,? чтобы|важно,? чтобы|не менее|не более|не надо|не нужно|просьба",
        start=r"кажд\w+|все|всякий|любо[йе]|когда (?:пишешь|делаешь|закончишь|будешь)",
        asks=r"пожалуйста|ты|вы|тебя|вас|можешь|можете",
        common="и в не на что я с он как это по но из у за от так о же для мы или уже если есть",
    ),
    Language(
        "Ukrainian",
        sure=r"відтепер|віднині|надалі|з цього (?:моменту|дня|часу)|починаючи з (?:цього|сьогодні|зар"
        r"аз)|ні в якому разі|у жодному (?:разі|випадку)|в жодному (?:разі|випадку)|за жодних \w+|без"
        r" винятк\w+|заборон\w+|не (?:можна|слід|треба|потрібно)|ніколи не|н"
        r"іколи (?:більше )?не|(?:повин\w+|мусить|мусиш|мають|має|треба|слід|необхідно) … (?:завжди|л"
        r"ише|тільки|ніколи)|(?:завжди|тільки|лише|не) (?:повин\w+|мусить|має)|не \w+(?:ай|яй|уй|юй|ій|йте|іть)|не"
        r" (?:чіпай|міняй|змінюй|видаляй|використовуй|пиши|роби|додавай|редагуй|комить|пуш|запускай|л"
        r"амай|забувай|забудь|смій)(?:те)?|обов'язково|неодмінно|переконайся|переконайтеся|стеж,? щоб"
        r"|щоразу|без (?:мого|дозволу)|кожного разу|залиш(?:те)? … (?:в спокої|як є|без змін)|уникай(?:те)?|тримайся подалі"
        r"|дотримуй\w+|пам'ятай(?:те)?|ти (?:маєш|мусиш|повинен)|ви (?:маєте|мусите|повинні)",
        first=r"ніколи|завжди|тільки|лише|виключно|жодн\w+"
        r"|(?:пиши|використовуй|відповідай|роби|працюй|став|зберігай|запускай|називай|пишіть|викорис"
        r"товуйте|відповідайте) … (?:завжди|тільки|лише|виключно|кожн\w+|скрізь|замість)",
        maybe=r"ніколи|завжди|тільки|лише|виключно|повин\w+|мусить|мусиш|треба|слід|потрібно|необхідн"
        r"о|заборон\w+|замість|краще не|хочу,? щоб|важливо,? щоб|щонайменше|щонайбільше|прошу",
        start=r"кож\w+|усі|всі|будь-як\w+|коли (?:пишеш|робиш|закінчиш)",
        asks=r"будь ласка|прошу|ти|ви|можеш|можете",
        common="і в не на що я з він як це по але із у за від так про та для ми або вже якщо є й",
    ),
    Language(
        "Belarusian",
        sure=r"з гэтага (?:моманту|часу|дня)|адгэтуль|надалей|ні ў якім разе|забаронен\w+|ніколі не|"
        r"нельга|не \w+й(?:це)?(?= )|абавязкова",
        first=r"ніколі|заўсёды|толькі|выключна",
        maybe=r"ніколі|заўсёды|толькі|павін\w+|трэба|неабходна",
        start=r"кожн\w+",
        asks=r"калі ласка|ты|вы",
        common="і ў не на што я з ён як гэта па але за ад так для мы або ўжо калі ёсць",
    ),
    Language(
        "Polish",
        sure=r"od (?:teraz|tej (?:pory|chwili)|dziś|dzisiaj|zaraz)|odtąd|na przyszłość|w przyszłości|"
        r"pod żadnym pozorem|w żadnym (?:wypadku|razie)|absolutnie nie|bez wyjątk\w+|(?:jest|są) (?:s"
        r"urowo )?(?:zabronion|zakazan|obowiązkow)\w+|zabrania się|nie wolno|nie należy|nie można|nig"
        r"dy (?:więcej )?nie|nigdy \w+aj|(?:musi|muszą|musisz|powinien|powinna|powinny|należy|ma|mają"
        r"|masz) … (?:zawsze|nigdy|tylko|wyłącznie)|(?:zawsze|tylko|nie) (?:musi|muszą|powin\w+)|nie ("
        r"?:\w+aj|\w+uj|\w+cie)(?:cie)?|nie (?:rób|pisz|zmieniaj|ruszaj|dotykaj|używaj|usuwaj|kasuj|t"
        r"wórz|wrzucaj|commituj|pushuj|edytuj|dodawaj|wchodź|zapomnij|waż się|dawaj|psuj)(?:cie)?|kon"
        r"iecznie|bezwzględnie|upewnij się|upewnijcie|pamiętaj,? (?:żeby|aby|by|że|o)|za każdym razem|z"
        r"ostaw … (?:w spokoju|bez zmian|jak jest|nietknięt\w+)|unikaj\w*|trzymaj się (?:z dala|z dale"
        r"ka|od|zasad\w*)|ręce precz|bez (?:pytania|mojej)|masz (?:obowiązek|zakaz)|proszę (?:nie|nigdy|zawsze|tylko|o nie)",
        first=r"nigdy|zawsze|tylko|wyłącznie|jedynie|żadn\w+"
        r"|(?:pisz|używaj|odpowiadaj|rób|pracuj|trzymaj|uruchamiaj|nazywaj|zostaw|dodawaj|stosuj|kor"
        r"zystaj|piszcie|używajcie) … (?:zawsze|tylko|wyłącznie|każd\w+|wszędzie|zamiast)",
        maybe=r"nigdy|zawsze|tylko|wyłącznie|jedynie|musi|muszą|musisz|powinien|powinn\w+|należy|trzeb"
        r"a|zabronion\w+|zakaz\w*|zamiast|lepiej nie|chcę,? (?:żeby|aby)|ważne,? (?:żeby|aby)|co naj"
        r"mniej|co najwyżej",
        start=r"każd\w+|wszystkie|wszelkie|kiedy (?:piszesz|robisz|skończysz)",
        asks=r"proszę|ty|pan|pani|możesz|możecie|czy mógłbyś",
        common="i w nie na że się z do to jest jak po ale za od tak o dla czy już są ten co lub",
    ),
    Language(
        "Czech and Slovak",
        sure=r"od (?:teď|nynějška|teraz|této chvíle|tejto chvíle|dneška|dnes|tohoto okamžiku)|nadále|n"
        r"abudúce|napříště|v budúcnosti|odteraz|za žádných okolností|za žiadnych okolností|v žádném p"
        r"řípadě|v žiadnom prípade|bez výjimky|bez výnimky|rozhodně ne\w+|(?:je|jsou|sú) (?:přísně |p"
        r"rísne )?(?:zakázán|zakázan|povinn)\w+|nesm(?:í|íš|íte|ie|ieš|iete|ějí|ú)|nikdy (?:už |viac "
        r")?ne\w+|(?:musí|musíš|musíte|musia|má|mají|máš|majú|smí|smíš|smie) … (?:vždy|vždycky|nikdy|"
        r"jen|pouze|iba|len)|ne(?:sahej|měň|meň|maž|používej|používaj|piš|dělej|rob|přidávej|pridávaj|u"
        r"pravuj|commituj|pushuj|dotýkej|dotýkaj|spouštěj|spúšťaj|zapomeň|zabudni|zapomínej|odstraňuj|m"
        r"azej|mažte|mažte|chytej|chytaj|instaluj|inštaluj|přepisuj|prepisuj|vytvářej|hýbej|siahaj)(?:"
        r"te)?|ujisti se|uisti sa|dbej,? aby|dávej pozor|dávaj pozor|pokaždé|zakaždým|pamatuj|pamätaj|"
        r"nech(?:ej|te|aj)? … (?:být|na pokoji|tak|beze změny|nedotčen\w+)|vyhni se|vyhýbej se|vyhni s"
        r"a|drž se|drž sa|ruce pryč|prosím (?:ne\w+|vždy|nikdy)|bezpodmínečně|bezpodmienečne",
        first=r"nikdy|vždy|vždycky|jen|jenom|pouze|výhradně|výhradne|iba|žádn\w+|žiadn\w+"
        r"|(?:piš|používej|používaj|odpovídej|odpovedaj|dělej|rob|pracuj|spouštěj|pojmenuj|nech|drž) "
        r"… (?:vždy|jen|pouze|iba|len|každ\w+|všude|všade|místo|namiesto)",
        maybe=r"nikdy|vždy|vždycky|pouze|jenom|výhradně|iba|musí|musíš|musíte|musia|měl by|měly by|mal "
        r"by|mali by|třeba|treba|nutno|zakázán\w*|zakázan\w+|místo|namísto|namiesto|chci,? aby|chcem,"
        r"? aby|raději ne\w*|radšej ne\w*|alespoň|aspoň|nejvýše|najviac",
        start=r"každ\w+|všechn\w+|všetk\w+|když (?:píšeš|děláš)",
        asks=r"prosím|ty|vy|můžeš|můžete|môžeš|mohl bys",
        common="a v se na že je to s do jak ale za od tak o pro už jsou ten co nebo sa ako pre sú aj",
    ),
    Language(
        "Bulgarian and Macedonian",
        sure=r"отсега (?:нататък|натаму)|от сега (?:нататък|натаму)|занапред|от този момент|в никакъв "
        r"случай|во никој случај|при никакви \w+|без изключени[ея]|(?:строго )?(?:е |са )?забранен\w+|"
        r"никога не|никогаш не|не (?:пипай|променяй|трий|изтривай|използвай|прави|пиши|добавяй|редакт"
        r"ирай|комитвай|забравяй|чепкај|менувај|бриши|користи|допирай|докосвай|пускай)(?:те)?|не бива|"
        r"не трябва|(?:трябва|мора|може) … (?:винаги|само|никога|секогаш)|(?:винаги|секогаш|само) (?:т"
        r"рябва|мора)|увери се|погрижи се|всеки път|секој пат|остави … (?:на мира|както|непроменен\w*)|"
        r"избягвай(?:те)?|избегнувај|задължително|непременно|да не",
        first=r"никога|винаги|само|единствено|никогаш|секогаш|никакви|никаква",
        maybe=r"никога|винаги|само|единствено|трябва|мора|никогаш|секогаш|забранен\w*|вместо|поне|най-"
        r"много",
        start=r"всек\w+|всички|секо\w+",
        asks=r"моля|те моля|ти|вие|можеш",
        common="и на да се е за не от с в са по но как това което или че ще си ги му една",
    ),
    Language(
        "Serbian, Croatian, Bosnian and Slovenian",
        sure=r"od (?:sada|sad|danas|zdaj|ovog trenutka)(?: (?:nadalje|pa nadalje|naprej|na dalje|na"
        r"prijed|napred))?|ubuduće|odsad|odsada|odslej|nikako ne|ni u kom slučaju|ni pod kojim \w+|pod "
        r"nobenim pogojem|v nobenem primeru|bez izuzetka|brez izjeme|(?:je|su|so) (?:strogo )?(?:zabra"
        r"njen|prepovedan|obavezn|obvezn)\w*|nikad(?:a)? (?:više )?(?:ne|nemoj\w*)|nikoli (?:več )?ne|n"
        r"emoj(?:te)?|ne (?:diraj|mijenjaj|menjaj|briši|koristi|piši|radi|dodaji|dodaj|uređuj|zaboravi|p"
        r"ipaj|spreminjaj|uporabljaj|pozabi|dotikaj|spuščaj)(?:te)?|ne sm(?:ije|iješ|e|eš|ete|ejo|iju)"
        r"|(?:mora|moraš|morate|moraju|morajo|treba|sme|smije) … (?:uvijek|uvek|vedno|samo|nikad\w*|ni"
        r"koli|isključivo)|pobrini se|poskrbi|svaki put|vsakič|ostavi … (?:na miru|kako|netaknut\w*)|pu"
        r"sti … (?:pri miru|na miru)|izbjegavaj\w*|izbegavaj\w*|izogibaj se|obavezno|obvezno"
        r"|од сада|убудуће|никада? не|немој(?:те)?|не дирај|не мењај|забрањен\w*|не сме|обавезно",
        first=r"nikad|nikada|uvijek|uvek|vedno|samo|isključivo|izključno|nikoli|никад|никада|увек|само|"
        r"искључиво",
        maybe=r"nikad|nikada|uvijek|uvek|vedno|isključivo|mora|moraš|moraju|morajo|treba|zabranjen\w*|"
        r"umjesto|umesto|namesto|никада?|увек|мора|морају|треба|уместо",
        start=r"svak\w+|vsak\w*|sve|сваки|свака|свако",
        asks=r"molim|prosim|ti|vi|možeš|lahko|молим",
        common="i u je na se da za ne su od s sa po ali kao to koji ili će pa in v so pri ki и је се",
    ),
)
