"""Rule words of the Slavic languages."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "Russian",
        sure="с этого (?:момента|дня|времени)|отныне|впредь|с сегодняшнего дня"
        r"|начиная с (?:этого|сегодняшн\w+|сейчас)|с (?:сего|данного) момента"
        r"|ни (?:в коем случае|при каких\w*|за что|под каким\w*)|без исключени[йя]"
        r"|в любом случае не|(?:запрещ\w+|воспрещ\w+)|нельзя|недопустимо"
        r"|(?:всегда|только|никогда не|не) (?:долж(?:ен|н\w+)|следует|нужно|надо)"
        r"|(?:долж(?:ен|н\w+)|следует|нужно|надо|необходимо|обязан\w*) … (?:всегда|только|никогда"
        r"|лишь)|никогда (?:больше )?не|не \w+(?:ай|яй|уй|юй|ей|йте|ите|йся|йтесь)"
        "|не (?:трогай|меняй|изменяй|удаляй|используй|пиши|делай|добавляй|правь|редактируй"
        "|коммить|пушь|ломай|запускай|лезь|трожь|забывай|забудь|смей|вздумай)(?:те)?|обязательно"
        "|непременно|убедись|убедитесь|следи,? чтобы|следите|каждый раз|руки прочь"
        "|без (?:моего|спроса|разрешения|согласования)"
        r"|оставь(?:те)? … (?:в покое|как есть|без изменений|нетронут\w+)|избегай(?:те)?"
        r"|держись подальше|придерживай\w+|помни(?:те)?,? (?:что|всегда)|ты (?:должен|обязан)"
        "|вы (?:должны|обязаны)|не смей",
        first="никогда|всегда|только|лишь|исключительно|никаких|никакой|не надо|не нужно"
        "|(?:пиши|используй|отвечай|делай|работай|ставь|храни|запускай|называй|оставляй|добавляй"
        r"|используйте|пишите|отвечайте|делайте) … (?:всегда|только|лишь|исключительно|кажд\w+"
        "|везде|вместо|во всех)",
        maybe=r"никогда|всегда|только|лишь|исключительно|долж(?:ен|н\w+)|следует|нужно|надо"
        r"|необходимо|запрещ\w+|вместо|лучше не|хочу,? чтобы|важно,? чтобы|не менее|не более"
        "|не надо|не нужно|просьба",
        start=r"кажд\w+|все|всякий|любо[йе]|когда (?:пишешь|делаешь|закончишь|будешь)",
        asks="пожалуйста|ты|вы|тебя|вас|можешь|можете",
        common="и в не на что я с он как это по но из у за от так о же для мы или уже если есть",
    ),
    Language(
        "Ukrainian",
        sure="відтепер|віднині|надалі|з цього (?:моменту|дня|часу)"
        "|починаючи з (?:цього|сьогодні|зараз)|ні в якому разі|у жодному (?:разі|випадку)"
        r"|в жодному (?:разі|випадку)|за жодних \w+|без винятк\w+|заборон\w+"
        "|не (?:можна|слід|треба|потрібно)|ніколи не|ніколи (?:більше )?не"
        r"|(?:повин\w+|мусить|мусиш|мають|має|треба|слід|необхідно) … (?:завжди|лише|тільки"
        r"|ніколи)|(?:завжди|тільки|лише|не) (?:повин\w+|мусить|має)"
        r"|не \w+(?:ай|яй|уй|юй|ій|йте|іть)"
        "|не (?:чіпай|міняй|змінюй|видаляй|використовуй|пиши|роби|додавай|редагуй|комить|пуш"
        "|запускай|ламай|забувай|забудь|смій)(?:те)?|обов'язково|неодмінно|переконайся"
        "|переконайтеся|стеж,? щоб|щоразу|без (?:мого|дозволу)|кожного разу"
        r"|залиш(?:те)? … (?:в спокої|як є|без змін)|уникай(?:те)?|тримайся подалі|дотримуй\w+"
        "|пам'ятай(?:те)?|ти (?:маєш|мусиш|повинен)|ви (?:маєте|мусите|повинні)",
        first=r"ніколи|завжди|тільки|лише|виключно|жодн\w+"
        "|(?:пиши|використовуй|відповідай|роби|працюй|став|зберігай|запускай|називай|пишіть"
        r"|використовуйте|відповідайте) … (?:завжди|тільки|лише|виключно|кожн\w+|скрізь|замість)",
        maybe=r"ніколи|завжди|тільки|лише|виключно|повин\w+|мусить|мусиш|треба|слід|потрібно"
        r"|необхідно|заборон\w+|замість|краще не|хочу,? щоб|важливо,? щоб|щонайменше|щонайбільше"
        "|прошу",
        start=r"кож\w+|усі|всі|будь-як\w+|коли (?:пишеш|робиш|закінчиш)",
        asks="будь ласка|прошу|ти|ви|можеш|можете",
        common="і в не на що я з він як це по але із у за від так про та для ми або вже якщо є й",
    ),
    Language(
        "Belarusian",
        sure=r"з гэтага (?:моманту|часу|дня)|адгэтуль|надалей|ні ў якім разе|забаронен\w+"
        r"|ніколі не|нельга|не \w+(?:ай|яй|уй|йце)|абавязкова",
        first="ніколі|заўсёды|толькі|выключна",
        maybe=r"ніколі|заўсёды|толькі|павін\w+|трэба|неабходна",
        start=r"кожн\w+",
        asks="калі ласка|ты|вы",
        common="і ў не на што я з ён як гэта па але за ад так для мы або ўжо калі ёсць",
    ),
    Language(
        "Polish",
        sure="od (?:teraz|tej (?:pory|chwili)|dziś|dzisiaj|zaraz)|odtąd|na przyszłość"
        "|w przyszłości|pod żadnym pozorem|w żadnym (?:wypadku|razie)|absolutnie nie"
        r"|bez wyjątk\w+|(?:jest|są) (?:surowo )?(?:zabronion|zakazan|obowiązkow)\w+|zabrania się"
        r"|nie wolno|nie należy|nie można|nigdy (?:więcej )?nie|nigdy \w+aj"
        "|(?:musi|muszą|musisz|powinien|powinna|powinny|należy|ma|mają|masz) … (?:zawsze|nigdy"
        r"|tylko|wyłącznie)|(?:zawsze|tylko|nie) (?:musi|muszą|powin\w+)"
        r"|nie (?:\w+aj|\w+uj|\w+cie)(?:cie)?"
        "|nie (?:rób|pisz|zmieniaj|ruszaj|dotykaj|używaj|usuwaj|kasuj|twórz|wrzucaj|commituj"
        "|pushuj|edytuj|dodawaj|wchodź|zapomnij|waż się|dawaj|psuj)(?:cie)?|koniecznie"
        "|bezwzględnie|upewnij się|upewnijcie|pamiętaj,? (?:żeby|aby|by|że|o)|za każdym razem"
        r"|zostaw … (?:w spokoju|bez zmian|jak jest|nietknięt\w+)|unikaj\w*"
        r"|trzymaj się (?:z dala|z daleka|od|zasad\w*)|ręce precz|bez (?:pytania|mojej)"
        "|masz (?:obowiązek|zakaz)|proszę (?:nie|nigdy|zawsze|tylko|o nie)",
        first=r"nigdy|zawsze|tylko|wyłącznie|jedynie|żadn\w+"
        "|(?:pisz|używaj|odpowiadaj|rób|pracuj|trzymaj|uruchamiaj|nazywaj|zostaw|dodawaj|stosuj"
        r"|korzystaj|piszcie|używajcie) … (?:zawsze|tylko|wyłącznie|każd\w+|wszędzie|zamiast)",
        maybe=r"nigdy|zawsze|tylko|wyłącznie|jedynie|musi|muszą|musisz|powinien|powinn\w+|należy"
        r"|trzeba|zabronion\w+|zakaz\w*|zamiast|lepiej nie|chcę,? (?:żeby|aby)"
        "|ważne,? (?:żeby|aby)|co najmniej|co najwyżej",
        start=r"każd\w+|wszystkie|wszelkie|kiedy (?:piszesz|robisz|skończysz)",
        asks="proszę|ty|pan|pani|możesz|możecie|czy mógłbyś",
        common="i w nie na że się z do to jest jak po ale za od tak o dla czy już są ten co lub",
    ),
    Language(
        "Czech and Slovak",
        sure="od (?:teď|nynějška|teraz|této chvíle|tejto chvíle|dneška|dnes|tohoto okamžiku)"
        "|nadále|nabudúce|napříště|v budúcnosti|odteraz|za žádných okolností"
        "|za žiadnych okolností|v žádném případě|v žiadnom prípade|bez výjimky|bez výnimky"
        r"|rozhodně ne\w+|(?:je|jsou|sú) (?:přísně |prísne )?(?:zakázán|zakázan|povinn)\w+"
        r"|nesm(?:í|íš|íte|ie|ieš|iete|ějí|ú)|nikdy (?:už |viac )?ne\w+"
        "|(?:musí|musíš|musíte|musia|má|mají|máš|majú|smí|smíš|smie) … (?:vždy|vždycky|nikdy|jen"
        "|pouze|iba|len)"
        "|ne(?:sahej|měň|meň|maž|používej|používaj|piš|dělej|rob|přidávej|pridávaj|upravuj"
        "|commituj|pushuj|dotýkej|dotýkaj|spouštěj|spúšťaj|zapomeň|zabudni|zapomínej|odstraňuj"
        "|mazej|mažte|mažte|chytej|chytaj|instaluj|inštaluj|přepisuj|prepisuj|vytvářej|hýbej"
        "|siahaj)(?:te)?|ujisti se|uisti sa|dbej,? aby|dávej pozor|dávaj pozor|pokaždé|zakaždým"
        r"|pamatuj|pamätaj|nech(?:ej|te|aj)? … (?:být|na pokoji|tak|beze změny|nedotčen\w+)"
        r"|vyhni se|vyhýbej se|vyhni sa|drž se|drž sa|ruce pryč|prosím (?:ne\w+|vždy|nikdy)"
        "|bezpodmínečně|bezpodmienečne",
        first=r"nikdy|vždy|vždycky|jen|jenom|pouze|výhradně|výhradne|iba|žádn\w+|žiadn\w+"
        "|(?:piš|používej|používaj|odpovídej|odpovedaj|dělej|rob|pracuj|spouštěj|pojmenuj|nech"
        r"|drž) … (?:vždy|jen|pouze|iba|len|každ\w+|všude|všade|místo|namiesto)",
        maybe="nikdy|vždy|vždycky|pouze|jenom|výhradně|iba|musí|musíš|musíte|musia|měl by|měly by"
        r"|mal by|mali by|třeba|treba|nutno|zakázán\w*|zakázan\w+|místo|namísto|namiesto"
        r"|chci,? aby|chcem,? aby|raději ne\w*|radšej ne\w*|alespoň|aspoň|nejvýše|najviac",
        start=r"každ\w+|všechn\w+|všetk\w+|když (?:píšeš|děláš)",
        asks="prosím|ty|vy|můžeš|můžete|môžeš|mohl bys",
        common="a v se na že je to s do jak ale za od tak o pro už jsou ten co nebo sa ako pre sú "
        "aj",
    ),
    Language(
        "Bulgarian and Macedonian",
        sure="отсега (?:нататък|натаму)|от сега (?:нататък|натаму)|занапред|от този момент"
        r"|в никакъв случай|во никој случај|при никакви \w+|без изключени[ея]"
        r"|(?:строго )?(?:е |са )?забранен\w+|никога не|никогаш не"
        "|не (?:пипай|променяй|трий|изтривай|използвай|прави|пиши|добавяй|редактирай|комитвай"
        "|забравяй|чепкај|менувај|бриши|користи|допирай|докосвай|пускай)(?:те)?|не бива|не трябва"
        "|(?:трябва|мора|може) … (?:винаги|само|никога|секогаш)"
        "|(?:винаги|секогаш|само) (?:трябва|мора)|увери се|погрижи се|всеки път|секој пат"
        r"|остави … (?:на мира|както|непроменен\w*)|избягвай(?:те)?|избегнувај|задължително"
        "|непременно|да не",
        first="никога|винаги|само|единствено|никогаш|секогаш|никакви|никаква",
        maybe=r"никога|винаги|само|единствено|трябва|мора|никогаш|секогаш|забранен\w*|вместо|поне"
        "|най-много",
        start=r"всек\w+|всички|секо\w+",
        asks="моля|те моля|ти|вие|можеш",
        common="и на да се е за не от с в са по но как това което или че ще си ги му една",
    ),
    Language(
        "Serbian, Croatian, Bosnian and Slovenian",
        sure="od (?:sada|sad|danas|zdaj|ovog trenutka)(?: (?:nadalje|pa nadalje|naprej|na dalje"
        "|naprijed|napred))?|ubuduće|odsad|odsada|odslej|nikako ne|ni u kom slučaju"
        r"|ni pod kojim \w+|pod nobenim pogojem|v nobenem primeru|bez izuzetka|brez izjeme"
        r"|(?:je|su|so) (?:strogo )?(?:zabranjen|prepovedan|obavezn|obvezn)\w*"
        r"|nikad(?:a)? (?:više )?(?:ne|nemoj\w*)|nikoli (?:več )?ne|nemoj(?:te)?"
        "|ne (?:diraj|mijenjaj|menjaj|briši|koristi|piši|radi|dodaji|dodaj|uređuj|zaboravi|pipaj"
        "|spreminjaj|uporabljaj|pozabi|dotikaj|spuščaj)(?:te)?|ne sm(?:ije|iješ|e|eš|ete|ejo|iju)"
        "|(?:mora|moraš|morate|moraju|morajo|treba|sme|smije) … (?:uvijek|uvek|vedno|samo"
        r"|nikad\w*|nikoli|isključivo)|pobrini se|poskrbi|svaki put|vsakič"
        r"|ostavi … (?:na miru|kako|netaknut\w*)|pusti … (?:pri miru|na miru)|izbjegavaj\w*"
        r"|izbegavaj\w*|izogibaj se|obavezno|obvezno|од сада|убудуће|никада? не|немој(?:те)?"
        r"|не дирај|не мењај|забрањен\w*|не сме|обавезно",
        first="nikad|nikada|uvijek|uvek|vedno|samo|isključivo|izključno|nikoli|никад|никада|увек"
        "|само|искључиво",
        maybe="nikad|nikada|uvijek|uvek|vedno|isključivo|mora|moraš|moraju|morajo|treba"
        r"|zabranjen\w*|umjesto|umesto|namesto|никада?|увек|мора|морају|треба|уместо",
        start=r"svak\w+|vsak\w*|sve|сваки|свака|свако",
        asks="molim|prosim|ti|vi|možeš|lahko|молим",
        common="i u je na se da za ne su od s sa po ali kao to koji ili će pa in v so pri ki и је "
        "се",
    ),
)
